"""Ids of many documents in little memory, on their way from a source to a file and back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId


class Labels(Sequence[DocumentId]):
    """Ids in arrays, which may be mapped: integers, or UTF-8 end to end with offsets. Equal to a list of the same."""

    def __init__(self, data: NDArray[Any], offsets: NDArray[np.int64] | None = None) -> None:
        self.data = data
        self.offsets = offsets

    def __len__(self) -> int:
        return len(self.data) if self.offsets is None else len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> DocumentId: ...
    @overload
    def __getitem__(self, i: slice) -> list[DocumentId]: ...
    def __getitem__(self, i: int | slice) -> DocumentId | list[DocumentId]:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} ids, and none at {i}")
        i = int(i) % len(self)
        if self.offsets is None:
            return int(self.data[i])
        return bytes(self.data[self.offsets[i] : self.offsets[i + 1]]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[DocumentId]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(_same, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[i]) for i in range(min(3, len(self))))
        return f"<Labels of {len(self):,}: [{shown}{', ...' if len(self) > 3 else ''}]>"


def _same(x: object, y: object) -> bool:
    return x == y


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
