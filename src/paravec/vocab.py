"""Words and n-grams: their counts, the distribution of noise words, and sub-sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paravec.text import Token


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
    def ngram_keys(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(prefix, last) packed into one sorted number each, and the ids they stand for."""
        keys = pair_keys(self.prefix, self.last)
        order = np.argsort(keys)
        return keys[order], order + len(self.words)


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


def pair_keys(first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.int64]:
    """Two ids as one number."""
    return first.astype(np.int64) << 32 | second.astype(np.int64)


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
        weight = counts.astype(np.float64) ** power
        share = (weight / weight.sum() * len(counts)).tolist()
        alias = list(range(len(share)))
        poor = [i for i, value in enumerate(share) if value < 1.0]
        rich = [i for i, value in enumerate(share) if value >= 1.0]
        while poor and rich:
            taker, giver = poor.pop(), rich[-1]
            alias[taker] = giver
            share[giver] -= 1.0 - share[taker]
            if share[giver] < 1.0:
                poor.append(rich.pop())
        for i in poor + rich:  # what rounding left over
            share[i] = 1.0
        threshold = np.minimum(np.array(share) * 2.0**32, 2**32 - 1).astype(np.uint32)
        return Noise(threshold, np.array(alias, dtype=np.int32))

    def pick(self, column: NDArray[np.int64], second: NDArray[np.uint32]) -> NDArray[np.int64]:
        """The noise words that these draws select."""
        return np.where(second < self.threshold[column], column, self.alias[column])


def sort_words(
    words: Sequence[Token], counts: NDArray[np.int64], min_count: int, max_vocab: int | None
) -> NDArray[np.int64]:
    """The indices of the words to keep, most frequent first, equals in the order of the words themselves."""
    kept = np.flatnonzero(counts >= min_count).tolist()
    kept.sort(key=lambda i: words[i])  # all str or all int
    kept.sort(key=lambda i: -counts[i])
    return np.array(kept[:max_vocab], dtype=np.int64)
