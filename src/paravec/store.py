"""A model's folder on disk: safetensors and JSON, never pickle.

``docs/format.md`` tells the format.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core, manifest, parameters, tensors
from paravec.architecture import Architecture
from paravec.arguments import DocumentId
from paravec.checkpoint import FREE, Start
from paravec.corpus import CorpusFacts
from paravec.corpus.labels import LabelIndex, Labels, packed
from paravec.errors import ModelFormatError
from paravec.fitted import Fitted, Losses
from paravec.folders import check_target, replacing, watched
from paravec.model import Model
from paravec.settings import BEFORE, Settings
from paravec.text import Tokenizer
from paravec.vocab import Vocabulary

FORMAT = "paravec model"
VERSION = 1
MANIFEST = "settings.json"
_VOCABULARY, _MODEL, _DOCUMENTS, _IDS = (f"{x}.safetensors" for x in ("vocabulary", "model", "documents", "ids"))


def save(fitted: Fitted, path: str | os.PathLike[str], documents: bool = True) -> None:
    """Writes to a new folder beside `path`, and puts it in its place when it is complete."""
    with_documents = documents and fitted.ids is not None
    with replacing(check_model_target(path)) as folder:
        files = {_VOCABULARY: tensors.write(folder / _VOCABULARY, _vocabulary_arrays(fitted.vocabulary), checksum=True)}
        for place, model in zip(_places(fitted.settings), fitted.models, strict=True):
            (folder / place).mkdir(exist_ok=True)
            arrays = {name: array for name, array in model.arrays().items() if name != "documents"}
            files[str(place / _MODEL)] = tensors.write(folder / place / _MODEL, arrays, checksum=True)
        about = _about(fitted, files, with_documents)
        if with_documents:
            _write_documents(folder, fitted, about["identity"])
        manifest.write(folder / MANIFEST, FORMAT, VERSION, about)


def check_model_target(path: str | os.PathLike[str]) -> Path:
    """Where a model may be written."""
    return check_target(path, "model", is_model)


def is_model(folder: Path) -> bool:
    """Whether a folder says that it is a model."""
    return manifest.says(folder / MANIFEST, FORMAT)


def _places(settings: Settings) -> list[Path]:
    """One model lies in the folder itself, the halves of dm+dbow in subfolders."""
    names = [a.model for a in settings.architectures()]
    return [Path()] if len(names) == 1 else [Path(name) for name in names]


def _about(fitted: Fitted, files: dict[str, int], with_documents: bool) -> dict[str, Any]:
    ids = fitted.ids if with_documents else None
    about = {
        "settings": fitted.settings.as_dict(),
        "seed": fitted.seed,
        "unicode": _core.UNICODE_VERSION,
        "corpus": asdict(fitted.corpus),
        "n_words": len(fitted.vocabulary.words),
        "n_ngrams": len(fitted.vocabulary.prefix),
        "integer_words": isinstance(fitted.vocabulary.words[0], int),
        "crc32": {name: f"{value:08x}" for name, value in files.items()},
        "documents": with_documents,
        "first_number": ids.start if isinstance(ids, range) else None,
        "integer_ids": ids is not None and isinstance(ids[0], int),
        "ids_crc32": None if ids is None else _crc32_of(ids),
    }
    identity = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "identity": identity,
        **about,
        "loss_history": fitted.losses,
        "validation_history": fitted.validation_losses,
        "kept_epoch": fitted.kept_epochs,
    }


def _vocabulary_arrays(vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    arrays = {"counts": vocabulary.counts, **packed("words", vocabulary.words)}
    if len(vocabulary.prefix):
        arrays |= {"prefix": vocabulary.prefix, "last": vocabulary.last}
    return arrays


def _crc32_of(ids: Sequence[DocumentId]) -> str:
    if isinstance(ids, range):
        return f"{zlib.crc32(np.array([ids.start, ids.stop]).data):08x}"
    value = 0
    for array in packed("ids", ids).values():
        value = zlib.crc32(np.ascontiguousarray(array).data, value)
    return f"{value:08x}"


def _write_documents(folder: Path, fitted: Fitted, identity: str) -> None:
    """The vectors, and ids with an index from ids to rows; ids that are numbers in a row have no file."""
    belongs, ids = {"identity": identity}, fitted.document_ids()
    for place, model in zip(_places(fitted.settings), fitted.models, strict=True):
        assert model.documents is not None
        half = {**belongs, "model": model.architecture.model}
        tensors.write(folder / place / _DOCUMENTS, {"documents": model.documents}, half)
    if not isinstance(ids, range):
        arrays = packed("ids", ids)
        index = LabelIndex.of(Labels(arrays["ids"], arrays.get("ids_offsets")))
        tensors.write(folder / _IDS, {**arrays, "ids_keys": index.keys, "ids_rows": index.rows}, belongs)


def load(path: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Fitted:
    """Opens what :func:`save` wrote, and refuses anything else. Documents and their ids are mapped, not read."""
    if tokenizer is not None and not callable(tokenizer):
        raise TypeError(f"tokenizer={tokenizer!r} is not callable")
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no model folder at {folder}")
    while True:
        with watched(folder) as was_replaced:
            try:
                return _opened(folder, tokenizer)
            except ModelFormatError:
                if not was_replaced():
                    raise
        # Another process has put another model in its place meanwhile, and files of both were met.


def _opened(folder: Path, tokenizer: Tokenizer | None) -> Fitted:
    if not (folder / MANIFEST).exists():
        raise ModelFormatError(f"{folder} is no paravec model: it has no {MANIFEST}")
    about = manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError)
    try:
        return _loaded(folder, about, tokenizer)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"{folder} is damaged: {error!s:.200}") from error


def _loaded(folder: Path, about: dict[str, Any], tokenizer: Tokenizer | None) -> Fitted:
    if about["unicode"] != _core.UNICODE_VERSION:
        warnings.warn(
            f"{folder} was made with the characters of Unicode {about['unicode']!s:.20}, and is used with those of "
            f"{_core.UNICODE_VERSION}: text with characters that are new since may be split otherwise",
            stacklevel=5,
        )
    settings, facts = _settings(folder, about, tokenizer), CorpusFacts.of(about["corpus"])
    for place in _places(settings):
        if (folder / place).is_symlink() and place != Path():
            raise ModelFormatError(f"{folder / place} is a symbolic link; a model's folder has none")
    vocabulary = _read_vocabulary(folder, about)
    models = [
        _read_model(folder, place, architecture, vocabulary, about)
        for place, architecture in zip(_places(settings), settings.architectures(), strict=True)
    ]
    ids = None
    if _truth(about, "documents"):
        for place, model in zip(_places(settings), models, strict=True):
            model.documents = _read_documents(folder / place / _DOCUMENTS, model.architecture, facts, about)
        ids = _read_ids(folder, facts, about)
    return Fitted(
        settings,
        _count(about, "seed"),
        vocabulary,
        facts,
        models,
        ids,
        _losses(about["loss_history"], settings),
        _losses(about["validation_history"], settings),
        {a.model: _count(about["kept_epoch"], a.model) for a in settings.architectures()},
    )


def _settings(folder: Path, about: dict[str, Any], tokenizer: Tokenizer | None) -> Settings:
    """The settings; those that this version does not know were saved by a later one, and matter."""
    told = BEFORE | about["settings"]
    unknown = sorted(told.keys() - {each.name for each in fields(Settings)})
    if unknown:
        raise ModelFormatError(
            f"{folder} has the setting {unknown[0]!r:.40}, which this version of paravec does not know; it was written "
            f"by paravec {about.get('paravec')!s:.20}"
        )
    if tokenizer is not None:
        told |= {"tokenizer": tokenizer, "lowercase": None, "strip_tags": False}  # which it decides itself
    elif told["tokenizer"] is None:
        told["tokenizer"] = _missing_tokenizer
    if told.get("engine") == "gpu":
        told["engine"] = "auto"  # a model is not bound to machines that have one
    return Settings(**told)


def _missing_tokenizer(text: str) -> list[str]:
    raise ValueError(
        "this model was fitted with a tokenizer of its own, which is not saved; load it with "
        "ParagraphVector.load(path, tokenizer=...), or give documents as lists of tokens"
    )


def _count(about: dict[str, Any], name: str) -> int:
    value = about[name]
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{name} is {value!r:.40}")
    return value


def _truth(about: dict[str, Any], name: str) -> bool:
    if type(about[name]) is not bool:
        raise ValueError(f"{name} is {about[name]!r:.40}")
    return bool(about[name])


def _losses(told: Any, settings: Settings) -> Losses:
    names = {a.model for a in settings.architectures()}
    if told.keys() != names or not all(type(x) in (int, float) for losses in told.values() for x in losses):
        raise ValueError("its history of losses is none")
    return {name: list(losses) for name, losses in told.items()}


def _read_vocabulary(folder: Path, about: dict[str, Any]) -> Vocabulary:
    n_words, n_ngrams = _count(about, "n_words"), _count(about, "n_ngrams")
    expected: dict[str, Any] = {"counts": ("int64", (n_words + n_ngrams,)), **_labels("words", n_words, about)}
    if n_ngrams:
        expected |= {"prefix": ("int32", (n_ngrams,)), "last": ("int32", (n_ngrams,))}
    arrays = _verified(folder, _VOCABULARY, about, expected)
    none = np.zeros(0, dtype=np.int32)
    vocabulary = Vocabulary(
        tuple(Labels(arrays["words"], arrays.get("words_offsets")).tolist()),
        np.array(arrays["counts"]),
        np.array(arrays.get("prefix", none)),
        np.array(arrays.get("last", none)),
    )
    vocabulary.check()
    return vocabulary


def _labels(name: str, count: int, about: dict[str, Any]) -> dict[str, Any]:
    """The arrays of words or ids: integers, or text with offsets."""
    if about[f"integer_{name}"]:
        return {name: ("int64", (count,))}
    return {name: ("uint8", (None,)), f"{name}_offsets": ("int64", (count + 1,))}


def _verified(
    folder: Path,
    name: str,
    about: dict[str, Any],
    expected: parameters.Expected,
    optional: parameters.Expected | None = None,
) -> dict[str, Any]:
    """The arrays of a file that is read as a whole, so that its checksum can be, too."""
    arrays, _ = parameters.read(folder / name, expected, optional, str(about["crc32"][name]))
    parameters.check_finite(folder / name, arrays)
    return arrays


def _read_model(
    folder: Path, place: Path, architecture: Architecture, vocabulary: Vocabulary, about: dict[str, Any]
) -> Model:
    frozen = {"trainable": ("uint8", (len(vocabulary.words) + 1,))} if architecture.has_words else {}
    expected = parameters.weights_of(architecture, vocabulary)
    arrays = _verified(folder, str(place / _MODEL), about, expected, frozen)
    words, bias, trainable = (arrays.get(name) for name in ("words", "bias", "trainable"))
    return Model(architecture, None, words, arrays["outputs"], bias, trainable)


def _belonging(
    path: Path, about: dict[str, Any], expected: parameters.Expected, half: str | None = None
) -> dict[str, Any]:
    """The arrays of a file that is mapped, and says to which model it belongs."""
    arrays, metadata = parameters.read(path, expected)
    if metadata.get("identity") != about["identity"] or metadata.get("model") != half:
        raise ModelFormatError(f"{path} belongs to another model")
    return arrays


def _read_documents(path: Path, architecture: Architecture, facts: CorpusFacts, about: dict[str, Any]) -> Any:
    shape = (facts.n_documents, architecture.vector_size)
    return _belonging(path, about, {"documents": ("float32", shape)}, architecture.model)["documents"]


def _read_ids(folder: Path, facts: CorpusFacts, about: dict[str, Any]) -> Sequence[DocumentId]:
    if about["first_number"] is not None:
        first = _count(about, "first_number")
        return range(first, first + facts.n_documents)
    keys = "int64" if about["integer_ids"] else "uint64"
    expected = {"ids_keys": (keys, (facts.n_documents,)), "ids_rows": ("int64", (facts.n_documents,))}
    arrays = _belonging(folder / _IDS, about, expected | _labels("ids", facts.n_documents, about))
    index = LabelIndex(arrays["ids_keys"], arrays["ids_rows"])
    return Labels(arrays["ids"], arrays.get("ids_offsets"), index)


def is_result(path: str | os.PathLike[str], start: Start, ids: Sequence[DocumentId] | None) -> bool:
    """Whether there is a model at a place that a fit with this start has made, with these ids or without documents."""
    folder = Path(path)
    if not is_model(folder) or start.word_vectors is not None:
        return False
    about = manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError)
    theirs, ours, defaults = about.get("settings"), start.settings.as_dict(), Settings().as_dict() | BEFORE
    return (
        isinstance(theirs, dict)
        and all(theirs.get(name, defaults[name]) == value for name, value in ours.items() if name not in FREE)
        and about.get("seed") == start.seed
        and about.get("corpus") == asdict(start.corpus)
        and about.get("ids_crc32") == (None if ids is None else _crc32_of(ids))
    )
