"""The documents of a fitted model: vectors and ids, in segments that may be mapped, without those that were removed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId, listed_ids, plain_id
from paravec.corpus.labels import Labels, as_labels
from paravec.errors import ModelFormatError, TensorError
from paravec.search import NO_ROWS, ROWS_AT_ONCE, Rows

MOST_MERGED = 1 << 16  # documents of a segment that was made of smaller ones


@dataclass(frozen=True, eq=False)
class Segment(Rows):
    """Some documents in a row: their vectors, and their ids."""

    ids: Sequence[DocumentId] = ()
    name: str | None = None  # of its file in a model's folder; None if it has none

    @cached_property
    def _places(self) -> dict[DocumentId, int]:
        return {id: row for row, id in enumerate(self.ids)}

    def find(self, id: DocumentId) -> int | None:
        """The row of an id, if it is there: the last one, if it was removed and has come again."""
        if isinstance(self.ids, list):
            return self._places.get(id)
        if isinstance(self.ids, range) and not isinstance(id, int):
            return None  # for which a range would look at all of its numbers
        try:
            return self.ids.index(id)
        except TensorError as error:  # of a file, which is mapped and was not looked at before
            raise ModelFormatError(str(error)) from None
        except ValueError:
            return None

    def find_all(self, ids: Labels) -> NDArray[np.int64]:
        """As `find`, for many ids at once; -1 where there is none."""
        if isinstance(self.ids, list):
            return np.array([self._places.get(id, -1) for id in ids], dtype=np.int64)
        if isinstance(self.ids, range):
            if ids.offsets is not None:
                return np.full(len(ids), -1, dtype=np.int64)
            there = (ids.data >= self.ids.start) & (ids.data < self.ids.stop)
            return np.where(there, ids.data - self.ids.start, -1)
        try:
            return as_labels(self.ids).rows_of(ids)
        except TensorError as error:
            raise ModelFormatError(str(error)) from None

    @property
    def largest(self) -> int:
        """The largest id, of those that are integers."""
        ids = self.ids if isinstance(self.ids, range) else np.asarray(getattr(self.ids, "data", self.ids))
        return int(max(ids[0], ids[-1]) if isinstance(ids, range) else ids.max())


@dataclass(frozen=True, eq=False)
class Documents:
    """All documents of a model. Rows are counted through all segments, and stay when documents are removed.

    >>> one = Segment((np.eye(2, dtype=np.float32),), ["a", "b"])
    >>> more = Documents((one,)).adding(Segment((np.ones((1, 2), dtype=np.float32),), ["c"])).removing(["a"])
    >>> more.ids, more.row("c"), len(more)
    (['b', 'c'], 2, 2)
    """

    segments: tuple[Segment, ...]
    removed: NDArray[np.int64] = field(default_factory=lambda: NO_ROWS)  # rows, ascending

    def __len__(self) -> int:
        return self.n_rows - len(self.removed)

    def __getstate__(self) -> dict[str, Any]:
        return {"segments": self.segments, "removed": self.removed}  # the rest is made again when needed

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first row of each segment, and the end of the last."""
        return np.concatenate([[0], np.cumsum([len(segment) for segment in self.segments], dtype=np.int64)])

    @cached_property
    def _edges(self) -> list[int]:
        return [int(start) for start in self.starts]

    @property
    def n_rows(self) -> int:
        """The number of rows, those of removed documents too."""
        return int(self.starts[-1])

    @property
    def n_parts(self) -> int:
        """How many vectors a document has: two, if they are the halves of ``dm+dbow``."""
        return len(self.segments[0].parts)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The rows of the documents."""
        return np.delete(np.arange(self.n_rows), self.removed)

    @property
    def is_whole(self) -> bool:
        """Whether all documents lie in one piece."""
        return len(self.segments) == 1 and not len(self.removed)

    @cached_property
    def has_integer_ids(self) -> bool:
        """Whether ids are integers, and not strings."""
        first = next((segment.ids for segment in self.segments if len(segment)), None)
        return first is None or isinstance(first, range) or isinstance(first[0], int)

    @cached_property
    def ids(self) -> Sequence[DocumentId]:
        """The ids of the documents: a list, or what is equal to one."""
        if self.is_whole:
            ids = self.segments[0].ids
            return list(ids) if isinstance(ids, range) else ids
        listed = [id for segment in self.segments for id in segment.ids]
        return [listed[row] for row in self.rows.tolist()] if len(self.removed) else listed

    def find(self, id: DocumentId) -> int | None:
        """The row of the document with an id, if there is one."""
        for start, segment in zip(self.starts[-2::-1].tolist(), reversed(self.segments), strict=True):
            row = segment.find(id)
            if row is not None and not self._is_removed(start + row):
                return int(start + row)
        return None

    def _is_removed(self, row: int) -> bool:
        place = int(np.searchsorted(self.removed, row))
        return place < len(self.removed) and int(self.removed[place]) == row

    def find_all(self, ids: Sequence[DocumentId]) -> NDArray[np.int64]:
        """As `find`, for many ids of one kind at once; -1 where there is none."""
        wanted = as_labels(ids)
        rows = np.full(len(wanted), -1, dtype=np.int64)
        for start, segment in zip(self.starts.tolist(), self.segments, strict=False):
            found = segment.find_all(wanted)
            found[found >= 0] += start
            found[self.are_removed(found)] = -1
            rows = np.maximum(rows, found)
        return rows

    def are_removed(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each of some rows, whether its document was removed."""
        if not len(self.removed):
            return np.zeros(len(rows), dtype=np.bool_)
        places = np.minimum(np.searchsorted(self.removed, rows), len(self.removed) - 1)
        gone: NDArray[np.bool_] = self.removed[places] == rows
        return gone

    def without(self, rows: NDArray[np.int64], first: int = 0) -> NDArray[np.int64]:
        """The rows, from a `first` one on, that a search leaves out: those of removed documents and some others."""
        removed = self.removed[np.searchsorted(self.removed, first) :]
        return np.union1d(removed, rows[rows >= first]) if len(rows) else removed

    def row(self, id: DocumentId) -> int:
        """The row of the document with an id."""
        plain = plain_id(id)
        found = self.find(plain) if self._may_have(plain) else None
        return self._no_document(plain) if found is None else found

    def _may_have(self, id: DocumentId) -> bool:
        return not isinstance(id, str) and -(1 << 63) <= id < 1 << 63 if self.has_integer_ids else isinstance(id, str)

    def _no_document(self, id: DocumentId) -> NoReturn:
        raise KeyError(f"no document has the id {id!r}; there are {len(self)}")

    def rows_of(self, ids: Iterable[DocumentId], name: str = "ids") -> NDArray[np.int64]:
        """The rows of the documents with some ids, ascending; `name` is that of the argument."""
        wanted = listed_ids(ids, name)
        for id in wanted:
            if not self._may_have(id):
                self._no_document(id)
        rows = self.find_all(wanted)
        missing = np.flatnonzero(rows < 0)
        if len(missing):
            self._no_document(wanted[int(missing[0])])
        return np.unique(rows)

    def id(self, row: int) -> DocumentId:
        """The id of the document in a row."""
        i = bisect_right(self._edges, row) - 1
        try:
            return self.segments[i].ids[row - self._edges[i]]
        except TensorError as error:
            raise ModelFormatError(f"document {row}: {error}") from None

    def vectors(self, part: int, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """A copy of the vectors in some rows, in ascending order."""
        if len(self.segments) == 1:
            return self.segments[0].parts[part][rows]
        ends = np.searchsorted(rows, self.starts)
        pieces = [
            segment.parts[part][rows[first:end] - start]
            for segment, start, first, end in zip(self.segments, self.starts, ends, ends[1:], strict=False)
            if first < end
        ]
        return np.concatenate(pieces) if pieces else np.zeros((0, self.segments[0].parts[part].shape[1]), np.float32)

    def halves(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], ...]:
        """A copy of the vectors in some rows, in ascending order, of each half."""
        return tuple(self.vectors(part, rows) for part in range(self.n_parts))

    @cached_property
    def whole(self) -> NDArray[np.float32]:
        """The vectors of all documents, halves side by side, read only; copied, once, unless they are one matrix."""
        if self.is_whole and self.n_parts == 1:
            found = self.segments[0].parts[0].view()
        else:
            widths = np.cumsum([0, *(part.shape[1] for part in self.segments[0].parts)])
            found = np.empty((len(self), widths[-1]), dtype=np.float32)
            for part in range(self.n_parts):
                first = 0
                for block in self.blocks(part):
                    found[first : first + len(block), widths[part] : widths[part + 1]] = block
                    first += len(block)
        found.flags.writeable = False
        return found

    def blocks(self, part: int) -> Iterator[NDArray[np.float32]]:
        """The vectors of the documents, in pieces; not copied where nothing was removed."""
        for segment, start in zip(self.segments, self.starts.tolist(), strict=False):
            for first in range(0, len(segment), ROWS_AT_ONCE):
                block = segment.parts[part][first : first + ROWS_AT_ONCE]
                out = self.removed[np.searchsorted(self.removed, start + first) :]
                out = out[: np.searchsorted(out, start + first + len(block))]
                yield np.delete(block, out - (start + first), axis=0) if len(out) else block

    def among(self, rows: NDArray[np.int64]) -> Taken:
        """Some of the rows, to be searched."""
        return Taken(self, rows)

    def adding(self, segment: Segment) -> Documents:
        """With further documents, none of which is there yet.

        Small segments are put together, so that there never are many of them: the last ones, as long as they are no
        larger than what comes behind them. The first one, which may be large, stays as it is. Rows stay, too: those of
        removed documents are kept, and if an id has come again its last row counts.
        """
        self.refuse(segment.ids)
        kept = list(self.segments)
        while len(kept) > 1 and len(kept[-1]) <= len(segment) <= MOST_MERGED - len(kept[-1]):
            segment = _merged(kept.pop(), segment)
        return Documents((*kept, segment), self.removed)

    def refuse(self, ids: Sequence[DocumentId]) -> None:
        """Refuses ids of another kind than those of the documents, and ids that are there."""
        if self.n_rows and len(ids) and isinstance(ids[0], int) != self.has_integer_ids:
            ours, theirs = ("integers", "strings") if self.has_integer_ids else ("strings", "integers")
            raise ValueError(f"the id {ids[0]!r} is new, but the model's ids are {ours}, not {theirs}; give {ours}")
        there = np.flatnonzero(self.find_all(ids) >= 0)
        if len(there):
            raise ValueError(
                f"ids must differ, but {len(there)} of the {len(ids)} given {'is' if len(there) == 1 else 'are'} there "
                f"already, the first {ids[int(there[0])]!r}; give others, or remove the documents that have them"
            )

    def numbers(self, count: int) -> range:
        """Ids for documents that have none: the numbers go on."""
        if not self.has_integer_ids:
            raise ValueError(
                "the model's documents have strings for ids, and those to add have none; give ids "
                "(--id COLUMN on the command line)"
            )
        first = max((0, *(segment.largest + 1 for segment in self.segments if len(segment))))
        if first + count > 1 << 63:
            raise ValueError(f"the largest id is {first - 1}, so further numbers do not fit 64 bits; give ids")
        return range(first, first + count)

    def removing(self, ids: Iterable[DocumentId]) -> Documents:
        """Without the documents that have some ids."""
        return Documents(self.segments, np.union1d(self.removed, self.rows_of(ids)))


@dataclass(frozen=True)
class Taken:
    """Some rows of documents, taken out in pieces whenever they are gone through."""

    documents: Documents
    rows: NDArray[np.int64]

    def __iter__(self) -> Iterator[Rows]:
        for first in range(0, len(self.rows), ROWS_AT_ONCE):
            rows = self.rows[first : first + ROWS_AT_ONCE]
            yield Rows(self.documents.halves(rows))


def _merged(one: Segment, other: Segment) -> Segment:
    parts = tuple(np.concatenate(both) for both in zip(one.parts, other.parts, strict=True))
    if isinstance(one.ids, range) and isinstance(other.ids, range) and one.ids.stop == other.ids.start:
        return Segment(parts, range(one.ids.start, other.ids.stop))
    return Segment(parts, cast(list[DocumentId], [*one.ids, *other.ids]))
