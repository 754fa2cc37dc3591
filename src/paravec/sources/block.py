"""Some documents at a time: what every kind of source gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId
from paravec.errors import SourceError

BLOCK_BYTES = 16 << 20  # text of a block, but for a single document that is longer
BLOCK_DOCUMENTS = 4096  # documents of a block that is a list
BLOCK_ROWS = 10_000  # rows of a table that are read at once


@dataclass(frozen=True, eq=False)
class StringColumn:
    """Texts end to end: text `i` is ``data[offsets[i]:offsets[i + 1]]``, in UTF-8."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> bytes:
        return self.data[self.offsets[i] : self.offsets[i + 1]].tobytes()

    def slice(self, start: int, stop: int) -> StringColumn:
        """Some consecutive texts, without a copy of them."""
        offsets = self.offsets[start : stop + 1]
        return StringColumn(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])

    def parts(self) -> Iterator[tuple[int, int]]:
        """(start, stop) of runs of texts that are short enough for a block."""
        start = 0
        while start < len(self):
            end = np.searchsorted(self.offsets, self.offsets[start] + BLOCK_BYTES, side="right") - 1
            stop = max(int(end), start + 1)
            yield start, stop
            start = stop


Document = str | bytes | Sequence[str | int]


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive documents of a source.

    As `bytes` they are whole lines of UTF-8, a document a line; the last line of a file may lack its newline.
    """

    documents: bytes | list[Document] | StringColumn
    ids: list[DocumentId] | None  # None: numbered consecutively
    place: Callable[[int], str]  # where document i of this block is, for messages
    done: int  # progress after this block, in the source's unit
    replaced: int = 0  # invalid byte sequences that became U+FFFD
    first_replaced: str = ""  # where the first of them was

    def texts(self) -> Iterator[str | list[str | int]]:
        """The documents one by one, decoded."""
        documents: Any = self.documents
        if isinstance(documents, bytes):
            documents = documents.removesuffix(b"\n").split(b"\n")
        for i in range(len(documents)):
            document = documents[i]
            if isinstance(document, str):
                yield document
            else:
                yield document.decode() if isinstance(document, bytes) else list(document)


class Source:
    """Documents that can be read block by block, again from the start each time.

    `total` is how much there is to read, in `unit`: the bytes of files as they lie on disk, or documents; None if
    that is not known. Documents without ids are numbered from `numbered_from`.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Iterator[Block]],
        *,
        total: int | None,
        unit: Literal["bytes", "documents"],
        once: bool = False,
    ) -> None:
        self.name = name
        self.total = total
        self.unit = unit
        self.numbered_from = 1 if unit == "bytes" else 0
        self._make = make
        self._once = once
        self._begun = False

    def blocks(self) -> Iterator[Block]:
        """The documents, some at a time."""
        if self._once and self._begun:
            raise SourceError(f"{self.name} can be read only once, and has been; give a list or a file to read again")
        self._begun = True
        # Files are read while the block before is worked on; what a user made, and a pipe, is waited for.
        return _ahead(self._make()) if self.unit == "bytes" and not self._once else self._make()

    def __iter__(self) -> Iterator[tuple[DocumentId, str | list[str | int]]]:
        number = self.numbered_from
        for block in self.blocks():
            for i, text in enumerate(block.texts()):
                yield (number if block.ids is None else block.ids[i]), text
                number += 1

    def __repr__(self) -> str:
        return f"<Source {self.name}>"


def _ahead(blocks: Iterator[Block]) -> Iterator[Block]:
    """The same blocks, of which the next is made by another thread while one is worked on."""
    with ThreadPoolExecutor(1, thread_name_prefix="paravec-reader") as reader, closing(blocks):  # type: ignore[type-var]
        coming = reader.submit(next, blocks, None)
        try:
            while block := coming.result():
                coming = reader.submit(next, blocks, None)
                yield block
        finally:
            wait([coming])  # a generator cannot be closed while it runs
            del coming  # whose error would hold this frame, and so the files, until they are collected


class Notes:
    """How many invalid byte sequences were replaced, and where the first was, since the notes were last taken."""

    def __init__(self) -> None:
        self._replaced, self._first = 0, ""

    def add(self, replaced: int, first_replaced: str) -> None:
        """Notes some more."""
        self._first = self._first or first_replaced
        self._replaced += replaced

    def take(self) -> dict[str, Any]:
        """What was noted, as fields of a block."""
        taken = {"replaced": self._replaced, "first_replaced": self._first}
        self._replaced, self._first = 0, ""
        return taken


class Gathering:
    """Documents on their way into a block that is a list."""

    def __init__(self, describe: Callable[[Any], str]) -> None:
        self.notes = Notes()
        self._describe = describe
        self._empty()

    def _empty(self) -> None:
        self._documents: list[Document] = []
        self._ids: list[DocumentId] = []
        self._places: list[Any] = []
        self._size = 0

    def __len__(self) -> int:
        return len(self._documents)

    def add(self, document: Document, id: DocumentId | None, place: Any) -> None:
        """Takes a document in; either all documents have an id, or none."""
        self._documents.append(document)
        if id is not None:
            self._ids.append(id)
        self._places.append(place)
        self._size += len(document)

    @property
    def is_full(self) -> bool:
        """Whether it is time for a block."""
        return len(self) >= BLOCK_DOCUMENTS or self._size >= BLOCK_BYTES

    def block(self, done: int) -> Block:
        """A block of all documents taken in since the last one."""
        places, describe = self._places, self._describe
        made = Block(self._documents, self._ids or None, lambda i: describe(places[i]), done, **self.notes.take())
        self._empty()
        return made


def counted(name: str, noun: str, first: int) -> Callable[[int], str]:
    """Places by number: "reviews.txt, line 17" or, of something without a name, "document 5"."""
    return lambda i: f"{name}, {noun} {first + i}" if name else f"{noun} {first + i}"
