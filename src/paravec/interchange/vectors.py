"""Vectors with names, of documents or words, looked at block by block: they may be mapped, and larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId
from paravec.documents import Documents
from paravec.errors import ModelFormatError, TensorError

_BLOCK = 1 << 20  # numbers of a block


@dataclass(frozen=True)
class Half:
    """The vectors of documents in several segments, as if they were one matrix."""

    documents: Documents
    part: int

    @property
    def shape(self) -> tuple[int, int]:
        """As that of an array."""
        return len(self.documents), self.documents.segments[0].parts[self.part].shape[1]

    def __getitem__(self, some: slice) -> NDArray[np.float32]:
        return self.documents.vectors(self.part, self.documents.rows[some])


@dataclass(frozen=True)
class Vectors:
    """Vectors and what each belongs to: the id of a document, or a word. `parts` are the halves of ``dm+dbow``."""

    what: str  # "id" or "word"
    names: Sequence[DocumentId]
    parts: Sequence[NDArray[np.float32] | Half]
    integers: bool  # are the names, and not strings

    def __len__(self) -> int:
        return len(self.names)

    @property
    def size(self) -> int:
        """The length of a vector."""
        return sum(part.shape[1] for part in self.parts)

    @property
    def rows(self) -> range:
        """The first row of each block."""
        return range(0, len(self), max(1, _BLOCK // self.size))

    def name_blocks(self) -> Iterator[Sequence[DocumentId]]:
        """The names, block by block."""
        for first in self.rows:
            try:
                yield self.names[first : first + self.rows.step]
            except TensorError as error:  # of a file, which is mapped and was not looked at before
                raise ModelFormatError(str(error)) from None

    def vector_blocks(self) -> Iterator[NDArray[np.float32]]:
        """The vectors, block by block, each little-endian and in one piece."""
        for first in self.rows:
            parts = [part[first : first + self.rows.step] for part in self.parts]
            block = np.ascontiguousarray(parts[0] if len(parts) == 1 else np.hstack(parts), dtype="<f4")
            bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
            if len(bad):
                raise ModelFormatError(
                    f"the vector of the {self.what} {self.names[first + int(bad[0])]!r} holds NaN or infinity"
                )
            yield block

    def blocks(self) -> Iterator[tuple[Sequence[DocumentId], NDArray[np.float32]]]:
        """Names and vectors, block by block."""
        return zip(self.name_blocks(), self.vector_blocks(), strict=True)


def of_documents(documents: Documents) -> Vectors:
    """Those of all documents of a model, in place where they lie in one piece."""
    if documents.is_whole:
        return Vectors("id", documents.segments[0].ids, documents.segments[0].parts, documents.has_integer_ids)
    halves = [Half(documents, part) for part in range(documents.n_parts)]
    return Vectors("id", documents.ids, halves, documents.has_integer_ids)
