"""Inference on the GPU finds what the processor finds, and is a function of the document alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="engine='gpu' needs PyTorch: make test-triton")
pytest.importorskip("triton", reason="engine='gpu' needs Triton: make test-triton")

from conftest import combinations, documents, make_case, name_of
from paravec.engines import gpu
from paravec.engines.base import Inference, Part
from paravec.engines.cpu import CpuEngine
from paravec.engines.devices import interpreted
from paravec.engines.gpu import GpuEngine, inference, stepped

HOW = Inference(seed=1, tol=1e-3, max_iter=100, l2=1.0)
DOCS = documents((1, 3, 20, 0, 40))


def infer(engine, case, how=HOW):
    return engine.infer(case.model, case.corpus, case.tables, how)


@pytest.mark.parametrize("part", [Part.ALL, Part.EVEN])
@pytest.mark.parametrize("combination", combinations()[::2], ids=name_of)
def test_vectors_are_those_of_the_processor(combination, part):
    case, how = make_case(DOCS, **combination), replace(HOW, part=part)
    ours, theirs = infer(GpuEngine(), case, how), infer(CpuEngine(1), case, how)
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    some = lengths > 0
    assert (1 - (ours * theirs).sum(axis=1)[some] / lengths[some] < 1e-3).all()
    assert np.linalg.norm(ours - theirs) <= 1e-2 * np.linalg.norm(theirs)
    assert not ours[~some].any()
    assert not theirs[~some].any()
    assert not ours[3].any()


@pytest.mark.parametrize("output", ["negative", "hs", "softmax"])
@pytest.mark.parametrize("combine", ["concat", "mean"])
def test_vectors_without_context_are_those_of_the_processor(combine, output):
    case, how = make_case(DOCS, model="dm", combine=combine, output=output, word_size=None), replace(HOW, context=False)
    ours, theirs = infer(GpuEngine(), case, how), infer(CpuEngine(1), case, how)
    assert np.linalg.norm(ours - theirs) <= 1e-2 * np.linalg.norm(theirs)
    assert not np.allclose(ours, infer(GpuEngine(), case, HOW), atol=0.01)


@pytest.mark.parametrize("combination", combinations()[1::4], ids=name_of)
def test_scores_are_those_of_the_processor(combination):
    case, how = make_case(DOCS, **combination), replace(HOW, part=Part.ODD)
    vectors = infer(CpuEngine(1), case, replace(HOW, part=Part.EVEN))
    ours, theirs = (
        engine.score(case.model, case.corpus, case.tables, how, vectors) for engine in (GpuEngine(), CpuEngine(1))
    )
    assert ours.targets == theirs.targets
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"output": "hs"},
        {"logit": "cosine"},
        {"model": "dm", "combine": "mean"},
        {"output": "softmax"},
        {"output": "softmax", "model": "dm"},
        {"logit": "cosine", "model": "dm", "combine": "mean"},
        pytest.param({"vector_size": 300}, marks=pytest.mark.gpu),  # several warps
        pytest.param({"vector_size": 300, "logit": "cosine"}, marks=pytest.mark.gpu),
    ],
    ids=str,
)
def test_a_document_has_the_same_bits_alone_and_in_any_order(settings):
    case = make_case(DOCS, **settings)
    together = infer(GpuEngine(), case)
    for i in range(len(DOCS)):
        alone = GpuEngine().infer(case.model, case.corpus.between(i, i + 1), case.tables, HOW)
        assert same(alone[0], together[i], case)
    turned = np.arange(len(DOCS))[::-1]
    backwards = GpuEngine().infer(case.model, case.corpus.taking(turned), case.tables, HOW)
    assert same(backwards[turned], together, case)


def same(a, b, case) -> bool:
    """To the bit; but in the interpreter, matrix products are those of the processor, where a row's place counts."""
    by_products = gpu._solver_of(case.model.architecture) is stepped
    return np.allclose(a, b, rtol=1e-3, atol=1e-5) if by_products and interpreted() else np.array_equal(a, b)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "settings",
    [
        {"output": "softmax", "vector_size": 100},
        {"output": "softmax", "vector_size": 130, "logit": "cosine"},
        {"output": "softmax", "vector_size": 30, "model": "dm", "combine": "mean"},
        {"logit": "cosine", "vector_size": 130, "model": "dm", "combine": "sum"},
        {"vector_size": 130, "output": "hs"},
    ],
    ids=str,
)
def test_bits_are_the_same_with_many_words_and_documents(settings):
    rng = np.random.default_rng(0)
    docs = [[f"w{k}" for k in rng.integers(0, 12_003, size=n)] for n in rng.integers(1, 700, size=60)]
    case = make_case(docs, **settings)
    together = infer(GpuEngine(), case)
    for i in range(0, 60, 7):
        alone = GpuEngine().infer(case.model, case.corpus.between(i, i + 1), case.tables, HOW)
        assert np.array_equal(alone[0], together[i])
    half = GpuEngine().infer(case.model, case.corpus.between(21, 60), case.tables, HOW)
    assert np.array_equal(half, together[21:])


@pytest.mark.parametrize("settings", [{}, {"output": "softmax"}, {"logit": "cosine", "model": "dm"}], ids=str)
def test_documents_are_inferred_in_chunks_if_there_is_no_room_for_all(settings, monkeypatch):
    case = make_case(DOCS, **settings)
    whole = infer(GpuEngine(), case)
    monkeypatch.setattr(inference, "_ITEMS_AT_ONCE", 60)
    monkeypatch.setattr(stepped, "_NUMBERS_AT_ONCE", 500)
    module = stepped if settings else inference
    assert len(module._chunks(GpuEngine()._freeze(case.model, case.tables), case.corpus)) > 1
    assert same(infer(GpuEngine(), case), whole, case)


@pytest.mark.parametrize("settings", [{}, {"output": "softmax"}, {"logit": "cosine", "model": "dm"}], ids=str)
def test_a_document_without_a_word_gets_the_zero_vector(settings):
    case = make_case(DOCS, **settings)
    nothing = case.corpus.taking(np.array([3, 3]))
    assert not GpuEngine().infer(case.model, nothing, case.tables, HOW).any()
