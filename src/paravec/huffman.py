"""The binary tree of the hierarchical softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paravec import _core


@dataclass(frozen=True)
class Paths:
    """The way from the root to every word: path `w` is ``nodes[offsets[w]:offsets[w + 1]]`` with its codes.

    Inner nodes are numbered from the root (0) towards the rare words, so that the busiest rows of U lie together.
    """

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    codes: NDArray[np.uint8]


def huffman(counts: NDArray[np.int64]) -> Paths:
    """The Huffman tree over counts, in any order: the two rarest trees are joined until one is left.

    >>> paths = huffman(np.array([8, 4, 2, 1]))
    >>> np.diff(paths.offsets).tolist()  # frequent words have short codes
    [1, 2, 3, 3]
    """
    return Paths(*_core.huffman(counts))
