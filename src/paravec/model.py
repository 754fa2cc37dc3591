"""The parameters D, W, U, b: data, no algorithms."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import DTypeLike, NDArray

from paravec.settings import Architecture


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
