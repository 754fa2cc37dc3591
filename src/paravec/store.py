"""A model's folder on disk: safetensors and JSON, never pickle."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from paravec import _core
from paravec.engines.base import Tables
from paravec.engines.cpu import zeros
from paravec.errors import ModelFormatError
from paravec.fitting import Fitted
from paravec.folders import check_target, replacing
from paravec.model import Model
from paravec.settings import Architecture, Settings
from paravec.text import Tokenizer
from paravec.vocab import Vocabulary

if TYPE_CHECKING:
    from paravec.estimator import ParagraphVector

FORMAT = "paravec model"
VERSION = 1


def save(estimator: ParagraphVector, path: str | os.PathLike[str]) -> None:
    """Writes to a new folder beside `path`, and renames it when it is complete."""
    with replacing(check_model_target(path)) as folder:
        _write(estimator, folder)


def check_model_target(path: str | os.PathLike[str]) -> Path:
    """Where a model may be written."""
    return check_target(path, "model", is_model)


def load(cls: type[ParagraphVector], path: str | os.PathLike[str], tokenizer: Tokenizer | None) -> ParagraphVector:
    """Reads what :func:`save` wrote, and refuses anything else."""
    if tokenizer is not None and not callable(tokenizer):
        raise TypeError(f"tokenizer={tokenizer!r} is not callable")
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no model folder at {folder}")
    about = _read_json(folder / "settings.json")
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ModelFormatError(f"{folder / 'settings.json'} does not describe a paravec model")
    if about.get("version") != VERSION:
        raise ModelFormatError(
            f"{folder} has format version {about.get('version')!r}; this version of paravec reads version {VERSION}"
        )
    if about.get("unicode") != _core.UNICODE_VERSION:
        warnings.warn(
            f"{folder} was made with the characters of Unicode {about.get('unicode')}, and is used with those of "
            f"{_core.UNICODE_VERSION}: text with characters that are new since may be split otherwise",
            stacklevel=3,
        )
    if tokenizer is not None and isinstance(about.get("settings"), dict):
        about["settings"].update(lowercase=None, strip_tags=False)  # which a tokenizer of one's own decides
    try:
        own_tokenizer = about["settings"]["tokenizer"] is None
        if own_tokenizer and tokenizer is None:
            tokenizer = _missing_tokenizer
        settings = Settings(**{**about["settings"], **({"tokenizer": tokenizer} if tokenizer is not None else {})})
        vocabulary = _read_vocabulary(folder)
        ids = _read_json(folder / "ids.json")
        models = [_read_model(place, a, vocabulary, len(ids)) for a, place in _places(folder, settings)]
        estimator = cls(**{**settings.as_dict(), "tokenizer": settings.tokenizer, "random_state": about["seed"]})
        tables = [Tables.of(model.architecture, vocabulary, settings.sample) for model in models]
        fitted = Fitted(models, tables, about["loss_history"])
        estimator._adopt(settings, about["seed"], vocabulary, fitted, ids)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, ModelFormatError):
            raise
        raise ModelFormatError(f"{folder} is damaged: {error}") from error
    return estimator


def _missing_tokenizer(text: str) -> list[str]:
    raise ValueError(
        "this model was fitted with a tokenizer of its own, which is not saved; load it with "
        "ParagraphVector.load(path, tokenizer=...), or give documents as lists of tokens"
    )


def is_model(folder: Path) -> bool:
    """Whether a folder says that it is a model."""
    try:
        about = _read_json(folder / "settings.json")
    except ModelFormatError:
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


def _places(folder: Path, settings: Settings) -> list[tuple[Architecture, Path]]:
    """One model lies in the folder itself, the halves of dm+dbow in subfolders."""
    architectures = settings.architectures()
    return [(a, folder if len(architectures) == 1 else folder / a.model) for a in architectures]


def _write(estimator: ParagraphVector, folder: Path) -> None:
    settings = estimator.settings_
    about = {
        "format": FORMAT,
        "version": VERSION,
        "settings": settings.as_dict(),
        "seed": estimator.seed_,
        "n_documents": estimator.n_documents_,
        "n_words": len(estimator._vocabulary.words),
        "n_ngrams": len(estimator._vocabulary.prefix),
        "unicode": _core.UNICODE_VERSION,
        "loss_history": estimator.loss_history_,
    }
    _write_json(folder / "settings.json", about)
    _write_json(folder / "words.json", list(estimator._vocabulary.words))
    _write_json(folder / "ids.json", list(estimator.document_ids_))
    vocabulary = estimator._vocabulary
    _write_arrays(
        folder / "vocabulary.safetensors",
        {"counts": vocabulary.counts, "prefix": vocabulary.prefix, "last": vocabulary.last},
    )
    for (_, place), model in zip(_places(folder, settings), estimator._models, strict=True):
        place.mkdir(exist_ok=True)
        arrays = {
            "words": model.words,
            "outputs": model.outputs,
            "bias": model.bias,
            "trainable": model.trainable,
        }
        _write_arrays(place / "model.safetensors", {k: a for k, a in arrays.items() if a is not None})
        if model.documents is not None:
            _write_arrays(place / "documents.safetensors", {"documents": model.documents})


def _read_vocabulary(folder: Path) -> Vocabulary:
    words = _read_json(folder / "words.json")
    arrays = _read_arrays(folder / "vocabulary.safetensors")
    vocabulary = Vocabulary(tuple(words), arrays["counts"], arrays["prefix"], arrays["last"])
    if vocabulary.size != len(words) + len(vocabulary.prefix) or len(vocabulary.prefix) != len(vocabulary.last):
        raise ModelFormatError(f"{folder}: the vocabulary's words and counts do not belong together")
    return vocabulary


def _read_model(folder: Path, architecture: Architecture, vocabulary: Vocabulary, n_documents: int) -> Model:
    arrays = _read_arrays(folder / "model.safetensors")
    n_targets = len(vocabulary.words) if architecture.is_dm else vocabulary.size
    n_outputs = n_targets - (architecture.output == "hs")
    expected: dict[str, tuple[int, ...]] = {"outputs": (n_outputs, architecture.width)}
    if architecture.has_words:
        expected["words"] = (len(vocabulary.words) + 1, architecture.word_size)
    if architecture.has_bias:
        expected["bias"] = (n_outputs,)
    if (folder / "documents.safetensors").exists():
        arrays.update(_read_arrays(folder / "documents.safetensors"))
        expected["documents"] = (n_documents, architecture.vector_size)
    for name, shape in expected.items():
        found = arrays.get(name)
        if found is None or found.shape != shape or found.dtype != np.float32:
            what = "missing" if found is None else f"{found.dtype} of shape {found.shape}"
            raise ModelFormatError(f"{folder}: the array {name!r} is {what}; float32 of shape {shape} is expected")
        if name != "documents" and not np.isfinite(found).all():
            raise ModelFormatError(f"{folder}: the array {name!r} holds NaN or infinity")
    documents = arrays.get("documents")
    words = _padded(arrays["words"]) if architecture.has_words else None
    return Model(
        architecture,
        documents,
        words,
        _padded(arrays["outputs"]),
        arrays.get("bias"),
        arrays.get("trainable"),
    )


def _padded(array: NDArray[Any]) -> NDArray[np.float32]:
    padded = zeros(*array.shape)
    padded[:] = array
    return padded


def _write_json(path: Path, value: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1 if isinstance(value, dict) else None)
        file.flush()
        os.fsync(file.fileno())


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFormatError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise ModelFormatError(f"{path} is not JSON: {error}") from None


def _write_arrays(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    try:
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
    except SafetensorError as error:  # a full disk, say
        raise OSError(f"{path.name} cannot be written: {error}") from None


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        return dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise ModelFormatError(f"{path} cannot be read: {error}") from None
