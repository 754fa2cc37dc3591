"""Inference on the GPU finds what the processor finds, and is a function of the document alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="engine='gpu' needs PyTorch: make test-triton")
pytest.importorskip("triton", reason="engine='gpu' needs Triton: make test-triton")

from conftest import combinations, documents, make_case, name_of
from paravec.engines.base import Inference, Part
from paravec.engines.cpu import CpuEngine
from paravec.engines.gpu import GpuEngine, inference

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
        assert np.array_equal(alone[0], together[i])
    turned = np.arange(len(DOCS))[::-1]
    backwards = GpuEngine().infer(case.model, case.corpus.taking(turned), case.tables, HOW)
    assert np.array_equal(backwards[turned], together)


def test_documents_are_inferred_in_chunks_if_there_is_no_room_for_all(monkeypatch):
    case = make_case(DOCS)
    whole = infer(GpuEngine(), case)
    monkeypatch.setattr(inference, "_ITEMS_AT_ONCE", 60)
    assert np.array_equal(infer(GpuEngine(), case), whole)


def test_a_document_without_a_word_gets_the_zero_vector():
    case = make_case(DOCS)
    nothing = case.corpus.taking(np.array([3, 3]))
    assert not GpuEngine().infer(case.model, nothing, case.tables, HOW).any()
