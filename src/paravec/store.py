"""A model's folder on disk: safetensors and JSON, never pickle.

``docs/format.md`` tells the format.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from paravec import _core, manifest, parameters, segments, tensors
from paravec.architecture import Architecture
from paravec.arguments import DocumentId
from paravec.checkpoint import FREE, Start
from paravec.corpus import CorpusFacts
from paravec.corpus.labels import Labels, packed
from paravec.documents import Documents
from paravec.errors import ModelFormatError, WithoutDocumentsError
from paravec.fitted import Fitted, Losses, known
from paravec.folders import check_target, locked, replacing, sync, watched
from paravec.model import Model
from paravec.settings import BEFORE, RENAMED, Settings
from paravec.text import Tokenizer
from paravec.vocab import Vocabulary

FORMAT = "paravec model"
VERSION = 2
MANIFEST = "settings.json"
_VOCABULARY, _MODEL = "vocabulary.safetensors", "model.safetensors"
Opened = TypeVar("Opened")
_NEXT = ".settings.json.next"  # a manifest before it takes the place of the one that is there


def save(fitted: Fitted, path: str | os.PathLike[str], documents: bool = True) -> None:
    """Writes to a new folder beside `path`, and puts it in its place when it is complete."""
    kept = fitted.documents if documents else None
    ids = None if kept is None else kept.segments[0].ids if kept.is_whole else kept.ids
    with replacing(check_model_target(path)) as folder:
        files = {_VOCABULARY: tensors.write(folder / _VOCABULARY, _vocabulary_arrays(fitted.vocabulary), checksum=True)}
        for place, model in zip(_places(fitted.settings), fitted.models, strict=True):
            (folder / place).mkdir(exist_ok=True)
            arrays = {name: array for name, array in model.arrays().items() if name != "documents"}
            files[str(place / _MODEL)] = tensors.write(folder / place / _MODEL, arrays, checksum=True)
        about = _about(fitted, files, kept, ids)
        if kept is not None and ids is not None:
            segments.write_first(folder, _halves(fitted.settings), kept, ids, about["identity"])
            fitted.save_index(folder, about["identity"])
        manifest.write(folder / MANIFEST, FORMAT, _version(about), about)


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


def _halves(settings: Settings) -> dict[Path, Architecture]:
    return dict(zip(_places(settings), settings.architectures(), strict=True))


def _version(about: Mapping[str, Any]) -> int:
    """The first version whose programs read a model rightly: documents beside those of its corpus are new in 2."""
    return 2 if "n_documents" in about else 1


def _about(
    fitted: Fitted, files: dict[str, int], kept: Documents | None, ids: Sequence[DocumentId] | None
) -> dict[str, Any]:
    about = {
        "settings": fitted.settings.as_dict(),
        "seed": fitted.seed,
        "unicode": _core.UNICODE_VERSION,
        "corpus": asdict(fitted.corpus),
        "n_words": len(fitted.vocabulary.words),
        "n_ngrams": len(fitted.vocabulary.prefix),
        "integer_words": isinstance(fitted.vocabulary.words[0], int),
        "crc32": {name: f"{value:08x}" for name, value in files.items()},
        "documents": ids is not None,
        **segments.told(() if ids is None else ids),
        "ids_crc32": None if ids is None else segments.crc32_of(ids),
        **({} if fitted.given_words is None else {"word_vectors": fitted.given_words}),
        "documents_crc32": None if kept is None else segments.crc32_of_vectors(kept),
    }
    identity = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "identity": identity,
        **about,
        **({} if ids is None or len(ids) == fitted.corpus.n_documents else {"n_documents": len(ids)}),
        "loss_history": fitted.losses,
        "validation_history": {name: nulls_for_nan(losses) for name, losses in fitted.validation_losses.items()},
        "kept_epoch": fitted.kept_epochs,
        "continued": fitted.continued,
    }


def nulls_for_nan(losses: Sequence[float]) -> list[float | None]:
    """Losses as JSON can tell them: none of an epoch that was not scored."""
    return [None if math.isnan(loss) else loss for loss in losses]


def _vocabulary_arrays(vocabulary: Vocabulary) -> dict[str, NDArray[Any]]:
    arrays = {"counts": vocabulary.counts, **packed("words", vocabulary.words)}
    if len(vocabulary.prefix):
        arrays |= {"prefix": vocabulary.prefix, "last": vocabulary.last}
    return arrays


def load(path: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Fitted:
    """Opens what :func:`save` wrote, and refuses anything else. Documents and their ids are mapped, not read."""
    if tokenizer is not None and not callable(tokenizer):
        raise TypeError(f"tokenizer={tokenizer!r} is not callable")
    return _opened(path, lambda folder, about: _loaded(folder, about, tokenizer))


def documents_of(path: str | os.PathLike[str]) -> tuple[Documents, str]:
    """The documents alone of a saved model, mapped, and its identity; its weights are not looked at."""
    return _opened(path, _documents)


def _documents(folder: Path, about: dict[str, Any]) -> tuple[Documents, str]:
    settings = _settings(folder, about, None)
    documents = segments.read(folder, _halves(settings), about) if _truth(about, "documents") else None
    return known(documents), str(about["identity"])


def _opened(path: str | os.PathLike[str], read: Callable[[Path, dict[str, Any]], Opened]) -> Opened:
    """Reads from a model's folder; again, if another process has replaced the model meanwhile."""
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no model folder at {folder}")
    while True:
        with watched(folder / MANIFEST if (folder / MANIFEST).is_file() else folder) as was_replaced:
            try:
                return _read(folder, read)
            except ModelFormatError:
                if not was_replaced():
                    raise
        # Another process has put another model in its place, or changed its documents, and files of both were met.


def _read(folder: Path, read: Callable[[Path, dict[str, Any]], Opened]) -> Opened:
    if not (folder / MANIFEST).exists():
        raise ModelFormatError(f"{folder} is no paravec model: it has no {MANIFEST}")
    about = manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError)
    try:
        return read(folder, about)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, MemoryError) as error:
        if isinstance(error, (ModelFormatError, WithoutDocumentsError)):
            raise
        raise ModelFormatError(f"{folder} is damaged: {error!s:.200}") from error


def _loaded(folder: Path, about: dict[str, Any], tokenizer: Tokenizer | None) -> Fitted:
    if about["unicode"] != _core.UNICODE_VERSION:
        warnings.warn(
            f"{folder} was made with the characters of Unicode {about['unicode']!s:.20}, and is used with those of "
            f"{_core.UNICODE_VERSION}: text with characters that are new since may be split otherwise",
            stacklevel=7,
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
    documents = None
    if _truth(about, "documents"):
        documents = segments.read(folder, _halves(settings), about)
    return Fitted(
        settings,
        segments.count(about, "seed"),
        vocabulary,
        facts,
        models,
        documents,
        _losses(about["loss_history"], settings),
        _losses(about["validation_history"], settings),
        {a.model: segments.count(about["kept_epoch"], a.model) for a in settings.architectures()},
        (folder.absolute(), str(about["identity"])),
        segments.count({"continued": 0, **about}, "continued"),
        str(about["word_vectors"]) if "word_vectors" in about else None,
    )


def _settings(folder: Path, about: dict[str, Any], tokenizer: Tokenizer | None) -> Settings:
    """The settings; those that this version does not know were saved by a later one, and matter."""
    told = BEFORE | {RENAMED.get(name, name): value for name, value in about["settings"].items()}
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


def _truth(about: dict[str, Any], name: str) -> bool:
    if type(about[name]) is not bool:
        raise ValueError(f"{name} is {about[name]!r:.40}")
    return bool(about[name])


def _losses(told: Any, settings: Settings) -> Losses:
    names = {a.model for a in settings.architectures()}
    if told.keys() != names or not all(type(x) in (int, float, NoneType) for losses in told.values() for x in losses):
        raise ValueError("its history of losses is none")
    return {name: [math.nan if loss is None else loss for loss in losses] for name, losses in told.items()}


def _read_vocabulary(folder: Path, about: dict[str, Any]) -> Vocabulary:
    n_words, n_ngrams = segments.count(about, "n_words"), segments.count(about, "n_ngrams")
    expected: dict[str, Any] = {"counts": ("int64", (n_words + n_ngrams,)), **segments.labels("words", n_words, about)}
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


@contextmanager
def unchanged(folder: Path, identity: str) -> Iterator[dict[str, Any]]:
    """While this lasts, the model in a folder is the one that was opened, and nobody else changes it."""
    with locked(folder):
        about = manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError)
        if about.get("identity") != identity:
            raise ValueError(f"another model was saved to {folder} meanwhile; begin again")
        yield about


def change(path: str | os.PathLike[str], identity: str, how: Callable[[Documents], Documents]) -> Documents:
    """Changes the documents of a saved model: new files, and then, in one step, a manifest that names them.

    What is there is not rewritten, and whoever has mapped it keeps it. Other processes that change the same model wait.
    """
    folder = Path(os.path.realpath(path))
    with unchanged(folder, identity) as about:
        halves = _halves(_settings(folder, about, None))
        before = segments.read(folder, halves, about)
        after = how(before)
        try:
            new = about | segments.write_later(folder, halves, before, after, about)
            manifest.write(folder / _NEXT, FORMAT, _version(new), new)
            sync(folder)
            os.replace(folder / _NEXT, folder / MANIFEST)
            sync(folder)
        except OSError as error:  # a full disk does not say where, or says a name of ours
            raise OSError(error.errno, error.strerror, str(folder)) from error
        finally:
            with suppress(OSError):
                (folder / _NEXT).unlink()
            segments.sweep(folder, manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError))
    return after


def is_result(path: str | os.PathLike[str], start: Start, ids: Sequence[DocumentId] | None) -> bool:
    """Whether there is a model at a place that a fit with this start has made, with these ids or without documents."""
    folder = Path(path)
    if not is_model(folder):
        return False
    about = manifest.read(folder / MANIFEST, FORMAT, VERSION, ModelFormatError)
    theirs, ours, defaults = about.get("settings"), start.settings.as_dict(), Settings().as_dict() | BEFORE
    return (
        isinstance(theirs, dict)
        and all(theirs.get(name, defaults[name]) == value for name, value in ours.items() if name not in FREE)
        and about.get("seed") == start.seed
        and about.get("word_vectors") == start.word_vectors
        and about.get("corpus") == asdict(start.corpus)
        and not about.get("continued")
        and about.get("ids_crc32") == (None if ids is None else segments.crc32_of(ids))
    )
