"""The parameters D, W, U, b: data, no algorithms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from paravec.architecture import Architecture

_AT_ONCE = 1 << 20


def is_finite(array: NDArray[Any]) -> bool:
    """Whether no number is NaN or infinite; in pieces, since all answers at once would take a quarter of the array."""
    rows = max(1, _AT_ONCE // max(1, array[:1].size))
    return all(bool(np.isfinite(array[i : i + rows]).all()) for i in range(0, len(array), rows))


@dataclass
class Weights:
    """W, U and b at some moment."""

    words: NDArray[np.floating] | None
    outputs: NDArray[np.floating]
    bias: NDArray[np.floating] | None


@dataclass
class Model:
    """One trained (or initial) model of the paper.

    A row of `words` for each word and a last one for NULL; a row of `outputs` for each target, or for each inner node
    of the tree with ``output="hs"``. Arrays that the architecture does not have are None, and so is `documents` in a
    model that only infers.
    """

    architecture: Architecture
    documents: NDArray[np.floating] | None
    words: NDArray[np.floating] | None
    outputs: NDArray[np.floating]
    bias: NDArray[np.floating] | None
    trainable: NDArray[np.uint8] | None = None  # which rows of `words` may move; None for all

    def astype(self, dtype: DTypeLike) -> Model:
        """A copy in another precision."""
        return replace(
            self,
            documents=None if self.documents is None else self.documents.astype(dtype),
            words=None if self.words is None else self.words.astype(dtype),
            outputs=self.outputs.astype(dtype),
            bias=None if self.bias is None else self.bias.astype(dtype),
        )

    def alone(self) -> Model:
        """The model without words: the part of U that the document is multiplied by, and b, in the same memory."""
        return Model(self.architecture.alone(), None, None, self.outputs[:, : self.architecture.vector_size], self.bias)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays it has, by name."""
        names = ("documents", "words", "outputs", "bias", "trainable")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def weights(self, room: Weights | None = None) -> Weights:
        """A copy of W, U and b, in the room of an earlier one if there is one."""
        kept = room or Weights(
            None if self.words is None else np.empty(self.words.shape, self.words.dtype),
            np.empty(self.outputs.shape, self.outputs.dtype),
            None if self.bias is None else np.empty(self.bias.shape, self.bias.dtype),
        )
        _copy(self, kept)
        return kept

    def restore(self, weights: Weights) -> None:
        """Makes W, U and b what they were."""
        _copy(weights, self)


def _copy(source: Model | Weights, target: Model | Weights) -> None:
    for name in ("words", "outputs", "bias"):
        array = getattr(source, name)
        if array is not None:
            getattr(target, name)[...] = array
