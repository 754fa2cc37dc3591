from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paravec.encoder import encode, learn
from paravec.settings import Settings

token_lists = st.lists(st.lists(st.sampled_from("abcde"), max_size=12), min_size=1, max_size=8).filter(
    lambda docs: len({t for d in docs for t in d}) >= 2
)


@given(token_lists, st.integers(1, 3))
def test_counts_are_those_of_a_counter(docs, longest):
    vocabulary, _ = learn(docs, Settings(min_count=1, ngrams=longest))
    expected = Counter(
        tuple(doc[i : i + n]) for doc in docs for n in range(1, longest + 1) for i in range(len(doc) - n + 1)
    )
    found = {vocabulary.ngram(i): int(count) for i, count in enumerate(vocabulary.counts)}
    assert found == expected


@given(token_lists, st.integers(1, 3), st.integers(1, 3))
def test_learning_and_encoding_give_the_same_stream(docs, longest, least):
    settings = Settings(min_count=1, ngrams=longest, ngram_min_count=least)
    vocabulary, corpus = learn(docs, settings)
    again = encode(docs, vocabulary, settings)
    assert np.array_equal(corpus.tokens, again.tokens)
    assert np.array_equal(corpus.offsets, again.offsets)


@given(token_lists)
def test_decoding_gives_the_documents_back(docs):
    vocabulary, corpus = learn(docs, Settings(min_count=1))
    assert [[vocabulary.words[t] for t in corpus[i]] for i in range(len(corpus))] == docs


def test_ngrams_do_not_span_documents_or_dropped_words():
    docs = [["a", "b"], ["c", "a"], ["a", "rare", "b"], ["a", "b"]]
    vocabulary, corpus = learn(docs, Settings(min_count=2, ngrams=2, ngram_min_count=1))
    ngrams = {vocabulary.ngram(i) for i in range(len(vocabulary.words), vocabulary.size)}
    assert ngrams == {("a", "b")}
    assert [vocabulary.ngram(t) for t in corpus[2]] == [("a",), ("b",)]
    assert [vocabulary.ngram(t) for t in corpus[0]] == [("a",), ("b",), ("a", "b")]


def test_words_are_sorted_by_count_and_then_by_themselves():
    vocabulary, _ = learn([["b", "a", "c", "c"], ["d", "a", "b"]], Settings(min_count=1))
    assert vocabulary.words == ("a", "b", "c", "d")


def test_max_vocab_keeps_the_most_frequent():
    vocabulary, corpus = learn([["a"] * 3 + ["b"] * 2 + ["c"]], Settings(min_count=1, max_vocab=2))
    assert vocabulary.words == ("a", "b")
    assert len(corpus.tokens) == 5
