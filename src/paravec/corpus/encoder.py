"""Documents to token ids: reading, counting and encoding, in blocks and on several threads.

The text is read once. While it is, every new word gets a provisional number, and the numbers go to a spool, in memory
or on disk; when all words are counted, a second, quick pass over the spool gives the final ids, and so do further ones
for n-grams. Nothing that comes out depends on the number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.arguments import DocumentId
from paravec.corpus.data import Corpus, EncodedCorpus
from paravec.corpus.documents import Reader, as_source
from paravec.corpus.labels import LabelCollector
from paravec.errors import ForgottenWordsWarning, ReplacedBytesWarning
from paravec.settings import Encoding, threads
from paravec.sources import Source
from paravec.sources.block import Notes
from paravec.vocab import GivenVocabulary, Vocabulary

Chunk = tuple[NDArray[np.int32], NDArray[np.int64]]  # tokens and offsets of some documents
Tell = Callable[[str, int, "int | None", str], None]  # a stage's name, how much is done, of how much, in what unit

_NGRAMS_A_WORD = 4  # different n-grams held while counting, for each of `max_unique` words


class Spool(Protocol):
    """Where provisional numbers wait."""

    n_documents: int
    n_tokens: int

    def add(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """Takes some documents in."""
        ...

    def __iter__(self) -> Iterator[Chunk]: ...


class MemorySpool:
    """A spool for what fits."""

    def __init__(self) -> None:
        self.n_documents = 0
        self.n_tokens = 0
        self._chunks: list[Chunk] = []

    def add(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """See :class:`Spool`."""
        self.n_documents += len(offsets) - 1
        self.n_tokens += len(tokens)
        self._chunks.append((tokens, offsets))

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self._chunks)


def learn(documents: Any, encoding: Encoding) -> tuple[Vocabulary, Corpus]:
    """The vocabulary of some documents, and the documents in its ids: one pass over the input."""
    encoder = Encoder(encoding, MemorySpool())
    encoder.read(as_source(documents))
    vocabulary = encoder.vocabulary()
    return vocabulary, joined(encoder.encoded(), threads(encoding.n_jobs))


def encode(documents: Any, vocabulary: Vocabulary, encoding: Encoding) -> Corpus:
    """Documents in the ids of a vocabulary; unknown words are left out."""
    chunks = (chunk for chunk, _ in encode_blocks(as_source(documents), vocabulary, encoding))
    return joined(chunks, threads(encoding.n_jobs))


def encode_blocks(
    source: Source, vocabulary: Vocabulary, encoding: Encoding
) -> Iterator[tuple[Chunk, list[str | int] | None]]:
    """The documents of a source block by block, with their ids if they have any."""
    reader = Reader(encoding.tokenizer)
    replaced = Notes()
    for block in source.blocks():
        documents = reader.documents(block)
        reader.check_kind(type(vocabulary.words[0]))
        replaced.add(block.replaced, block.first_replaced)
        words, offsets = vocabulary.lexicon.encode(documents, *_splitting(encoding), threads(encoding.n_jobs))
        yield vocabulary.ngram_table.attach(words, offsets, encoding.ngrams, threads(encoding.n_jobs)), block.ids
    _warn_of_replaced(replaced, source.name)


def in_ids_of(corpus: EncodedCorpus, vocabulary: Vocabulary, encoding: Encoding) -> Corpus:
    """A corpus in the ids of another vocabulary than its own; words that are not in both are left out."""
    if corpus.vocabulary.same_as(vocabulary):
        return corpus.documents
    if type(corpus.vocabulary.words[0]) is not type(vocabulary.words[0]):
        kinds = type(vocabulary.words[0]).__name__, type(corpus.vocabulary.words[0]).__name__
        raise TypeError(f"the model's tokens are {kinds[0]}, but those of the corpus are {kinds[1]}")
    known = corpus.vocabulary.words
    ids = np.array([vocabulary.index.get(word, -1) for word in known], dtype=np.int32)
    words, n_threads = corpus.documents.words_only(corpus.vocabulary), threads(encoding.n_jobs)
    renumbered = _core.renumber(words.tokens, ids, n_threads)
    return Corpus(*vocabulary.ngram_table.attach(renumbered, words.offsets, encoding.ngrams, n_threads))


def joined(chunks: Iterable[Chunk], n_threads: int) -> Corpus:
    """One corpus of all chunks."""
    tokens, ends, total = [], [np.zeros(1, dtype=np.int64)], 0
    for part, offsets in chunks:
        tokens.append(part)
        ends.append(offsets[1:] + total)
        total += len(part)
    whole = tokens[0] if len(tokens) == 1 else _core.join(tokens, n_threads)
    return Corpus(whole, np.concatenate(ends))


class Encoder:
    """Reads a source, learns its vocabulary (or counts a given one), and gives the documents in its ids."""

    def __init__(
        self,
        encoding: Encoding,
        spool: Spool,
        given: GivenVocabulary | None = None,
        tell: Tell | None = None,
        ids: list[DocumentId] | None = None,
    ) -> None:
        self._encoding = encoding
        self._spool = spool
        self._given = given
        self._tell = tell or (lambda stage, done, total, unit: None)
        self._threads = threads(encoding.n_jobs)
        self._reader = Reader(encoding.tokenizer)
        self._labels = LabelCollector()
        self._given_ids = ids
        self._first_number = 0
        self._indexer = _core.Indexer(*_splitting(encoding), self._threads, encoding.max_unique)
        self._forgotten = _Forgotten("words", encoding.max_unique, encoding)
        self._ids = np.zeros(0, dtype=np.int32)  # of provisional numbers
        self._vocabulary: Vocabulary | None = None

    def read(self, source: Source) -> None:
        """Reads all documents, and counts their words."""
        replaced = Notes()
        self._first_number = source.numbered_from
        for block in source.blocks():
            documents = self._reader.documents(block)
            if self._given is None:
                self._spool.add(*self._indexer.add(documents))
                self._forgotten.announce(self._indexer.pruned)
            else:
                self._reader.check_kind(type(self._given.words[0]))
                self._spool.add(*self._given.lexicon.encode(documents, *_splitting(self._encoding), self._threads))
            if block.ids is not None:
                self._labels.add(block.ids, block.place)
            replaced.add(block.replaced, block.first_replaced)
            self._tell("reading", block.done, source.total, source.unit)
        _warn_of_replaced(replaced, source.name)
        if not self._spool.n_documents:
            raise ValueError(f"the corpus is empty: {source.name} holds no document; give at least one")
        if not self._spool.n_tokens:
            raise ValueError(
                f"none of the {self._spool.n_documents} documents has a token; is the text empty, or the tokenizer "
                f"wrong?"
            )

    def ids(self) -> Sequence[DocumentId]:
        """The ids of the documents, all different; their numbers if the source has none."""
        n_documents = self._spool.n_documents
        if self._given_ids is None:
            numbers = range(self._first_number, self._first_number + n_documents)
            return self._labels.labels() if len(self._labels) else numbers
        if len(self._labels):
            raise ValueError("ids are given, but the source has ids of its own; leave one of them out")
        if len(self._given_ids) != n_documents:
            raise ValueError(
                f"there are {n_documents} documents, but {len(self._given_ids)} ids; give one id a document"
            )
        return self._given_ids

    def vocabulary(self) -> Vocabulary:
        """The words and n-grams of all that was read."""
        vocabulary = self._learned_words() if self._given is None else self._given_words(self._given)
        if self._encoding.ngrams > 1 and not len(vocabulary.prefix):
            vocabulary = self._with_ngrams(vocabulary)
        self._vocabulary = vocabulary
        return vocabulary

    def encoded(self) -> Iterator[Chunk]:
        """All documents in the ids of the vocabulary."""
        assert self._vocabulary is not None
        done = 0
        for tokens, offsets in self._spool:
            if len(self._vocabulary.prefix):
                words = _core.renumber(tokens, self._ids, self._threads)
                yield self._vocabulary.ngram_table.attach(words, offsets, self._encoding.ngrams, self._threads)
            else:
                yield _core.select(tokens, offsets, self._ids, self._threads)
            done += len(offsets) - 1
            self._tell("encoding", done, self._spool.n_documents, "documents")

    def _learned_words(self) -> Vocabulary:
        settings, integers = self._encoding, self._reader.kind is int
        words, counts, self._ids = self._indexer.most_frequent(
            settings.min_count, settings.max_vocab or 2**31 - 1, integers
        )
        self._forgotten.tell(self._indexer.pruned)
        if not words:
            self._refuse_rare_words(integers)
        if len(words) == 1:
            raise ValueError(
                f"only one word, {words[0]!r}, occurs min_count={settings.min_count} times, so there is nothing to "
                f"predict; {self._more_words()}"
            )
        return Vocabulary.of_words(words, counts)

    def _refuse_rare_words(self, integers: bool) -> NoReturn:
        tops, counts, _ = self._indexer.most_frequent(1, 1, integers)
        if not tops:
            raise ValueError(
                f"all words were forgotten on the way: there are more than max_unique={self._encoding.max_unique}, and "
                f"none is more frequent than the others; raise max_unique"
            )
        raise ValueError(
            f"no word occurs min_count={self._encoding.min_count} times (the most frequent, {tops[0]!r}, {counts[0]} "
            f"times in {self._spool.n_documents} documents); {self._more_words()}"
        )

    def _more_words(self) -> str:
        """What a user can do who has too few words."""
        forgotten = self._indexer.pruned[0] > 0
        return "raise max_unique, or lower min_count" if forgotten else "lower min_count, or give more text"

    def _given_words(self, given: GivenVocabulary) -> Vocabulary:
        if given.vocabulary is not None:
            self._ids = np.arange(len(given.words), dtype=np.int32)
            return given.vocabulary
        counts = np.zeros(len(given.words), dtype=np.int64)
        for tokens, _ in self._spool:
            counts += np.bincount(tokens[tokens >= 0], minlength=len(counts))
        if not counts.any():
            raise ValueError(
                f"none of the {len(counts)} words of the given vocabulary occurs in the corpus; are they spelt alike "
                f"(lower case, say)?"
            )
        vocabulary, self._ids = given.counted(counts)
        return vocabulary

    def _with_ngrams(self, words: Vocabulary) -> Vocabulary:
        def tell(n: int, done: int) -> None:
            self._tell(f"counting {n}-grams", done, self._spool.n_documents, "documents")

        chunks = _Renumbered(self._spool, self._ids, self._threads)
        return words.with_ngrams(*ngrams_of(chunks, len(words.words), self._encoding, tell))


class _Renumbered:
    """The chunks of a spool in final ids, which may be gone through again and again."""

    def __init__(self, spool: Spool, ids: NDArray[np.int32], n_threads: int) -> None:
        self._spool, self._ids, self._threads = spool, ids, n_threads

    def __iter__(self) -> Iterator[Chunk]:
        return ((_core.renumber(tokens, self._ids, self._threads), offsets) for tokens, offsets in self._spool)


def ngrams_of(
    chunks: Iterable[Chunk],
    n_words: int,
    encoding: Encoding,
    tell: Callable[[int, int], None] = lambda n, done: None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The n-grams of documents that occur often enough, as keys (see `Vocabulary.with_ngrams`), and their counts."""
    limit = encoding.max_unique * _NGRAMS_A_WORD
    counter = _core.NgramCounter(n_words, threads(encoding.n_jobs), limit)
    forgotten = _Forgotten("n-grams", limit, encoding)
    found = []
    for n in range(2, encoding.ngrams + 1):
        done = 0
        for tokens, offsets in chunks:
            counter.add(tokens, offsets)
            forgotten.announce(counter.pruned)
            done += len(offsets) - 1
            tell(n, done)
        found.append(counter.close(encoding.ngram_floor))
    forgotten.tell(counter.pruned)
    keys, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return keys, counts


def _warn_of_replaced(notes: Notes, name: str) -> None:
    taken = notes.take()
    if taken["replaced"]:
        warnings.warn(
            f"{taken['replaced']} byte sequences of {name} are not UTF-8 and were replaced by U+FFFD (the first: "
            f"{taken['first_replaced']}); give its encoding, or errors='strict' to refuse them",
            ReplacedBytesWarning,
            stacklevel=3,
        )


def _splitting(encoding: Encoding) -> tuple[str, bool, bool]:
    """How the core splits text; with a tokenizer of one's own it gets none."""
    tokenizer = encoding.tokenizer if isinstance(encoding.tokenizer, str) else "whitespace"
    return tokenizer, encoding.lowers, encoding.strip_tags


class _Forgotten:
    """Announces that words (or n-grams) are forgotten when it begins, and how many it were when all is counted."""

    def __init__(self, what: str, limit: int, settings: Encoding) -> None:
        self._what, self._limit, self._max_unique = what, limit, settings.max_unique
        self._announced = False

    def announce(self, pruned: tuple[int, int, int]) -> None:
        if pruned[0] and not self._announced:
            self._announced = True
            self._warn(
                f"there are more than {self._limit:,} different {self._what}: the rarest are forgotten from here on; "
                f"raise max_unique={self._max_unique} if there is memory"
            )

    def tell(self, pruned: tuple[int, int, int]) -> None:
        times, words, lost = pruned
        if times:
            self._warn(
                f"{words:,} {self._what} were forgotten on the way, in {times} {'turn' if times == 1 else 'turns'}, so "
                f"a count may be too low by up to {lost}"
            )

    def _warn(self, message: str) -> None:
        warnings.warn(message, ForgottenWordsWarning, stacklevel=4)
