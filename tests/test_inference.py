from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from conftest import combinations, documents, make_case, name_of
from paravec import ParagraphVector, UnknownWordsWarning, _core
from paravec.corpus.encode import encode_known
from paravec.engines.base import Inference
from paravec.engines.cpu import CpuEngine
from paravec.search import unit

MODELS = [
    {"model": "dbow"},
    {"model": "dbow", "output": "hs"},
    {"model": "dbow", "output": "softmax"},
    {"model": "dbow", "logit": "cosine", "ngrams": 2},
    {"model": "dm", "combine": "mean"},
    {"model": "dm", "output": "hs"},
    {"model": "dm+dbow", "combine": "sum"},
]


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request, python_docs):
    texts = [text for _, text in python_docs[:300]]
    settings = {"window": 4, "vector_size": 12, "epochs": 4, "min_count": 3, **request.param}
    return ParagraphVector(**settings).fit(texts)


@pytest.fixture(scope="module")
def texts(python_docs):
    return [text for _, text in python_docs[300:340]]


def test_a_document_has_the_same_bits_alone_in_a_batch_in_any_order_at_any_thread_count(fitted, texts):
    whole = fitted.set_params(n_jobs=3).transform(texts)
    fitted.set_params(n_jobs=1)
    assert np.array_equal(whole, np.vstack([fitted.transform([text]) for text in texts]))
    assert np.array_equal(whole[::-1], fitted.transform(texts[::-1]))
    assert np.array_equal(whole, fitted.set_params(n_jobs=2).transform(texts))


def test_documents_have_the_same_bits_in_another_process(tmp_path, python_docs):
    texts = [text for _, text in python_docs[:200]]
    ParagraphVector(vector_size=12, epochs=3).fit(texts).save(tmp_path / "model")
    code = (
        "import sys; from paravec import ParagraphVector; "
        "sys.stdout.write(ParagraphVector.load(sys.argv[1]).transform([sys.argv[2]]).tobytes().hex())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model"), texts[5]]
    runs = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(runs) == 1
    assert runs == {ParagraphVector.load(tmp_path / "model").transform([texts[5]]).tobytes().hex()}


def test_fit_transform_is_fit_then_transform(python_docs):
    texts = [text for _, text in python_docs[:200]]
    for refit in (True, False):
        estimator = ParagraphVector(model="dm+dbow", window=3, vector_size=8, epochs=2, refit_documents=refit)
        assert np.array_equal(estimator.fit_transform(texts), estimator.fit(texts).transform(texts))


@pytest.mark.parametrize("kernels", _core.available_kernels()[1:])
@pytest.mark.parametrize("combination", [c for c in combinations() if c["logit"] == "dot"][::2], ids=name_of)
def test_instruction_sets_agree(combination, kernels):
    case = make_case(**combination)
    how = Inference(seed=1, tol=1e-6, max_iter=300, l2=1.0)
    best, other = (
        CpuEngine(1, k).infer(case.model, case.corpus, case.tables, how)
        for k in (_core.available_kernels()[0], kernels)
    )
    assert np.abs(best - other).max() <= 1e-5 * np.abs(best).max() * 10


def test_noise_words_are_common_to_all_documents_or_each_has_its_own(python_docs):
    texts = [text.split() for _, text in python_docs if len(text.split()) > 60][:400]
    fitted = ParagraphVector(vector_size=30, epochs=20, min_count=3, n_jobs=2, random_state=0).fit(texts)
    own = fitted.set_params(infer_noise="own").transform(texts)
    common = fitted.set_params(infer_noise="common").transform(texts)
    assert np.array_equal(common, fitted.document_vectors_)
    assert not np.allclose(own, common)
    halves = [[text[k::2] for text in texts] for k in (0, 1)]
    found = {}
    for noise in ("own", "common"):  # without their own draws, the halves of a text are more alike
        fitted.set_params(infer_noise=noise)
        a, b = (fitted.transform(half) for half in halves)
        a, b = (each - a.mean(axis=0) for each in (a, b))
        found[noise] = float(((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)).mean())
    assert found["common"] > found["own"] + 0.02


@pytest.mark.parametrize("combine", ["mean", "concat"])
def test_the_words_around_a_target_help_to_infer_only_on_request(combine, python_docs):
    texts = [text for _, text in python_docs[:300]]
    fitted = ParagraphVector(model="dm", combine=combine, window=4, vector_size=12, epochs=4).fit(texts)
    alone = fitted.transform(texts)
    assert np.array_equal(alone, fitted.document_vectors_)
    assert np.array_equal(alone, fitted.set_params(infer_context=False).transform(texts))
    helped = fitted.set_params(infer_context=True).transform(texts)
    assert not np.allclose(alone, helped, atol=0.01)
    own = fitted._fitted
    documents, _ = encode_known(texts, None, own.vocabulary, own.settings.encoding)
    how = Inference(own.seed, own.settings.infer_tol, own.settings.infer_max_iter, own.settings.infer_l2, context=False)
    found = CpuEngine(1).infer(own.models[0], documents, own.tables[0], how)
    assert np.allclose(alone, found / own.models[0].architecture.share)  # h has a part of d, of which a mean is made


def test_with_cosine_the_words_around_a_target_help_as_in_training(python_docs):
    texts = [text for _, text in python_docs[:60]]
    fitted = ParagraphVector(model="dm", logit="cosine", window=4, vector_size=8, epochs=2).fit(texts)
    assert np.array_equal(fitted.transform(texts), fitted.set_params(infer_context=True).transform(texts))


def test_no_known_word_gives_zero_and_one_warning(fitted):
    with pytest.warns(UnknownWordsWarning, match=r"^2 of 3 documents .*the first is document 0") as caught:
        vectors = fitted.transform(["zzzz qqqq", "return the value", ""])
    assert len(caught) == 1
    assert not vectors[0].any()
    assert not vectors[2].any()
    assert vectors[1].any()


def test_training_documents_without_a_known_word_are_zero_too():
    docs = [["a", "b", "a", "b"], ["once"], ["b", "a"]]
    for refit in (True, False):
        with pytest.warns(UnknownWordsWarning, match="1 of 3"):
            fitted = ParagraphVector(vector_size=4, refit_documents=refit).fit(docs)
        assert not fitted.document_vectors_[1].any()
        assert fitted.document_vectors_[0].any()


def test_training_documents_find_themselves(python_docs):
    texts = [text for _, text in python_docs[:3000] if len(text.split()) > 15]
    for refit in (True, False):
        fitted = ParagraphVector(vector_size=50, epochs=30, n_jobs=2, refit_documents=refit).fit(texts)
        cosine = unit(fitted.transform(texts[:100])) @ unit(fitted.document_vectors_).T
        assert (cosine.argmax(axis=1) == np.arange(100)).sum() >= 95


def test_more_l2_means_shorter_vectors(fitted, texts):
    if fitted.logit == "cosine":
        assert np.allclose(np.linalg.norm(fitted.transform(texts), axis=1), 1, atol=1e-5)
        return
    kept = fitted.infer_l2
    lengths = [
        np.linalg.norm(fitted.set_params(infer_l2=l2).transform(texts), axis=1) for l2 in (0.1, 1.0, 10.0, 100.0)
    ]
    fitted.set_params(infer_l2=kept)
    assert all((b < a).all() for a, b in itertools.pairwise(lengths))


def test_a_long_document_is_not_cut():
    docs = documents([50] * 40)
    fitted = ParagraphVector(vector_size=8, min_count=1, infer_l2=1.0).fit(docs)
    head, tail = ["w1"] * 20_000, ["w30"] * 20_000
    assert not np.allclose(*fitted.transform([head, head + tail]), atol=0.1)


@pytest.mark.parametrize("settings", [{}, {"output": "hs"}, {"model": "dm", "combine": "mean", "window": 3}], ids=str)
def test_a_document_of_a_million_words_and_one_of_one_word(settings):
    fitted = ParagraphVector(vector_size=8, min_count=1, **settings).fit(documents([50] * 40))
    words = np.random.default_rng(1).geometric(0.1, size=1_000_000).clip(max=39)
    vectors = fitted.transform([[f"w{k}" for k in words], ["w3"]])
    assert np.isfinite(vectors).all()
    assert vectors.any(axis=1).all()
