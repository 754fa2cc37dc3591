"""Bad input gets a clear error before any work: argument, value, remedy. Nothing is half-fitted."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from paravec import ParagraphVector

DOCS = [["a", "b", "a", "b", "c"], ["b", "a", "c", "c"]]

WRONG_SETTINGS = [
    ({"model": "skipgram"}, ValueError, "model='skipgram' is not one of 'dbow', 'dm', 'dm+dbow'"),
    ({"vector_size": 0}, ValueError, "vector_size=0 is too small; use vector_size >= 1"),
    ({"vector_size": -5}, ValueError, "vector_size=-5"),
    ({"vector_size": 2.5}, TypeError, "vector_size=2.5 is not a whole number"),
    ({"vector_size": True}, TypeError, "vector_size=True"),
    ({"word_size": 0, "model": "dm"}, ValueError, "word_size=0"),
    ({"model": "dm", "window": 1}, ValueError, "window=1 leaves no context for model='dm'; use window >= 2"),
    ({"train_words": True, "window": 1}, ValueError, "window=1 leaves no context for train_words=True"),
    ({"window": 0}, ValueError, "window=0"),
    ({"negative": 0}, ValueError, "negative=0 noise words for output='negative'"),
    ({"epochs": 0}, ValueError, "epochs=0"),
    ({"max_vocab": 1}, ValueError, "max_vocab=1 is too small; use max_vocab >= 2"),
    ({"min_count": 0}, ValueError, "min_count=0"),
    ({"learning_rate": 0}, ValueError, "learning_rate=0"),
    ({"learning_rate": float("nan")}, ValueError, "learning_rate=nan"),
    ({"learning_rate": "fast"}, TypeError, "learning_rate='fast' is not a number"),
    ({"learning_rate": 0.01, "min_learning_rate": 0.1}, ValueError, "min_learning_rate=0.1 is above"),
    ({"sample": -1}, ValueError, "sample=-1"),
    ({"infer_l2": -1.0}, ValueError, "infer_l2=-1.0"),
    ({"infer_noise": "none"}, ValueError, "infer_noise='none' is not one of"),
    ({"infer_context": 1, "model": "dm"}, TypeError, "infer_context=1"),
    ({"infer_context": False}, ValueError, "infer_context=False is for model='dm' and 'dm+dbow'; leave it out"),
    (
        {"infer_context": False, "model": "dm", "logit": "cosine"},
        ValueError,
        "infer_context=False is for logit='dot', not for logit='cosine'; leave it out",
    ),
    ({"draw_errors": 1, "model": "dm"}, TypeError, "draw_errors=1"),
    ({"draw_errors": True, "model": "dm", "engine": "gpu"}, ValueError, "draw_errors=True is for the processor"),
    ({"draw_errors": True}, ValueError, "draw_errors=True is for model='dm' and 'dm+dbow'; leave it out"),
    ({"draw_errors": True, "model": "dm", "output": "softmax"}, ValueError, "not for output='softmax'"),
    ({"draw_errors": True, "model": "dm", "logit": "cosine"}, ValueError, "with logit='cosine'; leave it out"),
    ({"infer_l2": 0}, ValueError, "infer_l2=0 is out of range; use a finite number > 0"),
    ({"batch_size": 2**31 - 1}, ValueError, "batch_size=2147483647 is beyond any use; use batch_size <= 65536"),
    ({"window": 10**6}, ValueError, "window=1000000 is beyond any use"),
    ({"ngrams": 99}, ValueError, "ngrams=99 is beyond any use"),
    ({"infer_tol": 0}, ValueError, "infer_tol=0"),
    ({"n_jobs": 0}, ValueError, "n_jobs=0 leaves no thread"),
    ({"random_state": -1}, ValueError, "random_state=-1 is out of range"),
    ({"tokenizer": "letters"}, ValueError, "tokenizer='letters' is not one of 'words', 'whitespace'"),
    ({"logit": "cosine", "output": "hs"}, ValueError, "logit='cosine' has no meaning with output='hs'"),
    ({"model": "dm", "ngrams": 2}, ValueError, "ngrams=2 has no meaning for model='dm'"),
    ({"model": "dm", "combine": "mean", "word_size": 7}, ValueError, "word_size=7 must equal vector_size=100"),
    ({"word_size": 7}, ValueError, "word_size=7 has no meaning for model='dbow'"),
    ({"model": "dm", "train_words": True}, ValueError, "train_words=True is for 'dbow'"),
    ({"freeze_words": True, "model": "dm"}, ValueError, "freeze_words=True, but no word_vectors are given"),
    ({"freeze_words": True}, ValueError, "freeze_words=True has no meaning for model='dbow'"),
    ({"word_vectors": {"a": [0.0] * 100}}, ValueError, "model='dbow' has no word vectors; use train_words=True"),
    (
        {"model": "dm", "word_vectors": {"a": [0.0, 1.0]}},
        ValueError,
        "word_vectors have 2 dimensions, but word_size=100",
    ),
    ({"model": "dm", "word_vectors": {"a": [np.nan] * 100}}, ValueError, "NaN or infinity in the vector of 'a'"),
    ({"model": "dm", "word_vectors": {"a": [0.0], "b": [0.0, 1.0]}}, ValueError, "not numbers of one length"),
    (
        {"model": "dm", "word_vectors": (["a"], np.zeros((2, 100)))},
        ValueError,
        "has 1 words, but vectors of shape (2, 100)",
    ),
    ({"model": "dm", "word_vectors": "glove.txt"}, TypeError, "word_vectors is a str"),
    ({"deterministic": 1}, TypeError, "deterministic=1 is neither True nor False"),
    ({"storage": "float16"}, ValueError, "storage='float16' is not one of None, 'float32', 'bfloat16'"),
    (
        {"storage": "bfloat16"},
        ValueError,
        "storage='bfloat16' is for engine='gpu', and for models that draw errors with combine='concat', or with ",
    ),
    ({"storage": "bfloat16", "output": "softmax"}, ValueError, "is for output='negative' and 'hs'"),
]

WRONG_DOCUMENTS = [
    ("a single text", TypeError, "documents is a single str, 'a single text', which would be taken letter by letter"),
    (b"bytes", TypeError, "documents is a single bytes"),
    (None, TypeError, "documents is None"),
    (7, TypeError, "documents is 7"),
    ([], ValueError, "the corpus is empty"),
    ([[], []], ValueError, "none of the 2 documents has a token"),
    (["", "  "], ValueError, "none of the 2 documents has a token"),
    (
        ["one two three"],
        ValueError,
        "no word occurs min_count=2 times (the most frequent, 'one', 1 times in 1 documents)",
    ),
    ([["a", "a", "a"]], ValueError, "only one word, 'a', occurs min_count=2 times"),
    (["a text", ["a", "list"]], TypeError, "document 1 is a list, but the documents before are strings"),
    ([["a", "list"], "a text"], TypeError, "document 1 is a str, but the documents before are lists of tokens"),
    ([["a", 1]], TypeError, "use strings only or integers only"),
    ([["a"], [1]], TypeError, "document 1 has the token 1 of type int, but earlier tokens are str"),
    ([["a", None]], TypeError, "document 0 has the token None, which is neither a string nor an integer"),
    ([["a", 1.5]], TypeError, "document 0 has the token 1.5"),
    ([["a", True]], TypeError, "document 0 has the token True"),
    (["a a b b", float("nan")], TypeError, "document 1 is missing (nan); fill it or drop it"),
    (pd.Series(["a a b b", pd.NA], dtype="string"), TypeError, "document 1 is missing (<NA>); fill it or drop it"),
    (["a a b b", None], TypeError, "document 1 is missing (None); fill it or drop it"),
    ([1, 2, 3], TypeError, "document 0 is 1; a document is a string or a list of tokens"),
    (np.array([["a", "b"], ["c", "d"]]), ValueError, "documents is an array of shape (2, 2)"),
    (pd.DataFrame({"text": ["a b"]}), TypeError, "documents is a DataFrame, a table; give one column of it"),
]


def attributes(estimator) -> dict:
    return {name: value for name, value in vars(estimator).items() if name.endswith("_") or name.startswith("_")}


@pytest.mark.parametrize(("settings", "kind", "message"), WRONG_SETTINGS, ids=lambda v: str(v)[:40])
def test_wrong_settings_are_refused_before_the_corpus_is_read(settings, kind, message):
    def corpus():
        raise AssertionError("the corpus was read")
        yield

    estimator = ParagraphVector(**settings)
    with pytest.raises(kind, match=re.escape(message)):
        estimator.fit(corpus())
    assert attributes(estimator) == {}


@pytest.mark.parametrize(("documents", "kind", "message"), WRONG_DOCUMENTS, ids=lambda v: str(v)[:40])
def test_wrong_documents_are_refused(documents, kind, message):
    estimator = ParagraphVector(vector_size=4)
    with pytest.raises(kind, match=re.escape(message)):
        estimator.fit(documents)
    assert attributes(estimator) == {}


@pytest.mark.parametrize("documents", ["a single text", 7, ["a", ["b"]], [["a", 1]], [[1, 2]], [None]])
def test_wrong_documents_are_refused_by_transform_too(documents):
    fitted = ParagraphVector(vector_size=4, min_count=1).fit(DOCS)
    with pytest.raises(TypeError):
        fitted.transform(documents)


def test_an_error_leaves_an_earlier_fit_as_it_was():
    estimator = ParagraphVector(vector_size=4, min_count=1).fit(DOCS)
    before = {name: id(value) for name, value in attributes(estimator).items()}
    with pytest.raises(TypeError):
        estimator.fit(["text", None])
    assert {name: id(value) for name, value in attributes(estimator).items()} == before


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        (["x"], ValueError, "there are 2 documents, but 1 ids"),
        (["x", "x"], ValueError, "ids must differ, but 1 are given again, the first 'x'"),
        (["x", 1.5], TypeError, "the id 1.5 is neither a string nor an integer"),
        ("xy", TypeError, "ids is a single string"),
    ],
)
def test_wrong_ids_are_refused(ids, kind, message):
    with pytest.raises(kind, match=re.escape(message)):
        ParagraphVector(vector_size=4, min_count=1).fit(DOCS, ids=ids)


def test_unfitted_use_says_so():
    estimator = ParagraphVector()
    for call in (
        lambda: estimator.transform(["a"]),
        lambda: estimator.similar("a"),
        lambda: estimator.save("nowhere"),
        lambda: estimator.get_feature_names_out(),
    ):
        with pytest.raises(NotFittedError):
            call()
    for name in ("document_vectors_", "word_vectors_", "vocabulary_"):
        with pytest.raises(AttributeError, match="not fitted"):
            getattr(estimator, name)


def test_queries_that_cannot_be_answered_say_why():
    fitted = ParagraphVector(vector_size=4, min_count=1).fit(DOCS, ids=["x", "y"])
    with pytest.raises(KeyError, match="no document has the id 'z'"):
        fitted.similar(id="z")
    with pytest.raises(ValueError, match="k=0 asks for nothing"):
        fitted.similar(["a"], k=0)
    with pytest.raises(ValueError, match=re.escape("the query has shape (3,)")):
        fitted.similar(np.zeros(3))
    with pytest.raises(ValueError, match="needs a query or an id"):
        fitted.similar()
    with pytest.raises(ValueError, match="model='dbow' has no word vectors"):
        fitted.similar_words("a")
    words = ParagraphVector(vector_size=4, min_count=1, train_words=True).fit(DOCS)
    with pytest.raises(KeyError, match="the word 'zz' is not in the vocabulary"):
        words.similar_words("zz")


def test_counts_and_words_are_checked():
    fitted = ParagraphVector(vector_size=4, min_count=1, train_words=True).fit(DOCS)
    for k, kind in ((0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="k="):
            fitted.similar_words("a", k)
        with pytest.raises(kind, match="k="):
            fitted.similar(["a"], k)
    with pytest.raises(TypeError, match="would be taken letter by letter"):
        fitted.analogy("a", ["b"])
    with pytest.raises(TypeError, match="give id=5"):
        fitted.similar(5)
    with pytest.raises(ValueError, match="no word the model knows"):
        fitted.similar(["zzz"])
    with pytest.raises(ValueError, match="NaN"):
        fitted.similar(np.full(4, np.nan))
