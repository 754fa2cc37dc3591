"""The binary tree of the hierarchical softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Paths:
    """The way from the root to every word: path `w` is ``nodes[offsets[w]:offsets[w + 1]]`` with its codes.

    Inner nodes are numbered from the root (0) towards the rare words, so that the busiest rows of U lie together.
    """

    offsets: NDArray[np.int64]
    nodes: NDArray[np.int32]
    codes: NDArray[np.uint8]


def huffman(counts: NDArray[np.int64]) -> Paths:
    """The Huffman tree over counts sorted from the largest to the smallest.

    >>> paths = huffman(np.array([8, 4, 2, 1]))
    >>> np.diff(paths.offsets).tolist()  # frequent words have short codes
    [1, 2, 3, 3]
    """
    leaves = len(counts)
    parent = np.zeros(2 * leaves - 1, dtype=np.int64)
    code = np.zeros(2 * leaves - 1, dtype=np.uint8)
    _join(counts.tolist(), parent, code)
    root = 2 * leaves - 2

    # All leaves climb together, one level a round.
    at = np.arange(leaves)
    levels: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8]]] = []
    climbing = np.flatnonzero(at != root)
    while climbing.size:
        below = at[climbing]
        levels.append((climbing, root - parent[below], code[below]))
        at[climbing] = parent[below]
        climbing = climbing[at[climbing] != root]

    lengths = np.zeros(leaves, dtype=np.int64)
    for words, _, _ in levels:
        lengths[words] += 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    nodes = np.zeros(int(offsets[-1]), dtype=np.int32)
    codes = np.zeros(int(offsets[-1]), dtype=np.uint8)
    for depth, (words, inner, bits) in enumerate(levels):
        place = offsets[words + 1] - 1 - depth
        nodes[place] = inner
        codes[place] = bits
    return Paths(offsets, nodes, codes)


def _join(counts: list[int], parent: NDArray[np.int64], code: NDArray[np.uint8]) -> None:
    """Joins the two rarest trees until one is left. Two queues, both sorted, make it linear."""
    leaves = len(counts)
    weight = [*counts, *[0] * (leaves - 1)]
    leaf, inner = leaves - 1, leaves
    for new in range(leaves, 2 * leaves - 1):
        for bit in (0, 1):
            if leaf >= 0 and (inner == new or weight[leaf] <= weight[inner]):
                rarest, leaf = leaf, leaf - 1
            else:
                rarest, inner = inner, inner + 1
            parent[rarest] = new
            code[rarest] = bit
            weight[new] += weight[rarest]
