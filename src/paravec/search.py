"""Nearest documents and words, by the cosine of the angle: exact, in blocks, for many queries at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import ModelFormatError

ROWS_AT_ONCE = 1 << 16
_SCORES_AT_ONCE = 1 << 23  # less would be too little work for the threads of a matrix product
_QUERIES_AT_ONCE = 1 << 10
_FEW_ROWS = 1 << 12
NO_ROWS = np.zeros(0, dtype=np.int64)

Found = tuple[NDArray[np.int64], NDArray[np.float32]]  # rows and scores, for each query the best first


def unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows scaled to length 1; zero stays zero."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


@dataclass(frozen=True, eq=False)
class Rows:
    """Vectors to be searched: one matrix, or the halves of ``dm+dbow``, which weigh the same. They may be mapped."""

    parts: tuple[NDArray[np.float32], ...]

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # the rest is made again when needed

    @cached_property
    def scales(self) -> tuple[NDArray[np.float32], ...]:
        """What makes each row's length 1 (0 for a row of zeros), and the mean of halves: found once, 4 bytes a row."""
        return tuple(_scales(part) / np.float32(len(self.parts)) for part in self.parts)

    def cosines(self, first: int, end: int, directions: NDArray[np.float32]) -> NDArray[np.float32]:
        """A row of scores for each direction (whose halves have length 1)."""
        halves = _split(directions, len(self.parts))
        found = np.zeros((len(directions), end - first), dtype=np.float32) if len(halves) > 1 else None
        for part, scale, half in zip(self.parts, self.scales, halves, strict=True):
            scores = half @ part[first:end].T
            scores *= scale[first:end]
            found = scores if found is None else np.add(found, scores, out=found)
        assert found is not None
        return found


def scores_of(rows: Rows, direction: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scores of a few rows for one direction; quicker than `cosines`, which has the scales of many."""
    if len(rows.parts) == 1 and len(rows):
        (part,) = rows.parts
        lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
        if lengths.min() > 0 and lengths.max() < np.inf:  # neither zero nor NaN
            scores: NDArray[np.float32] = part @ direction
            scores /= lengths
            return scores
    (found,) = rows.cosines(0, len(rows), direction[None])
    return np.asarray(found)


def _scales(part: NDArray[np.float32]) -> NDArray[np.float32]:
    scales = np.empty(len(part), dtype=np.float32)
    for first in range(0, len(part), ROWS_AT_ONCE):
        block = part[first : first + ROWS_AT_ONCE]
        with np.errstate(invalid="ignore", over="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
            if not np.isfinite(squares).all():  # of a file, which is mapped and was not looked at before
                bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
                if len(bad):
                    raise ModelFormatError(f"the vector of document {first + int(bad[0])} holds NaN or infinity")
                squares = np.einsum("ij,ij->i", block, block, dtype=np.float64)
        lengths = np.sqrt(squares)
        scales[first : first + len(block)] = np.divide(1, lengths, where=lengths > 0, out=np.zeros_like(lengths))
    return scales


def directions(queries: NDArray[np.floating], n_parts: int) -> NDArray[np.float32]:
    """Queries whose halves have length 1."""
    halves = [unit(half) for half in _split(np.asarray(queries, dtype=np.float64), n_parts)]
    return (np.hstack(halves) if n_parts > 1 else halves[0]).astype(np.float32)


def _split(rows: NDArray[Any], n_parts: int) -> list[NDArray[Any]]:
    return np.split(rows, n_parts, axis=1) if n_parts > 1 else [rows]


def nearest(
    tables: Iterable[Rows],
    queries: NDArray[np.floating],
    k: int,
    leave_out: NDArray[np.int64] = NO_ROWS,
    start: int = 0,
) -> Found:
    """The `k` rows (or all, if there are less) nearest to each query; equals in the order of rows.

    Rows are counted through all tables, which are looked at one after the other, in blocks, and once more for every
    1024 queries. Those to `leave_out` are in ascending order. Rows before `start` are not looked at.
    """
    found = [
        _nearest(tables, queries[i : i + _QUERIES_AT_ONCE], k, leave_out, start)
        for i in range(0, len(queries), _QUERIES_AT_ONCE)
    ]
    rows, scores = (np.concatenate(each) for each in zip(*found, strict=True))
    return rows, np.clip(scores, -1, 1)  # what rounding has added


def _nearest(
    tables: Iterable[Rows], queries: NDArray[np.floating], k: int, leave_out: NDArray[np.int64], start: int
) -> Found:
    best = _Best(len(queries), k)
    step = max(1, _SCORES_AT_ONCE // len(queries))
    before = 0
    for table in tables:
        ways = directions(queries, len(table.parts))
        for first in range(max(0, start - before), len(table), step):
            end = min(first + step, len(table))
            scores = table.cosines(first, end, ways)
            out = np.searchsorted(leave_out, (before + first, before + end))
            if out[0] < out[1]:
                scores[:, leave_out[out[0] : out[1]] - (before + first)] = -np.inf
            best.take(scores, before + first)
        before += len(table)
    return best.found()


class _Best:
    """The best rows so far of some queries."""

    def __init__(self, n_queries: int, k: int) -> None:
        self._n, self._k = n_queries, k
        self._query, self._row = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        self._score = np.zeros(0, dtype=np.float32)
        self._floor = np.full(n_queries, -np.inf, dtype=np.float32)  # what a further row has to beat

    def take(self, scores: NDArray[np.float32], first: int) -> None:
        """Looks at the scores of some rows in a row: at a few first, which tell what the others have to beat."""
        few = max(_FEW_ROWS, 16 * self._k)
        if scores.shape[1] > 2 * few and np.isneginf(self._floor).any():
            self._take(scores[:, :few], first)
            self._take(scores[:, few:], first + few)
        else:
            self._take(scores, first)

    def _take(self, scores: NDArray[np.float32], first: int) -> None:
        if np.isneginf(self._floor).any() and scores.shape[1] > self._k:
            low = np.partition(scores, -self._k, axis=1)[:, -self._k]
            better = scores >= np.maximum(low, np.nextafter(self._floor, np.float32(np.inf)))[:, None]
        else:
            better = scores > self._floor[:, None]
        query, row = np.divmod(np.flatnonzero(better), better.shape[1])  # much quicker than np.nonzero of a matrix
        if not len(query):
            return
        self._query = np.concatenate([self._query, query])
        self._score = np.concatenate([self._score, scores[query, row]])
        self._row = np.concatenate([self._row, row + first])
        self._cut()

    def _cut(self) -> None:
        """Keeps the `k` best of each query, in order."""
        order = np.lexsort((self._row, -self._score, self._query))
        query = self._query[order]
        place = np.arange(len(query)) - np.searchsorted(query, query)
        kept = order[place < self._k]
        self._query, self._row, self._score = self._query[kept], self._row[kept], self._score[kept]
        last = self._query[place[place < self._k] == self._k - 1]
        self._floor[last] = self._score[place[place < self._k] == self._k - 1]

    def found(self) -> Found:
        """All queries have found equally many: `k`, or all rows there are."""
        return self._row.reshape(self._n, -1), self._score.reshape(self._n, -1)
