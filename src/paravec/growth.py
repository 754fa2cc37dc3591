"""Training that goes on: a vocabulary that grows, and the parameters of a model brought over to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.corpus import Corpus, EncodedCorpus
from paravec.corpus.encoder import ngrams_of
from paravec.model import Model
from paravec.settings import Settings, threads
from paravec.vocab import LONGEST_NGRAM, Vocabulary


@dataclass(frozen=True)
class Growth:
    """Documents in the ids of a vocabulary that has grown by their words, and where its former targets are now."""

    corpus: EncodedCorpus
    places: NDArray[np.int64]  # the id of each former word and n-gram


def grown(old: Vocabulary, corpus: EncodedCorpus, settings: Settings) -> Growth:
    """The words and n-grams of `old` and those of a corpus that are frequent enough there; their counts add up."""
    if type(corpus.vocabulary.words[0]) is not type(old.words[0]):
        kinds = type(old.words[0]).__name__, type(corpus.vocabulary.words[0]).__name__
        raise TypeError(f"the model's tokens are {kinds[0]}, but those of the new documents are {kinds[1]}")
    words = [*old.words, *_new_words(old, corpus.vocabulary, settings)]
    place = {word: i for i, word in enumerate(words)}
    ids = np.array([place.get(word, -1) for word in corpus.vocabulary.words], dtype=np.int32)
    plain, n_threads = corpus.documents.words_only(corpus.vocabulary), threads(settings.n_jobs)
    tokens = _core.renumber(plain.tokens, ids, n_threads)
    prefix, last, ngrams = _joined_ngrams(old, len(words), (tokens, plain.offsets), settings)
    table = _core.NgramTable(prefix, last, len(words))
    seen = Corpus(*table.attach(tokens, plain.offsets, settings.ngrams, n_threads))
    kept = np.concatenate([np.arange(len(old.words)), ngrams])  # the former targets
    counts = np.bincount(seen.tokens, minlength=len(words) + len(prefix)).astype(np.int64)
    counts[kept] += old.counts
    vocabulary, final = _sorted(words, counts, prefix, last)
    documents = Corpus(final[seen.tokens].astype(np.int32), seen.offsets)
    return Growth(EncodedCorpus(documents, vocabulary, corpus.ids, settings.encoding), final[kept])


def _new_words(old: Vocabulary, theirs: Vocabulary, settings: Settings) -> list[Any]:
    new = [
        word
        for word, count in zip(theirs.words, theirs.counts.tolist(), strict=False)
        if count >= settings.min_count and word not in old.index
    ]
    return new if settings.max_vocab is None else new[: max(0, settings.max_vocab - len(old.words))]


def _joined_ngrams(
    old: Vocabulary, n_words: int, chunk: tuple[Any, Any], settings: Settings
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Prefixes and last words of former and new n-grams, the shorter before the longer; and ids of the former ones."""
    shift = n_words - len(old.words)
    ours = old.prefix.astype(np.int64) + np.where(old.prefix >= len(old.words), shift, 0), old.last.astype(np.int64)
    keys = ngrams_of([chunk], n_words, settings)[0] if settings.ngrams > 1 else np.zeros(0, dtype=np.int64)
    theirs = keys >> 32, keys & 0xFFFFFFFF
    places = [np.full(len(each[0]), -1, dtype=np.int64) for each in (ours, theirs)]
    found: list[NDArray[np.int64]] = []
    end = n_words
    for _ in range(LONGEST_NGRAM):
        level = [_next_level(n_words, prefix, place) for (prefix, _), place in zip((ours, theirs), places, strict=True)]
        of_level = [
            (before[rows] << 32) | last[rows] for (rows, before), (_, last) in zip(level, (ours, theirs), strict=True)
        ]
        both = np.unique(np.concatenate(of_level))
        if not len(both):
            break
        for place, (rows, _), some in zip(places, level, of_level, strict=True):
            place[rows] = end + np.searchsorted(both, some)
        found.append(both)
        end += len(both)
    joined = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
    return (joined >> 32).astype(np.int32), (joined & 0xFFFFFFFF).astype(np.int32), places[0]


def _next_level(
    n_words: int, prefix: NDArray[np.int64], place: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The n-grams without a place whose prefix has one, and for every n-gram the place of its prefix (or -1)."""
    longer = prefix >= n_words
    before = prefix.copy()
    before[longer] = place[prefix[longer] - n_words]
    return np.flatnonzero((place < 0) & (before >= 0)), before


def _sorted(
    words: list[Any], counts: NDArray[np.int64], prefix: NDArray[np.int32], last: NDArray[np.int32]
) -> tuple[Vocabulary, NDArray[np.int64]]:
    """A vocabulary from the most frequent to the rarest, and the id that each target has in it."""
    n_words = len(words)
    order = sorted(range(n_words), key=lambda i: (-int(counts[i]), words[i]))
    behind = n_words + np.argsort(-counts[n_words:], kind="stable")
    final = np.empty(len(counts), dtype=np.int64)
    final[np.concatenate([order, behind]).astype(np.int64)] = np.arange(len(counts))
    return Vocabulary(
        tuple(words[i] for i in order),
        counts[np.concatenate([order, behind]).astype(np.int64)],
        final[prefix[behind - n_words]].astype(np.int32),
        final[last[behind - n_words]].astype(np.int32),
    ), final


def bring_over(old: Model, fresh: Model, places: NDArray[np.int64], n_words: int) -> None:
    """Makes a fresh model go on from an old one, whose `n_words` words and n-grams have new `places`."""
    targets = places[:n_words] if old.architecture.is_dm else places
    if old.architecture.output == "hs":
        targets = np.arange(len(old.outputs))  # inner nodes: the tree is the same, because the vocabulary is
    fresh.outputs[targets] = old.outputs
    if old.bias is not None and fresh.bias is not None:
        fresh.bias[targets] = old.bias
    if old.words is not None and fresh.words is not None:
        fresh.words[places[:n_words]] = old.words[:-1]
        fresh.words[-1] = old.words[-1]  # NULL
        if old.trainable is not None:
            fresh.trainable = np.ones(len(fresh.words), dtype=np.uint8)
            fresh.trainable[places[:n_words]] = old.trainable[:-1]
            fresh.trainable[-1] = old.trainable[-1]
