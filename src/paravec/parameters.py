"""The arrays of a model in files, checked before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from paravec import tensors
from paravec.architecture import Architecture
from paravec.errors import ModelFormatError, TensorError
from paravec.model import is_finite
from paravec.vocab import Vocabulary

Expected = Mapping[str, tuple[str, tuple[int | None, ...]]]  # the type of an array, and its shape as far as known


def weights_of(architecture: Architecture, vocabulary: Vocabulary) -> dict[str, tuple[str, tuple[int | None, ...]]]:
    """The arrays W, U and b of a model."""
    n_words = len(vocabulary.words)
    n_outputs = architecture.n_outputs(n_words if architecture.is_dm else vocabulary.size)
    found: dict[str, tuple[str, tuple[int | None, ...]]] = {"outputs": ("float32", (n_outputs, architecture.width))}
    if architecture.has_words:
        found["words"] = ("float32", (n_words + 1, architecture.word_size))
    if architecture.has_bias:
        found["bias"] = ("float32", (n_outputs,))
    return found


def read(
    path: Path, expected: Expected, optional: Expected | None = None, checksum: str | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a file, mapped, if they are what is expected; and its metadata."""
    try:
        arrays, metadata = tensors.read(path, checksum)
    except TensorError as error:
        raise ModelFormatError(str(error)) from None
    known = {**expected, **(optional or {})}
    for name in (*expected, *arrays):
        if name not in known:
            raise ModelFormatError(f"{path} has an array {name!r:.40}, which does not belong there")
        kind, shape = known[name]
        found = arrays.get(name)
        if found is None or found.dtype.name != kind or not _fits(found.shape, shape):
            what = "missing" if found is None else f"{found.dtype} of shape {found.shape}"
            raise ModelFormatError(f"{path}: the array {name!r} is {what}; {kind} of shape {shape} is expected")
    return arrays, metadata


def _fits(found: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    return len(found) == len(shape) and all(b is None or a == b for a, b in zip(found, shape, strict=True))


def check_finite(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuses weights that are no numbers; a piece at a time, because they may be mapped."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not is_finite(array):
            raise ModelFormatError(f"{path}: the array {name!r} holds NaN or infinity")
