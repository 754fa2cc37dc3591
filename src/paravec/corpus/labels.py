"""Ids of many documents in little memory, on their way from a source to a file and back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.arguments import DocumentId
from paravec.errors import TensorError

_BLOCK = 1 << 14  # ids that become Python's own at once


@dataclass(frozen=True)
class LabelIndex:
    """Where ids are, to be searched by halving: it may be mapped, and few of its pages are read."""

    keys: NDArray[Any]  # sorted: int64 ids, or the uint64 FNV-1a of the UTF-8 of ids that are strings
    rows: NDArray[np.int64]  # of each key

    @classmethod
    def of(cls, labels: Labels) -> LabelIndex:
        """The index of labels."""
        keys = labels.keys()
        rows = np.argsort(keys, kind="stable")  # which is also the quicker one
        return cls(keys[rows], rows)

    def last(self, keys: NDArray[Any]) -> NDArray[np.int64]:
        """For each of some keys the last row that has it; -1 where there is none."""
        rows = np.full(len(keys), -1, dtype=np.int64)
        places = np.searchsorted(self.keys, keys, side="right") - 1
        found = np.flatnonzero(places >= 0)
        found = found[self.keys[places[found]] == keys[found]]
        rows[found] = self.rows[places[found]]
        return rows

    def among(self, key: np.int64 | np.uint64) -> Iterator[int]:
        """The rows with a key, the last first: several when hashes happen to be equal, or an id has come again."""
        first, end = (int(np.searchsorted(self.keys, key, side)) for side in ("left", "right"))
        return (int(row) for row in self.rows[first:end][::-1])


class Labels(Sequence[DocumentId]):
    """Ids in arrays, which may be mapped: integers, or UTF-8 end to end with offsets. Equal to a list of the same."""

    def __init__(
        self, data: NDArray[Any], offsets: NDArray[np.int64] | None = None, lookup: LabelIndex | None = None
    ) -> None:
        self.data = data
        self.offsets = offsets
        self._lookup = lookup
        if offsets is not None and (offsets[0] != 0 or offsets[-1] != len(data)):
            raise TensorError(
                f"labels are damaged: their offsets run from {offsets[0]} to {offsets[-1]} of {len(data)}"
            )
        if lookup is not None and not len(lookup.keys) == len(lookup.rows) == len(self):
            raise TensorError(
                f"the index of ids is damaged: it has {len(lookup.keys)} keys and {len(lookup.rows)} rows "
                f"for {len(self)} ids"
            )

    def __len__(self) -> int:
        return len(self.data) if self.offsets is None else len(self.offsets) - 1

    @property
    def lookup(self) -> LabelIndex:
        """The index by which they are found: the one that was given, or one that is made when it is first needed."""
        if self._lookup is None:
            self._lookup = LabelIndex.of(self)
        return self._lookup

    @overload
    def __getitem__(self, i: int) -> DocumentId: ...
    @overload
    def __getitem__(self, i: slice) -> list[DocumentId]: ...
    def __getitem__(self, i: int | slice) -> DocumentId | list[DocumentId]:
        if isinstance(i, slice):
            rows = range(*i.indices(len(self)))
            if rows.step != 1:
                return [self[j] for j in rows]
            if self.offsets is None:
                return cast(list[DocumentId], self.data[i].tolist())
            try:
                return cast(list[DocumentId], _core.unpack(self.data, self.offsets[rows.start : rows.stop + 1]))
            except ValueError as error:
                raise TensorError(f"ids are damaged: {error!s:.100}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} ids, and none at {i}")
        i = int(i) % len(self)
        return int(self.data[i]) if self.offsets is None else self._text(i)

    def _text(self, i: int) -> str:
        assert self.offsets is not None
        begin, end = self.offsets.item(i), self.offsets.item(i + 1)
        if not 0 <= begin <= end <= len(self.data):
            raise TensorError("ids are damaged: their offsets are out of order")
        try:
            return str(self.data[begin:end].data, "utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise TensorError(f"ids are damaged: {error!s:.100}") from None

    def keys(self) -> NDArray[Any]:
        """What an index has them by."""
        if self.offsets is None:
            return self.data
        try:
            keys: NDArray[Any] = _core.fnv1a(self.data, self.offsets)
        except ValueError as error:
            raise TensorError(f"labels are damaged: {error!s:.100}") from None
        return keys

    def _bytes(self, i: int) -> bytes:
        assert self.offsets is not None
        return bytes(self.data[self.offsets[i] : self.offsets[i + 1]])

    def __iter__(self) -> Iterator[DocumentId]:
        return (id for i in range(0, len(self), _BLOCK) for id in self[i : i + _BLOCK])

    def tolist(self) -> list[DocumentId]:
        """All ids as Python's own."""
        return self[:]

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """The row of an id, among those of a range; a ValueError if there is none."""
        row = self._row(value)
        if row is None or row not in range(*slice(start, stop).indices(len(self))):
            raise ValueError(f"there is no id {value!r}")
        return row

    def __contains__(self, value: object) -> bool:
        return self._row(value) is not None

    def _row(self, value: Any) -> int | None:
        """The row of an id: the last one, if there are several."""
        return self._row_of_integer(value) if self.offsets is None else self._row_of_string(value)

    def _row_of_integer(self, value: Any) -> int | None:
        if not isinstance(value, (int, np.integer)) or not -(1 << 63) <= value < 1 << 63:
            return None
        return next((row for row in self._checked(self.lookup.among(np.int64(value))) if self[row] == value), None)

    def _row_of_string(self, value: Any) -> int | None:
        if not isinstance(value, str):
            return None
        text = value.encode("utf-8", "surrogatepass")
        (key,) = _core.fnv1a(np.frombuffer(text, dtype=np.uint8), np.array([0, len(text)], dtype=np.int64))
        return next((row for row in self._checked(self.lookup.among(key)) if self._bytes(row) == text), None)

    def rows_of(self, wanted: Labels) -> NDArray[np.int64]:
        """For each of some ids its row, the last one if there are several; -1 where there is none."""
        if not len(wanted) or (self.offsets is None) != (wanted.offsets is None):
            return np.full(len(wanted), -1, dtype=np.int64)
        rows = self.lookup.last(wanted.keys())
        if len(self) <= rows.max() or rows.min() < -1:
            raise TensorError(f"the index of ids is damaged: it leads to rows that are none of {len(self)}")
        for first in range(0, len(rows), _BLOCK):
            places = first + np.flatnonzero(rows[first : first + _BLOCK] >= 0)
            for place in places[~self._are(rows[places], wanted, places)].tolist():  # whose hashes are equal
                row = self._row(wanted[place])
                rows[place] = -1 if row is None else row
        return rows

    def _are(self, rows: NDArray[np.int64], others: Labels, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the ids in some rows are those that others have in some places."""
        if self.offsets is None:
            same: NDArray[np.bool_] = self.data[rows] == others.data[places]
            return same
        (begin, end), (first, last) = self._spans(rows), others._spans(places)
        same = end - begin == last - first
        lengths = (end - begin)[same]
        which = np.repeat(np.arange(len(lengths)), lengths)
        within = np.arange(len(which)) - (np.cumsum(lengths) - lengths)[which]
        differ = self.data[begin[same][which] + within] != others.data[first[same][which] + within]
        same[np.flatnonzero(same)[np.unique(which[differ])]] = False
        return same

    def _spans(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the bytes of some ids begin and end."""
        assert self.offsets is not None
        begin, end = self.offsets[rows], self.offsets[rows + 1]
        if ((begin < 0) | (end < begin) | (end > len(self.data))).any():
            raise TensorError("labels are damaged: their offsets do not ascend")
        return begin, end

    def _checked(self, rows: Iterator[int]) -> Iterator[int]:
        for row in rows:
            if not 0 <= row < len(self):
                raise TensorError(f"the index of ids is damaged: it leads to row {row} of {len(self)}")
            yield row

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self[:3]))
        return f"<Labels of {len(self):,}: [{shown}{', ...' if len(self) > 3 else ''}]>"


def _same(x: object, y: object) -> bool:
    return x == y


def packed(name: str, labels: Sequence[DocumentId]) -> dict[str, NDArray[Any]]:
    """Labels as arrays for a file: integers as they are; strings end to end in UTF-8, with offsets."""
    if isinstance(labels, Labels):
        text, ends = labels.data, labels.offsets
        return {name: text} if ends is None else {name: text, f"{name}_offsets": ends}
    if isinstance(labels, range):
        return {name: np.arange(labels.start, labels.stop, labels.step, dtype=np.int64)}
    kinds = {type(label) for label in labels}
    if len(kinds) > 1:
        raise ValueError(f"{name} are strings and integers mixed, which a folder cannot hold; use one kind")
    if kinds == {int}:
        try:
            return {name: np.array(labels, dtype=np.int64)}
        except OverflowError:
            raise ValueError(f"{name} have an integer that does not fit 64 bits; use strings") from None
    encoded = [str(label).encode("utf-8", "surrogatepass") for label in labels]
    ends = np.concatenate([[0], np.cumsum([len(each) for each in encoded], dtype=np.int64)])
    return {name: np.frombuffer(b"".join(encoded), dtype=np.uint8), f"{name}_offsets": ends}


def as_labels(ids: Sequence[DocumentId]) -> Labels:
    """Ids in arrays."""
    if isinstance(ids, Labels):
        return ids
    arrays = packed("ids", ids)
    return Labels(arrays["ids"], arrays.get("ids_offsets"))


class LabelCollector:
    """Takes ids in, block by block: all integers or all strings, all different."""

    def __init__(self) -> None:
        self._integers = array("q")
        self._text = bytearray()
        self._ends = array("q", [0])
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self._integers) + len(self._hashes)

    def add(self, ids: Sequence[DocumentId], place: Callable[[int], str]) -> None:
        """Takes some more in; `place` says where the document of an id is."""
        for i, id in enumerate(ids):
            if isinstance(id, str):
                self._text += id.encode("utf-8", "surrogatepass")
                self._ends.append(len(self._text))
                self._hashes.append(hash(id))
            else:
                try:
                    self._integers.append(id)
                except OverflowError:
                    raise ValueError(f"the id {id} ({place(i)}) does not fit 64 bits; use strings") from None
            if self._integers and self._hashes:
                raise ValueError(
                    f"the id {id!r} ({place(i)}) is {'a string' if isinstance(id, str) else 'an integer'}, and earlier "
                    f"ids are not; use strings only or integers only"
                )

    def labels(self) -> Labels:
        """All ids, if no two are the same."""
        if self._integers:
            found = Labels(np.frombuffer(self._integers, dtype=np.int64))
            numbers = found.data
        else:
            data = np.frombuffer(bytes(self._text), dtype=np.uint8)
            found = Labels(data, np.frombuffer(self._ends, dtype=np.int64))
            numbers = np.frombuffer(self._hashes, dtype=np.int64)
        _refuse_duplicates(found, numbers)
        return found


def _refuse_duplicates(labels: Labels, numbers: NDArray[np.int64]) -> None:
    """Different numbers mean different ids; equal ones are looked at."""
    order = np.argsort(numbers, kind="stable")
    again = np.flatnonzero(numbers[order[1:]] == numbers[order[:-1]])
    if not len(again):
        return
    first: dict[DocumentId, int] = {}
    twice: list[tuple[DocumentId, int, int]] = []
    for row in sorted(set(order[again].tolist()) | set(order[again + 1].tolist())):
        if first.setdefault(labels[row], row) != row:
            twice.append((labels[row], first[labels[row]], row))
    if twice:
        named = ", ".join(f"{id!r} (documents {a + 1} and {b + 1})" for id, a, b in twice[:3])
        raise ValueError(
            f"ids must differ, but {len(twice)} {'is' if len(twice) == 1 else 'are'} given again: {named}"
            f"{' and so on' if len(twice) > 3 else ''}"
        )
