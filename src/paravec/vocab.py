"""Words and n-grams: their counts, the distribution of noise words, and sub-sampling."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.text import Token

LONGEST_NGRAM = 16


@dataclass(frozen=True)
class Vocabulary:
    """The targets a model knows: words first, then n-grams, each part from the most frequent to the rarest.

    An n-gram is a shorter one (`prefix`, an id) and the word that follows (`last`, an id).
    """

    words: tuple[Token, ...]
    counts: NDArray[np.int64]
    prefix: NDArray[np.int32]
    last: NDArray[np.int32]

    @property
    def size(self) -> int:
        """The number of words and n-grams."""
        return len(self.counts)

    @cached_property
    def index(self) -> dict[Token, int]:
        """The id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def ngram(self, target: int) -> tuple[Token, ...]:
        """The words of a target: one for a word, several for an n-gram."""
        tail: list[Token] = []
        while target >= len(self.words):
            tail.append(self.words[self.last[target - len(self.words)]])
            target = int(self.prefix[target - len(self.words)])
        return (self.words[target], *reversed(tail))

    @cached_property
    def lexicon(self) -> _core.Lexicon:
        """The ids of words, as the core looks them up."""
        return _core.Lexicon(list(self.words))

    @cached_property
    def ngram_table(self) -> _core.NgramTable:
        """The ids of n-grams, as the core looks them up."""
        return _core.NgramTable(self.prefix, self.last, len(self.words))

    def same_as(self, other: Vocabulary) -> bool:
        """Whether every id means the same in both."""
        return self is other or (
            self.words == other.words
            and np.array_equal(self.prefix, other.prefix)
            and np.array_equal(self.last, other.last)
        )

    def check(self) -> None:
        """Refuses what cannot be a vocabulary: one that was read from a file may be damaged."""
        n_words = len(self.words)
        if n_words < 2 or len(set(self.words)) != n_words:
            raise ValueError(f"the vocabulary has {n_words} words, {len(set(self.words))} of them different")
        if len(self.counts) != n_words + len(self.prefix) or len(self.prefix) != len(self.last):
            raise ValueError("the words, n-grams and counts of the vocabulary do not belong together")
        if (self.counts < 1).any() or float(self.counts.sum(dtype=np.float64)) >= 2**62:
            raise ValueError("the vocabulary has counts that are none")
        if len(self.prefix) and not self._leads_to_words():
            raise ValueError("the n-grams of the vocabulary are damaged")

    def _leads_to_words(self) -> bool:
        """Whether every n-gram has a shorter one, and in the end a word, in front of its last word."""
        n_words, ends = len(self.words), self.prefix.copy()
        if self.prefix.min() < 0 or self.prefix.max() >= self.size or self.last.min() < 0 or self.last.max() >= n_words:
            return False
        for _ in range(LONGEST_NGRAM):
            longer = ends >= n_words
            if not longer.any():
                return True
            ends[longer] = self.prefix[ends[longer] - n_words]
        return False

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}  # the tables are made again when needed

    def with_ngrams(self, keys: NDArray[np.int64], counts: NDArray[np.int64]) -> Vocabulary:
        """The words with n-grams: the most frequent first, equals in the order of their keys.

        A key is ``prefix << 32 | last``; a prefix beyond the words is the place of a shorter n-gram among the keys.
        """
        order = np.argsort(-counts, kind="stable")
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        prefix, n_words = keys >> 32, len(self.words)
        longer = prefix >= n_words
        prefix[longer] = n_words + rank[prefix[longer] - n_words]
        last = keys & 0xFFFFFFFF
        return Vocabulary(
            self.words,
            np.concatenate([self.counts, counts[order]]),
            prefix[order].astype(np.int32),
            last[order].astype(np.int32),
        )

    @staticmethod
    def of_words(words: Sequence[Token], counts: NDArray[np.int64]) -> Vocabulary:
        """A vocabulary without n-grams."""
        none = np.zeros(0, dtype=np.int32)
        return Vocabulary(tuple(words), counts, none, none)


class GivenVocabulary:
    """Words that a user chose: a list of words, to be counted; words with their counts; or a whole vocabulary."""

    def __init__(self, given: Any) -> None:
        given = getattr(given, "vocabulary", given)  # of an encoded corpus
        self.vocabulary: Vocabulary | None = given if isinstance(given, Vocabulary) else None
        if isinstance(given, Vocabulary):
            self.words: Sequence[Token] = given.words
            return
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise TypeError(f"vocabulary is a {type(given).__name__}; give a list of words, or a dict of their counts")
        counts = list(given.values()) if isinstance(given, Mapping) else []
        self.words = [word.item() if isinstance(word, np.generic) else word for word in given]
        _check_words(self.words)
        if isinstance(given, Mapping):
            for word, count in zip(self.words, counts, strict=True):
                if isinstance(count, bool) or not isinstance(count, Integral) or not 1 <= int(count) < 2**53:
                    raise ValueError(f"vocabulary gives {word!r} the count {count!r}; a count is an integer >= 1")
            self.vocabulary, _ = self.counted(np.array(counts, dtype=np.int64))
            self.words = self.vocabulary.words

    @cached_property
    def lexicon(self) -> _core.Lexicon:
        """The places of the words."""
        return self.vocabulary.lexicon if self.vocabulary is not None else _core.Lexicon(list(self.words))

    def counted(self, counts: NDArray[np.int64]) -> tuple[Vocabulary, NDArray[np.int32]]:
        """The vocabulary by counts, and the id of each given word. A word that does not occur counts once."""
        order = sorted(range(len(counts)), key=lambda i: (-int(counts[i]), self.words[i]))
        ids = np.empty(len(order), dtype=np.int32)
        ids[order] = np.arange(len(order), dtype=np.int32)
        return Vocabulary.of_words([self.words[i] for i in order], np.maximum(counts[order], 1)), ids


def _check_words(words: Sequence[Any]) -> None:
    kinds = {str if isinstance(word, str) else int if isinstance(word, int) else type(word) for word in words}
    if not kinds <= {str} and not kinds <= {int}:
        raise TypeError(f"vocabulary has words of type {', '.join(sorted(k.__name__ for k in kinds))}; use one kind")
    if kinds == {int} and any(not -(2**63) <= word < 2**63 for word in words):
        raise ValueError("vocabulary has an integer that does not fit 64 bits; use strings")
    if len(words) < 2:
        raise ValueError(f"vocabulary has {len(words)} words, so there is nothing to predict; give two or more")
    if len(set(words)) < len(words):
        seen: set[Any] = set()
        twice = next(word for word in words if word in seen or seen.add(word))  # type: ignore[func-returns-value]
        raise ValueError(f"vocabulary has the word {twice!r} twice")


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """A target is kept when its 32-bit draw is at most its threshold.

    The probability is sqrt(sample / f) + sample / f for a target of frequency f among all targets, as in word2vec; 1
    for all when `sample` is 0.
    """
    if sample == 0:
        return np.full(len(counts), 2**32 - 1, dtype=np.uint32)
    ratio = sample * counts.sum() / counts
    kept: NDArray[np.float64] = np.minimum((np.sqrt(ratio) + ratio) * 2.0**32, 2**32 - 1)
    return kept.astype(np.uint32)


@dataclass(frozen=True)
class Noise:
    """A sampler of noise words from counts^0.75 with O(1) draws: Walker's alias method.

    A draw takes a column at random, and then the column's own word if a second 32-bit number is below its threshold,
    its alias otherwise.
    """

    threshold: NDArray[np.uint32]
    alias: NDArray[np.int32]

    @staticmethod
    def of(counts: NDArray[np.int64], power: float = 0.75) -> Noise:
        """The sampler of a vocabulary's counts."""
        return Noise(*_core.alias_table(counts.astype(np.float64) ** power))

    def pick(self, column: NDArray[np.int64], second: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The noise words that these draws select."""
        return np.where(second < self.threshold[column], column, self.alias[column])
