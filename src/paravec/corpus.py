"""Documents to one flat stream of token ids with offsets."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.settings import Settings
from paravec.text import TOKENIZERS, Token, Tokenizer
from paravec.vocab import Vocabulary, pair_keys, sort_words


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

    def where(self, keep: NDArray[np.bool_]) -> Corpus:
        """The same documents without some of their tokens."""
        before = np.concatenate([[0], np.cumsum(keep, dtype=np.int64)])
        return Corpus(self.tokens[keep], before[self.offsets])

    def words_only(self, vocabulary: Vocabulary) -> Corpus:
        """The same documents without their n-grams."""
        if vocabulary.size == len(vocabulary.words):
            return self
        return self.where(self.tokens < len(vocabulary.words))


def learn(documents: Iterable[object], settings: Settings) -> tuple[Vocabulary, Corpus]:
    """The vocabulary of some documents, and the documents in its ids: one pass over the input."""
    seen: dict[Token, int] = {}
    stream = _read(documents, settings.tokenizer, lambda tokens: [seen.setdefault(t, len(seen)) for t in tokens])
    if not len(stream):
        raise ValueError("the corpus is empty: it holds no document; give at least one")
    if not len(stream.tokens):
        raise ValueError(f"none of the {len(stream)} documents has a token; is the text empty, or the tokenizer wrong?")
    names = list(seen)
    counts = np.bincount(stream.tokens, minlength=len(names))
    kept = sort_words(names, counts, settings.min_count, settings.max_vocab)
    if not len(kept):
        raise ValueError(
            f"no word occurs min_count={settings.min_count} times (the most frequent, {names[int(counts.argmax())]!r}, "
            f"{counts.max()} times in {len(stream)} documents); lower min_count"
        )
    if len(kept) == 1:
        raise ValueError(
            f"only one word, {names[int(kept[0])]!r}, occurs min_count={settings.min_count} times, "
            f"so there is nothing to predict; lower min_count, or give more text"
        )
    ids = np.full(len(names), -1, dtype=np.int32)
    ids[kept] = np.arange(len(kept), dtype=np.int32)
    words = Corpus(ids[stream.tokens], stream.offsets)
    prefix, last, ngram_counts = _count_ngrams(words, len(kept), settings)
    vocabulary = Vocabulary(tuple(names[i] for i in kept), np.concatenate([counts[kept], ngram_counts]), prefix, last)
    return vocabulary, _with_ngrams(words, vocabulary, settings.ngrams)


def encode(documents: Iterable[object], vocabulary: Vocabulary, settings: Settings) -> Corpus:
    """Documents in the ids of a vocabulary; unknown words are left out."""
    index = vocabulary.index
    kind = type(vocabulary.words[0])

    def look_up(tokens: Sequence[Token]) -> list[int]:
        if tokens and not isinstance(tokens[0], kind):
            raise TypeError(
                f"the model's tokens are {kind.__name__}, but a document has the {type(tokens[0]).__name__} "
                f"{tokens[0]!r}; give documents as in fit"
            )
        return [index.get(token, -1) for token in tokens]

    return _with_ngrams(_read(documents, settings.tokenizer, look_up), vocabulary, settings.ngrams)


class _Reader:
    """Documents to lists of tokens of one kind, with errors that name the document."""

    def __init__(self, tokenizer: str | Tokenizer) -> None:
        self.tokenize = TOKENIZERS[tokenizer] if isinstance(tokenizer, str) else tokenizer
        self.kind: type | None = None
        self.text: bool | None = None

    def tokens(self, i: int, document: object) -> Sequence[Token]:
        """The tokens of document `i`."""
        is_text = isinstance(document, str)
        if document is None or isinstance(document, float) or type(document).__name__ == "NAType":
            raise TypeError(f"document {i} is missing ({document!r}); fill it or drop it")
        if self.text is None:
            self.text = is_text
        elif self.text != is_text:
            raise TypeError(
                f"document {i} is {_what(document)}, but document 0 is "
                f"{'a string' if self.text else 'a list of tokens'}; give all documents as strings, "
                f"or all as lists of tokens"
            )
        tokens: Any = self.tokenize(document) if isinstance(document, str) else document
        if isinstance(tokens, np.ndarray) and tokens.ndim == 1:
            tokens = tokens.tolist()
        elif hasattr(tokens, "to_list"):  # a column of lists in polars gives each list as a Series
            tokens = tokens.to_list()
        elif is_text and not isinstance(tokens, (str, Sequence)) and isinstance(tokens, Iterable):
            tokens = list(tokens)
        if not isinstance(tokens, Sequence) or isinstance(tokens, (str, bytes)):
            if is_text:
                raise TypeError(f"the tokenizer made {_what(tokens)} of document {i}; it is to make a list of tokens")
            raise TypeError(f"document {i} is {_what(document)}; a document is a string or a list of tokens")
        return self._plain(i, tokens)

    def _plain(self, i: int, tokens: Sequence[Any]) -> Sequence[Token]:
        """All tokens of all documents are strings, or all are integers; NumPy's and other kinds become plain ones."""
        kinds = dict.fromkeys(map(type, tokens))
        for kind in kinds:
            plain = str if issubclass(kind, str) else int if issubclass(kind, (int, np.integer)) else None
            if plain is None or kind is bool:
                wrong = next(token for token in tokens if type(token) is kind)
                raise TypeError(f"document {i} has the token {wrong!r}, which is neither a string nor an integer")
            if self.kind is None:
                self.kind = plain
            elif self.kind is not plain:
                wrong = next(token for token in tokens if type(token) is kind)
                raise TypeError(
                    f"document {i} has the token {wrong!r} of type {kind.__name__}, but earlier tokens are "
                    f"{self.kind.__name__}; use strings only or integers only"
                )
        return tokens if kinds.keys() <= {str} or kinds.keys() <= {int} else [self.kind(token) for token in tokens]  # type: ignore[misc]


def check_documents(documents: object) -> Iterable[object]:
    """Refuses what cannot be a collection of documents, before anything is read."""
    if isinstance(documents, (str, bytes)):
        raise TypeError(
            f"documents is a single {type(documents).__name__}, {documents[:30]!r}, which would be taken letter by "
            f"letter; give a list of documents: [text]"
        )
    if isinstance(documents, np.ndarray) and documents.ndim != 1:
        raise ValueError(f"documents is an array of shape {documents.shape}; give one column of texts: shape (n,)")
    if hasattr(documents, "columns") or hasattr(documents, "column_names"):
        raise TypeError(f"documents is {_what(documents)}, a table; give one column of it")
    if not isinstance(documents, Iterable):
        raise TypeError(f"documents is {_what(documents)}; give a list of strings or of lists of tokens")
    if type(documents).__module__.startswith("pyarrow"):
        return documents.to_pylist()  # type: ignore[attr-defined, no-any-return]
    return documents


def _what(thing: object) -> str:
    return f"{thing!r}" if thing is None or isinstance(thing, (int, float)) else f"a {type(thing).__name__}"


def _read(documents: Iterable[object], tokenizer: str | Tokenizer, ids: object) -> Corpus:
    reader = _Reader(tokenizer)
    tokens = array("i")
    offsets = array("q", [0])
    for i, document in enumerate(check_documents(documents)):
        tokens.extend(ids(reader.tokens(i, document)))  # type: ignore[operator]
        offsets.append(len(tokens))
    return Corpus(np.array(tokens, dtype=np.int32), np.array(offsets, dtype=np.int64))


def _count_ngrams(
    words: Corpus, n_words: int, settings: Settings
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """(prefix, last, count) of all n-grams that are frequent enough, the most frequent first."""
    first_word = words.offsets[:-1][words.lengths > 0]
    found: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    shorter, n_ids = words.tokens, n_words
    for _ in range(2, settings.ngrams + 1):
        keys = _adjacent(shorter, words.tokens, first_word)
        unique, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
        frequent = (counts >= settings.ngram_floor) & (unique >= 0)
        ids = np.where(frequent, n_ids - 1 + np.cumsum(frequent), -1).astype(np.int32)
        found.append((unique[frequent], counts[frequent]))
        shorter, n_ids = ids[inverse], n_ids + int(frequent.sum())
    if not found:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64)
    keys, counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((keys, -counts))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    prefix = keys >> 32
    of_ngram = prefix >= n_words
    prefix[of_ngram] = n_words + rank[prefix[of_ngram] - n_words]
    last = keys & 0xFFFFFFFF
    return prefix[order].astype(np.int32), last[order].astype(np.int32), counts[order]


def _adjacent(shorter: NDArray[np.int32], words: NDArray[np.int32], first_word: NDArray[np.int64]) -> NDArray[np.int64]:
    """The key of the n-gram that ends at each position; -1 where there is none."""
    before = np.concatenate([[-1], shorter[:-1]]).astype(np.int32)
    before[first_word] = -1
    return np.where((before >= 0) & (words >= 0), pair_keys(before, words), -1)


def _with_ngrams(words: Corpus, vocabulary: Vocabulary, longest: int) -> Corpus:
    """Drops unknown words (-1), and puts behind each word the known n-grams that end there.

    N-grams are formed before words are dropped, so that none spans a gap.
    """
    if longest == 1 or not len(vocabulary.prefix):
        return words.where(words.tokens >= 0)
    keys, ids = vocabulary.ngram_keys
    first_word = words.offsets[:-1][words.lengths > 0]
    levels = [words.tokens]
    for _ in range(2, longest + 1):
        wanted = _adjacent(levels[-1], words.tokens, first_word)
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        levels.append(np.where(keys[place] == wanted, ids[place], -1).astype(np.int32))
    together = Corpus(np.stack(levels, axis=1).reshape(-1), words.offsets * longest)
    return together.where(together.tokens >= 0)
