from __future__ import annotations

import pickle
import warnings
from collections import Counter
from enum import Enum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import paravec
from paravec import ParagraphVector, _core, encode, read
from paravec.corpus.encoder import encode as encode_with
from paravec.corpus.encoder import learn
from paravec.errors import ForgottenWordsWarning
from paravec.settings import Encoding
from paravec.text import reference_words

texts = st.lists(
    st.text(st.sampled_from("abAB 's.\u00c9\u03a3\u6f22\U0001f600-"), max_size=30), min_size=1, max_size=8
).filter(lambda docs: len({t for d in docs for t in reference_words(d)}) >= 2)
token_lists = st.lists(st.lists(st.text(max_size=20), max_size=12), min_size=1, max_size=8).filter(
    lambda docs: len({t for d in docs for t in d}) >= 2
)
integer_lists = st.lists(
    st.lists(st.sampled_from([0, 1, -1, 7, 2**63 - 1, -(2**63)]), max_size=12), min_size=1, max_size=8
).filter(lambda docs: len({t for d in docs for t in d}) >= 2)


@given(texts | token_lists | integer_lists)
def test_decoding_gives_the_documents_back(docs):
    corpus = encode(docs, min_count=1)
    expected = [reference_words(doc) if isinstance(doc, str) else doc for doc in docs]
    assert [corpus.words(i) for i in range(len(corpus))] == expected


@given(texts | token_lists | integer_lists, st.integers(1, 3), st.integers(1, 3))
def test_counts_are_those_of_a_counter(docs, longest, least):
    vocabulary, _ = learn(docs, Encoding(min_count=1, ngrams=longest, ngram_min_count=least))
    lists = [reference_words(doc) if isinstance(doc, str) else doc for doc in docs]
    expected = Counter(
        tuple(doc[i : i + n]) for doc in lists for n in range(1, longest + 1) for i in range(len(doc) - n + 1)
    )
    expected = {words: count for words, count in expected.items() if len(words) == 1 or count >= least}
    assert {vocabulary.ngram(i): int(count) for i, count in enumerate(vocabulary.counts)} == expected


@given(texts | token_lists | integer_lists, st.integers(1, 3))
def test_words_and_ngrams_are_sorted_by_count_and_words_then_by_themselves(docs, longest):
    vocabulary, _ = learn(docs, Encoding(min_count=1, ngrams=longest))
    pairs = list(zip((-vocabulary.counts[: len(vocabulary.words)]).tolist(), vocabulary.words, strict=True))
    assert pairs == sorted(pairs)
    assert (np.diff(vocabulary.counts[len(vocabulary.words) :]) <= 0).all()


@pytest.fixture(scope="module")
def many(python_docs):
    """More than one run of work for each of several threads."""
    return [text for _, text in python_docs]


def equal(one, other):
    assert one.vocabulary.same_as(other.vocabulary)
    assert np.array_equal(one.vocabulary.counts, other.vocabulary.counts)
    assert np.array_equal(one.documents.tokens, other.documents.tokens)
    assert np.array_equal(one.documents.offsets, other.documents.offsets)


@pytest.mark.parametrize("ngrams", [1, 3])
@pytest.mark.parametrize("kind", ["texts", "tokens"])
def test_the_corpus_is_the_same_at_any_number_of_threads(many, ngrams, kind):
    docs = many if kind == "texts" else [reference_words(text) for text in many[:3000]]
    one = encode(docs, ngrams=ngrams)
    for n_jobs in (2, 3, 8):
        equal(one, encode(docs, ngrams=ngrams, n_jobs=n_jobs))


@pytest.mark.parametrize("ngrams", [1, 2])
def test_the_corpus_is_the_same_at_any_number_of_threads_when_words_are_forgotten(many, ngrams, monkeypatch):
    monkeypatch.setattr(paravec.corpus.documents, "_AT_ONCE", 500)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        one = encode(many, max_unique=2000, ngrams=ngrams)
    messages = [str(warning.message) for warning in told if warning.category is ForgottenWordsWarning]
    assert messages[0].startswith("there are more than 2,000 different words")
    assert messages[0].endswith("raise max_unique=2000 if there is memory")
    assert "words were forgotten on the way, in" in messages[1]
    assert len(messages) == 2 * ngrams  # when it begins, and at the end
    assert 100 < len(one.vocabulary.words) <= 2000
    for n_jobs in (2, 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForgottenWordsWarning)
            equal(one, encode(many, max_unique=2000, ngrams=ngrams, n_jobs=n_jobs))


def test_frequent_words_keep_their_counts_when_rare_ones_are_forgotten(many, monkeypatch):
    monkeypatch.setattr(paravec.corpus.documents, "_AT_ONCE", 500)
    exact, _ = learn(many, Encoding())
    with pytest.warns(ForgottenWordsWarning):
        pruned, corpus = learn(many, Encoding(max_unique=2000))
    counts = dict(zip(exact.words, exact.counts.tolist(), strict=True))
    for word, count in zip(pruned.words[:50], pruned.counts[:50].tolist(), strict=True):
        assert count == counts[word]
    assert all(count <= counts[word] for word, count in zip(pruned.words, pruned.counts.tolist(), strict=True))
    assert np.array_equal(np.bincount(corpus.tokens, minlength=len(pruned.words)), pruned.counts)


def test_ngrams_of_real_text_are_those_of_a_counter(many):
    vocabulary, corpus = learn(many[:2000], Encoding(ngrams=3, n_jobs=2))
    lists = [reference_words(text) for text in many[:2000]]
    known = set(vocabulary.words)
    counter = Counter(
        tuple(doc[i : i + n])
        for doc in lists
        for n in (2, 3)
        for i in range(len(doc) - n + 1)
        if known.issuperset(doc[i : i + n])
    )
    expected = {words: count for words, count in counter.items() if count >= 2}
    found = {vocabulary.ngram(i): int(vocabulary.counts[i]) for i in range(len(known), vocabulary.size)}
    assert found == expected
    assert np.array_equal(np.bincount(corpus.tokens, minlength=vocabulary.size), vocabulary.counts)


@settings(max_examples=30)
@given(texts, st.integers(1, 3))
def test_a_vocabulary_encodes_as_it_was_learned(docs, longest):
    corpus = encode(docs, min_count=1, ngrams=longest)
    again = encode(docs, vocabulary=corpus, ngrams=longest)
    equal(corpus, again)


def test_given_words_are_counted_and_all_others_left_out():
    corpus = encode(["b a a", "a c"], vocabulary=["a", "b", "zebra"])
    assert corpus.vocabulary.words == ("a", "b", "zebra")
    assert corpus.vocabulary.counts.tolist() == [3, 1, 1]
    assert [corpus.words(i) for i in range(2)] == [["b", "a", "a"], ["a"]]


def test_given_counts_are_taken_as_they_are():
    corpus = encode(["b a a", "a c"], vocabulary={"a": 5, "b": 50})
    assert corpus.vocabulary.words == ("b", "a")
    assert corpus.vocabulary.counts.tolist() == [50, 5]


def test_a_given_vocabulary_may_have_ngrams_counted():
    corpus = encode(["a b c", "a b"], vocabulary=["a", "b"], ngrams=2)
    assert [corpus.vocabulary.ngram(i) for i in range(3)] == [("a",), ("b",), ("a", "b")]


@pytest.mark.parametrize(
    ("vocabulary", "kind", "message"),
    [
        ("words", TypeError, "vocabulary is a str"),
        (7, TypeError, "vocabulary is a int"),
        (["a"], ValueError, "nothing to predict"),
        (["a", "a"], ValueError, "the word 'a' twice"),
        (["a", 1], TypeError, "words of type int, str"),
        ({"a": 1, "b": 0}, ValueError, "gives 'b' the count 0"),
        ({"a": 1, "b": 1.5}, ValueError, "gives 'b' the count 1.5"),
        (["x", "y"], ValueError, "none of the 2 words of the given vocabulary occurs"),
        ([1, 2], TypeError, "the words of the vocabulary are int, but a document is text"),
    ],
)
def test_wrong_vocabularies_are_refused(vocabulary, kind, message):
    with pytest.raises(kind, match=message):
        encode(["a b", "b a"], vocabulary=vocabulary)
    with pytest.raises(kind, match=message):
        ParagraphVector(vocabulary=vocabulary).fit(["a b", "b a"])


def test_an_estimator_learns_given_words_only(many):
    known = ["file", "list", "string", "function", "the"]
    fitted = ParagraphVector(vector_size=8, vocabulary=known, epochs=1)
    with pytest.warns(paravec.UnknownWordsWarning):
        fitted.fit(many[:500])
    assert set(fitted.vocabulary_) == set(known)


@pytest.mark.parametrize("tokenizer", ["words", "whitespace", str.split])
def test_every_tokenizer_gives_its_tokens(tokenizer):
    corpus = encode(["Don't stop", "Stop!"], tokenizer=tokenizer, min_count=1)
    expected = ["don't", "stop"] if tokenizer == "words" else ["Don't", "stop"]
    assert corpus.words(0) == expected


def test_case_and_tags_can_be_kept_or_not():
    assert encode(["A<br/>b"], min_count=1, lowercase=False, strip_tags=True).words(0) == ["A", "b"]
    assert encode(["A<br/>b B"], min_count=1, tokenizer="whitespace", lowercase=True).words(0) == ["a<br/>b", "b"]


def test_transform_tokenizes_as_fit_did():
    docs = ["Good<br/>film", "good FILM", "Bad<br/>film", "bad play"] * 5
    fitted = ParagraphVector(vector_size=4, strip_tags=True, lowercase=False, min_count=1, epochs=2).fit(docs)
    assert set(fitted.vocabulary_) == {"Good", "good", "film", "FILM", "Bad", "bad", "play"}
    assert np.array_equal(fitted.transform(docs), fitted.document_vectors_)


def test_a_source_is_fitted_like_a_list(tmp_path, many):
    path = tmp_path / "docs.txt"
    path.write_text("\n".join(" ".join(text.split()) for text in many[:300]), encoding="utf-8")
    a = ParagraphVector(vector_size=8, epochs=2).fit(many[:300])
    b = ParagraphVector(vector_size=8, epochs=2).fit(read(path))
    c = ParagraphVector(vector_size=8, epochs=2).fit(path)
    assert np.array_equal(a.document_vectors_, b.document_vectors_)
    assert np.array_equal(a.document_vectors_, c.document_vectors_)
    assert a.document_ids_ == list(range(300))
    assert b.document_ids_ == list(range(1, 301))
    assert np.array_equal(a.transform(read(path)), a.document_vectors_)


def test_duplicate_ids_of_a_source_are_named():
    rows = [{"text": "a b", "id": id} for id in ("x", "y", "x", "z", "y")]
    with pytest.raises(ValueError, match=r"2 are given again: 'x' \(documents 1 and 3\), 'y' \(documents 2 and 5\)"):
        encode(read(rows, id="id"), min_count=1)
    with pytest.raises(ValueError, match=r"1 is given again: 7 \(documents 1 and 2\)"):
        encode(read([{"text": "a b", "id": 7}, {"text": "b", "id": 7}], id="id"), min_count=1)


def test_ids_are_of_one_kind():
    rows = [{"text": "a b", "id": 1}, {"text": "b", "id": "x"}]
    with pytest.raises(ValueError, match="use strings only or integers only"):
        encode(read(rows, id="id"), min_count=1)
    with pytest.raises(ValueError, match="does not fit 64 bits"):
        encode(read([{"text": "a b", "id": 2**70}], id="id"), min_count=1)


def test_ids_cannot_be_given_twice():
    with pytest.raises(ValueError, match="the source has ids of its own"):
        encode(read([{"text": "a b", "id": "x"}], id="id"), ids=["y"], min_count=1)


@given(st.lists(st.text(max_size=5), min_size=1, max_size=20, unique=True) | st.lists(st.integers(-5, 5), unique=True))
def test_labels_are_the_ids_they_were_made_of(ids):
    if not ids:
        return
    corpus = encode(read([{"text": "a b", "id": id} for id in ids], id="id"), min_count=1)
    assert corpus.ids == ids
    assert list(corpus.ids) == ids
    assert corpus.ids[-1] == ids[-1]
    assert corpus.ids[1:] == ids[1:]
    with pytest.raises(IndexError):
        corpus.ids[len(ids)]


def test_a_vocabulary_survives_pickling_with_its_tables_in_use():
    corpus = encode(["a b a b", "b a"], ngrams=2, min_count=1)
    again = pickle.loads(pickle.dumps(corpus.vocabulary))
    equal(corpus, encode(["a b a b", "b a"], vocabulary=again, ngrams=2))


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(ValueError, match=rf"document 1 has the token {2**63}, which does not fit 64 bits"):
        encode([[1, 2], [2**63]])


def test_a_corpus_can_be_fitted_and_transformed(many):
    corpus = encode(many[:500], ngrams=2, n_jobs=2)
    a = ParagraphVector(vector_size=8, epochs=2, ngrams=2).fit(many[:500])
    b = ParagraphVector(vector_size=8, epochs=2).fit(corpus)
    assert b.settings_.ngrams == 2
    assert np.array_equal(a.document_vectors_, b.document_vectors_)
    assert np.array_equal(b.transform(corpus), b.document_vectors_)
    assert np.array_equal(b.transform(many[:50]), b.document_vectors_[:50])
    assert ParagraphVector("dm", 8, epochs=1).fit(corpus).transform(many[:2]).shape == (2, 8)


def test_a_corpus_of_another_vocabulary_is_transformed_by_its_words(many):
    fitted = ParagraphVector(vector_size=8, epochs=2, ngrams=2).fit(many[:500])
    other = encode(many[400:600], min_count=1, ngrams=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", paravec.UnknownWordsWarning)
        assert np.array_equal(fitted.transform(other), fitted.transform(many[400:600]))
    with pytest.raises(TypeError, match="the model's tokens are str, but those of the corpus are int"):
        fitted.transform(encode([[1, 2], [2, 1]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"min_count": 5}, "min_count=5, but the corpus was encoded with min_count=1"),
        ({"tokenizer": "whitespace"}, "tokenizer='whitespace', but the corpus was encoded with tokenizer='words'"),
        ({"vocabulary": ["a", "b"]}, "vocabulary are given, but an encoded corpus has its own"),
    ],
)
def test_what_contradicts_a_corpus_is_refused(arguments, message):
    corpus = encode(["a b", "b a"], min_count=1)
    with pytest.raises(ValueError, match=message):
        ParagraphVector(**arguments).fit(corpus)
    with pytest.raises(ValueError, match="ids are given"):
        ParagraphVector().fit(corpus, ids=[1, 2])


@given(token_lists, st.integers(1, 3), st.integers(1, 3))
def test_learning_and_encoding_give_the_same_stream(docs, longest, least):
    encoding = Encoding(min_count=1, ngrams=longest, ngram_min_count=least)
    vocabulary, corpus = learn(docs, encoding)
    again = encode_with(docs, vocabulary, encoding)
    assert np.array_equal(corpus.tokens, again.tokens)
    assert np.array_equal(corpus.offsets, again.offsets)


def test_ngrams_do_not_span_documents_or_dropped_words():
    docs = [["a", "b"], ["c", "a"], ["a", "rare", "b"], ["a", "b"]]
    vocabulary, corpus = learn(docs, Encoding(min_count=2, ngrams=2, ngram_min_count=1))
    ngrams = {vocabulary.ngram(i) for i in range(len(vocabulary.words), vocabulary.size)}
    assert ngrams == {("a", "b")}
    assert [vocabulary.ngram(t) for t in corpus[2]] == [("a",), ("b",)]
    assert [vocabulary.ngram(t) for t in corpus[0]] == [("a",), ("b",), ("a", "b")]


def test_words_are_sorted_by_count_and_then_by_themselves():
    vocabulary, _ = learn([["b", "a", "c", "c"], ["d", "a", "b"]], Encoding(min_count=1))
    assert vocabulary.words == ("a", "b", "c", "d")


def test_max_vocab_keeps_the_most_frequent():
    vocabulary, corpus = learn([["a"] * 3 + ["b"] * 2 + ["c"]], Encoding(min_count=1, max_vocab=2))
    assert vocabulary.words == ("a", "b")
    assert len(corpus.tokens) == 5


def test_words_that_are_all_forgotten_are_told():
    message = "all words were forgotten on the way: there are more than max_unique=4"
    with pytest.warns(ForgottenWordsWarning), pytest.raises(ValueError, match=message):
        encode([f"w{i}" for i in range(100)], max_unique=4)


def test_documents_of_bytes_are_refused_by_number():
    with pytest.raises(TypeError, match="document 1 is bytes; decode it"):
        encode(["a b", b"a b"])


def test_blocks_of_documents_end_when_they_are_large(monkeypatch):
    monkeypatch.setattr(paravec.corpus.documents, "_SIZE_AT_ONCE", 10)
    blocks = list(paravec.corpus.documents.as_source(["a b c d e f", "g", "h", "i j k l m"]).blocks())
    assert [len(block.documents) for block in blocks] == [1, 3]
    assert blocks[1].place(2) == "document 3"


@pytest.mark.parametrize("given", [np.array(["a", "b"]), np.array(["a", "b"], dtype=object), ("a", "b")])
def test_words_may_be_given_as_an_array(given):
    assert encode(["a b", "c"], vocabulary=given).vocabulary.words == ("a", "b")


def test_given_integers_are_of_64_bits():
    assert encode([[1, 2], [3]], vocabulary=np.array([1, 2])).words(0) == [1, 2]
    with pytest.raises(ValueError, match="does not fit 64 bits"):
        encode([[1, 2]], vocabulary=[1, 2**70])


def test_tokens_that_are_enums_are_their_values():
    class Colour(str, Enum):
        RED = "red"
        BLUE = "blue"

    assert encode([[Colour.RED, Colour.BLUE]], min_count=1).words(0) == ["red", "blue"]


def test_the_core_refuses_what_it_cannot_work_on():
    tokens, offsets = np.array([0, 1], dtype=np.int32), np.array([0, 2])
    for call in (
        lambda: _core.renumber(tokens, tokens, 0),
        lambda: _core.renumber(tokens, tokens[:1], 1),
        lambda: _core.renumber(tokens.astype(np.int64), tokens, 1),
        lambda: _core.select(tokens, offsets + 1, tokens, 1),
        lambda: _core.select(tokens, np.array([0, 3, 2]), tokens, 1),
        lambda: _core.join([tokens], 0),
        lambda: _core.Indexer("words", True, False, 0, 10),
        lambda: _core.Indexer("letters", True, False, 1, 10),
        lambda: _core.Indexer("words", True, False, 1, 10).most_frequent(1, -1, False),
        lambda: _core.NgramCounter(2, 1, -1),
        lambda: _core.NgramCounter(-2, 1, 10),
        lambda: _core.NgramTable(tokens, tokens, 2**31 - 1),
        lambda: _core.NgramTable(tokens, tokens, 2).attach(tokens, offsets, 0, 1),
        lambda: _core.huffman(np.array([2**62] * 3)),
        lambda: _core.huffman(np.array([3, -1])),
        lambda: _core.huffman(np.zeros(0, dtype=np.int64)),
        lambda: _core.alias_table(np.array([1.0, np.nan])),
        lambda: _core.alias_table(np.zeros(3)),
        lambda: _core.Documents.column(np.zeros(3, dtype=np.uint8), np.array([0, 4])),
        lambda: _core.Documents.texts([1]),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()


def test_a_list_may_change_while_its_documents_are_read():
    texts, lists = ["a b c" * 50, "\u00e4 " * 50], [["x" * 40] * 100]
    from_texts, from_lists = _core.Documents.texts(texts), _core.Documents.tokens(lists)
    texts.clear()
    lists[0].clear()
    indexer = _core.Indexer("words", True, False, 2, 1000)
    assert len(indexer.add(from_texts)[0]) == 151
    assert len(indexer.add(from_lists)[0]) == 100


def test_too_few_words_after_forgetting_say_so():
    documents = [f"w{i} w{i // 2} common" for i in range(5000)]
    with pytest.warns(ForgottenWordsWarning), pytest.raises(ValueError, match="raise max_unique, or lower min_count"):
        encode(documents, max_unique=100)


def test_a_mapping_is_no_list_of_documents():
    with pytest.raises(TypeError, match="documents is a mapping; give its values"):
        encode({"a": "a text"})
