"""scikit-learn's contract, and every kind of input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from paravec import ParagraphVector


class OnNumbers(ParagraphVector):
    """scikit-learn's checks feed matrices: here every row becomes a document of one symbol a column."""

    def _fit(self, X, *rest):
        return super()._fit(symbols(X), *rest)

    def transform(self, X):
        return super().transform(symbols(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = True, False
        return tags


def symbols(X) -> list[list[str]]:
    return [[f"{j}:{value:.0f}" for j, value in enumerate(row)] for row in np.asarray(X)]


NO_COLUMNS = "documents have no fixed number of columns"
NO_NUMBERS = "about the validation of numbers, and documents are not numbers"
SKIPPED_CHECKS = {
    "check_n_features_in_after_fitting": NO_COLUMNS,
    "check_n_features_in": NO_COLUMNS,
    "check_transformer_general": NO_COLUMNS,
    "check_estimators_empty_data_messages": NO_COLUMNS,
    "check_fit1d": NO_COLUMNS,
    "check_fit2d_predict1d": NO_COLUMNS,
    "check_complex_data": NO_NUMBERS,
    "check_dtype_object": NO_NUMBERS,
    "check_estimators_nan_inf": NO_NUMBERS,
    "check_estimator_sparse_tag": NO_NUMBERS,
    "check_estimator_sparse_array": NO_NUMBERS,
    "check_estimator_sparse_matrix": NO_NUMBERS,
    "check_transformer_preserve_dtypes": NO_NUMBERS,
    "check_array_api_input": NO_NUMBERS,
}


@parametrize_with_checks([OnNumbers(vector_size=4, min_count=1)], expected_failed_checks=lambda _: SKIPPED_CHECKS)
@pytest.mark.filterwarnings("ignore::paravec.UnknownWordsWarning", "ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def corpus(python_docs) -> tuple[list[str], np.ndarray]:
    """Paragraphs of the language reference against paragraphs of docstrings."""
    reference = [text for name, text in python_docs if name.startswith("reference:")][:300]
    docstrings = [text for name, text in python_docs if not name.startswith("reference:")][:300]
    return reference + docstrings, np.repeat([1, 0], 300)


def small(**settings) -> ParagraphVector:
    return ParagraphVector(**{"vector_size": 16, "epochs": 5, "window": 4, "min_count": 2, **settings})


def test_pipeline_with_a_classifier(corpus):
    texts, labels = corpus
    pipeline = make_pipeline(small(epochs=20), LogisticRegression(max_iter=1000)).fit(texts[::2], labels[::2])
    assert pipeline.score(texts[1::2], labels[1::2]) > 0.85


def test_beside_a_bag_of_words(corpus):
    texts, labels = corpus
    union = FeatureUnion([("words", CountVectorizer(min_df=2)), ("paragraphs", small())])
    matrix = union.fit_transform(texts, labels)
    assert matrix.shape == (600, len(union.named_transformers["words"].vocabulary_) + 16)
    assert len(union.get_feature_names_out()) == matrix.shape[1]


def test_grid_search_over_window(corpus):
    texts, labels = corpus
    pipeline = make_pipeline(small(model="dm", combine="mean"), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"paragraphvector__window": [2, 5]}, cv=2).fit(texts, labels)
    assert set(search.cv_results_["param_paragraphvector__window"]) == {2, 5}


def test_clone_and_params_keep_every_setting():
    estimator = small(model="dm+dbow", negative=7, random_state=3)
    assert clone(estimator).get_params() == estimator.get_params()


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(corpus, container):
    estimator = small(model="dm+dbow", vector_size=3).set_output(transform=container)
    frame = estimator.fit_transform(corpus[0][:50])
    assert frame.shape == (50, 6)
    assert list(frame.columns) == [f"paragraphvector{i}" for i in range(6)]
    assert list(estimator.get_feature_names_out()) == list(frame.columns)


@pytest.mark.parametrize(
    "column",
    [
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        pd.Series,
        lambda texts: pd.Series(texts, dtype="string"),
        lambda texts: pd.Series(texts).to_numpy(),
        pl.Series,
        pa.array,
        lambda texts: pa.chunked_array([texts[:5], texts[5:]]),
        iter,
    ],
)
def test_any_column_of_strings(corpus, column):
    texts = corpus[0][:40]
    assert np.array_equal(small().fit_transform(column(texts)), small().fit_transform(texts))
    assert np.array_equal(small().fit(texts).transform(column(texts)), small().fit(texts).transform(texts))


@pytest.mark.parametrize(
    "column",
    [
        list,
        pd.Series,
        pl.Series,
        pa.array,
        lambda lists: [np.array(tokens) for tokens in lists],
        lambda lists: [tuple(tokens) for tokens in lists],
        lambda lists: pl.Series(lists).to_numpy(),
    ],
)
@pytest.mark.parametrize("kind", [str, int])
def test_any_column_of_tokens(column, kind):
    rng = np.random.default_rng(0)
    lists = [[kind(k) for k in rng.integers(0, 20, size=n)] for n in (5, 8, 3, 20)]
    settings = {"vector_size": 4, "min_count": 1}
    assert np.array_equal(
        ParagraphVector(**settings).fit_transform(column(lists)), ParagraphVector(**settings).fit_transform(lists)
    )


def test_integers_are_symbols_not_addresses():
    fitted = ParagraphVector(vector_size=4, min_count=1).fit([[10**12, -5, 10**12], [-5, 7, 10**12]])
    assert set(fitted.vocabulary_) == {10**12, -5, 7}
    assert fitted._fitted.models[0].outputs.shape == (3, 4)


def test_ids_are_labels_not_addresses():
    fitted = ParagraphVector(vector_size=4, min_count=1).fit([["a", "b"], ["b", "a"]], ids=[10**15, -3])
    assert fitted.document_vectors_.shape == (2, 4)
    assert [name for name, _ in fitted.similar(id=10**15)] == [-3]


def test_a_tokenizer_of_ones_own(corpus):
    texts = corpus[0][:50]
    fitted = small(min_count=1, tokenizer=lambda text: text.upper().split("E")).fit(texts)
    assert any(" " in word for word in fitted.vocabulary_)
    assert np.array_equal(
        fitted.transform(texts), small(min_count=1).fit([t.upper().split("E") for t in texts]).document_vectors_
    )


@pytest.mark.parametrize("model", ["dbow", "dm", "dm+dbow"])
def test_a_pickled_estimator_gives_the_same_bits(corpus, model):
    fitted = small(model=model).fit(corpus[0][:100])
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(corpus[0][100:120]), fitted.transform(corpus[0][100:120]))


def test_the_reference_engine_is_an_engine_like_any_other():
    docs = [["a", "b", "c", "a"], ["b", "c", "c"], ["a", "d", "d", "b"]]
    settings = {"model": "dm+dbow", "window": 3, "vector_size": 4, "min_count": 1, "epochs": 2}
    cpu = ParagraphVector(**settings, engine="cpu").fit(docs)
    reference = ParagraphVector(**settings, engine="reference").fit(docs)
    assert np.allclose(cpu.document_vectors_, reference.document_vectors_, atol=1e-3)
    for half in ("dm", "dbow"):
        assert np.allclose(cpu.loss_history_[half], reference.loss_history_[half], rtol=1e-4)


def test_both_halves_side_by_side_are_the_two_models(corpus):
    texts = corpus[0][:100]
    both = small(model="dm+dbow", output="hs").fit_transform(texts)
    halves = [small(model=model, output="hs").fit_transform(texts) for model in ("dm", "dbow")]
    assert np.array_equal(both, np.hstack(halves))


def test_ngrams_belong_to_the_dbow_half_alone(corpus):
    texts = corpus[0][:100]
    fitted = small(model="dm+dbow", ngrams=2).fit(texts)
    dm, dbow = fitted._fitted.models
    assert len(dm.outputs) == len(fitted.vocabulary_) < len(dbow.outputs)
    assert np.array_equal(fitted.transform(texts)[:, :16], small(model="dm").fit_transform(texts))


def test_similar_documents_and_words(python_docs):
    names, texts = zip(*python_docs, strict=True)
    fitted = ParagraphVector(
        vector_size=50, epochs=20, train_words=True, context="both", window=5, n_jobs=2, infer_l2=5.0
    )
    with pytest.warns(UserWarning, match="no word the model knows"):
        fitted.fit(texts, ids=names)
    found = [name for name, _ in fitted.similar("open a gzip-compressed file", k=10)]
    assert any(name.startswith("gzip") for name in found)
    assert names[100] not in [name for name, _ in fitted.similar(id=names[100])]
    assert fitted.similar(fitted.document_vectors_[100], k=1)[0][0] == names[100]
    assert "false" in [word for word, _ in fitted.similar_words("true")]
    scores = [score for _, score in fitted.similar("a list of strings", k=20)]
    assert scores == sorted(scores, reverse=True)
    assert len(fitted.similar("a list", k=len(names))) == len(names)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.str_])
def test_tokens_of_numpys_kinds_are_plain_tokens(kind, tmp_path):
    plain = int if issubclass(kind, np.integer) else str
    docs = [[plain(k) for k in (1, 2, 3, 1)], [plain(k) for k in (2, 3, 3)]]
    ours = [[kind(token) for token in doc] for doc in docs]
    fitted = ParagraphVector(vector_size=np.int64(4), min_count=1).fit(ours)
    assert np.array_equal(fitted.transform(docs), ParagraphVector(vector_size=4, min_count=1).fit(docs).transform(ours))
    fitted.save(tmp_path / "model")
    assert {type(word) for word in ParagraphVector.load(tmp_path / "model").vocabulary_} == {plain}


@pytest.mark.parametrize("tokenizer", [lambda t: map(str, t.split()), lambda t: np.array(t.split()), str.split])
def test_a_tokenizer_may_make_any_sequence(corpus, tokenizer):
    texts = corpus[0][:50]
    assert np.array_equal(
        small(tokenizer=tokenizer).fit(texts).transform(texts), small(tokenizer="whitespace").fit_transform(texts)
    )


def test_a_tokenizer_that_makes_no_list_is_refused():
    with pytest.raises(TypeError, match="the tokenizer made 7 of document 0"):
        ParagraphVector(tokenizer=lambda text: 7).fit(["a b"])


def test_the_vocabulary_cannot_be_changed_from_outside():
    fitted = ParagraphVector(vector_size=4, min_count=1).fit([["a", "b"], ["b", "a"]])
    with pytest.raises(TypeError):
        fitted.vocabulary_["zzz"] = 500_000_000


def test_the_dm_half_is_subsampled_as_dm_alone(corpus):
    texts = corpus[0][:100]
    both = small(model="dm+dbow", ngrams=3, sample=1e-3).fit_transform(texts)
    assert np.array_equal(both[:, :16], small(model="dm", sample=1e-3).fit_transform(texts))


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_similar_works_whatever_transform_returns(corpus, container):
    texts = corpus[0][:60]
    plain = small().fit(texts).similar(texts[3], k=3)
    assert small().set_output(transform=container).fit(texts).similar(texts[3], k=3) == plain


def test_a_small_corpus_gets_more_epochs_unless_told():
    docs = [["a", "b", "c", "a"], ["b", "c", "c"]]
    assert len(ParagraphVector(vector_size=4, min_count=1).fit(docs).loss_history_["dbow"]) == 50
    assert len(ParagraphVector(vector_size=4, min_count=1, epochs=3).fit(docs).loss_history_["dbow"]) == 3


def test_fitted_arrays_cannot_be_changed_from_outside():
    fitted = ParagraphVector(vector_size=4, min_count=1, train_words=True).fit([["a", "b"], ["b", "a"]])
    for array in (fitted.document_vectors_, fitted.word_vectors_):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
