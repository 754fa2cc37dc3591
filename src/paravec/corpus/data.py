"""Documents as one flat stream of token ids with offsets."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.arguments import DocumentId
from paravec.settings import Encoding
from paravec.text import Token
from paravec.vocab import Vocabulary


@dataclass(frozen=True)
class Corpus:
    """Document `i` is ``tokens[offsets[i]:offsets[i + 1]]``."""

    tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> NDArray[np.int32]:
        return self.tokens[self.offsets[i] : self.offsets[i + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of tokens of each document."""
        return np.diff(self.offsets)

    def taking(self, rows: NDArray[np.int64]) -> Corpus:
        """A copy of some of the documents."""
        lengths = self.lengths[rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Corpus(self.tokens[places], offsets)

    def between(self, first: int, end: int) -> Corpus:
        """The documents from `first` to `end`, not copied."""
        offsets = self.offsets[first : end + 1]
        return Corpus(self.tokens[offsets[0] : offsets[-1]], offsets - offsets[0])

    def words_only(self, vocabulary: Vocabulary) -> Corpus:
        """The same documents without their n-grams."""
        if vocabulary.size == len(vocabulary.words):
            return self
        ids = np.arange(vocabulary.size, dtype=np.int32)
        ids[len(vocabulary.words) :] = -1
        return Corpus(*_core.select(self.tokens, self.offsets, ids, 1))


@dataclass(frozen=True)
class CorpusFacts:
    """What is remembered of a corpus by the models that were fitted to it."""

    n_documents: int
    n_tokens: int
    crc32: str  # of its tokens, where documents end, and its vocabulary

    @staticmethod
    def of(told: Any) -> CorpusFacts:
        """From a file, which may be damaged."""
        if not isinstance(told, dict) or told.keys() != {each.name for each in fields(CorpusFacts)}:
            raise ValueError("it does not tell the corpus")
        for name, least in (("n_documents", 1), ("n_tokens", 0)):
            if type(told[name]) is not int or not least <= told[name] < 2**63:
                raise ValueError(f"{name} is {told[name]!r:.40}")
        if not isinstance(told["crc32"], str):
            raise ValueError(f"the checksum of the corpus is {told['crc32']!r:.40}")
        return CorpusFacts(**told)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedCorpus:
    """Documents in the ids of their vocabulary: what :func:`paravec.encode` makes, in memory or in a folder.

    It can be fitted as often as one likes, and be kept (`save`) and opened again (`open`).
    """

    documents: Corpus
    vocabulary: Vocabulary
    ids: Sequence[DocumentId]
    encoding: Encoding
    path: Path | None = None  # the folder it is mapped from

    def __len__(self) -> int:
        return len(self.documents)

    def __repr__(self) -> str:
        where = f" at {self.path}" if self.path else ""
        tokens, size = len(self.documents.tokens), self.vocabulary.size
        return f"<EncodedCorpus{where}: {len(self):,} documents, {tokens:,} tokens, vocabulary {size:,}>"

    def words(self, i: int) -> list[Token]:
        """The words of document `i` that the vocabulary knows."""
        if not -len(self) <= i < len(self):
            raise IndexError(f"there are {len(self)} documents, and none at {i}")
        known = self.vocabulary.words
        return [known[token] for token in self.documents[i % len(self)].tolist() if token < len(known)]

    def facts(self) -> CorpusFacts:
        """What this corpus can be told from others by, whether it is mapped or in memory."""
        known = self.vocabulary
        words = "\0".join(map(repr, known.words)).encode()
        crc = zlib.crc32(words)
        for array in (self.documents.tokens, self.documents.offsets, known.counts, known.prefix, known.last):
            crc = zlib.crc32(np.ascontiguousarray(array).data, crc)
        return CorpusFacts(len(self), len(self.documents.tokens), f"{crc:08x}")

    def save(self, path: str | Path) -> None:
        """Writes the corpus to a folder."""
        from paravec.corpus.folder import save

        save(self, path)

    @staticmethod
    def open(path: str | Path) -> EncodedCorpus:
        """Maps a folder written by `save`, :func:`paravec.encode` or ``paravec encode``, after checking it."""
        from paravec.corpus.folder import open_corpus

        return open_corpus(path)
