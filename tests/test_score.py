"""The score of documents at given vectors, and inference from a part of their targets."""

from __future__ import annotations

import signal
import time
from dataclasses import replace

import numpy as np
import pytest

from conftest import combinations, documents, make_case, name_of
from paravec import _core
from paravec.corpus import Corpus
from paravec.engines import steps as definition
from paravec.engines.base import Inference, Part, Tally
from paravec.engines.cpu import CpuEngine
from paravec.engines.reference import ReferenceEngine

HOW = {part: Inference(seed=1, tol=1e-3, max_iter=100, l2=1.0, part=part) for part in Part}
LENGTHS = (1, 2, 3, 5, 8, 13, 34, 0, 4)


def score(case, part: Part, vectors, engine=None):
    engine = engine or CpuEngine(1)
    return engine.score(case.model, case.corpus, case.tables, HOW[part], vectors)


@pytest.mark.parametrize("kernels", _core.available_kernels())
@pytest.mark.parametrize("combination", combinations(), ids=name_of)
def test_scores_follow_the_reference(combination, kernels):
    case = make_case(documents(LENGTHS), **combination)
    for part in Part:
        ours = score(case, part, case.model.documents, CpuEngine(1, kernels))
        theirs = score(case, part, case.model.documents, ReferenceEngine())
        assert ours.targets == theirs.targets > 0
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)


@pytest.mark.parametrize("combination", combinations(), ids=name_of)
def test_even_and_odd_targets_are_all_targets(combination):
    case = make_case(documents((*LENGTHS, 1500)), **combination)
    every, even, odd = (score(case, part, case.model.documents) for part in Part)
    assert every.targets == even.targets + odd.targets
    assert every.objective == pytest.approx(even.objective + odd.objective, rel=1e-5)


@pytest.mark.parametrize("combination", combinations(), ids=name_of)
def test_vectors_inferred_from_even_targets_predict_them_better_than_zero_does(combination):
    case = make_case(documents(LENGTHS), **combination)
    inferred = CpuEngine(1).infer(case.model, case.corpus, case.tables, HOW[Part.EVEN])
    at_inferred, at_zero = (score(case, Part.EVEN, vectors).objective for vectors in (inferred, 0 * inferred))
    assert at_inferred > at_zero


@pytest.mark.parametrize("part", Part)
@pytest.mark.parametrize(
    "settings",
    [
        {"model": "dbow"},
        {"model": "dbow", "ngrams": 2},
        {"model": "dbow", "train_words": True},
        {"model": "dbow", "logit": "cosine"},
        {"model": "dm", "combine": "sum", "pad": "short", "context": "both"},
        {"model": "dm", "combine": "concat", "word_size": 7, "batch_size": 3},
    ],
    ids=str,
)
def test_the_softmax_is_the_one_of_the_textbook(settings, part):
    case = make_case(documents(LENGTHS), output="softmax", window=3, **settings)
    exact = case.model.astype(np.float64)
    expected, targets = 0.0, 0
    for i in range(len(case.corpus)):
        tokens = case.corpus[i].tolist()
        for t in predicted(case, len(tokens)):
            if part is Part.ALL or t % 2 == (part is Part.ODD):
                y = textbook_logits(exact, tokens, t, exact.documents[i])
                expected += y[tokens[t]] - np.log(np.exp(y).sum())
                targets += 1
    ours = score(case, part, case.model.documents)
    assert ours.targets == targets
    assert ours.objective == pytest.approx(expected, rel=1e-5)


def predicted(case, n: int) -> list[int]:
    """With a window of 3, ``pad="short"`` and contexts on both sides: two words are wanted on each side."""
    if case.settings.pad == "all":
        return list(range(n))
    return list(range(2, n - 2)) or list(range(n))[n // 2 : n // 2 + 1]


def textbook_logits(model, tokens, t, d):
    """All logits of the target at t, with a window of 3."""
    h = d
    if model.architecture.is_dm:
        around = [t - 2, t - 1] + ([t + 1, t + 2] if model.architecture.context == "both" else [])
        null = len(model.words) - 1
        context = [model.words[tokens[s] if 0 <= s < len(tokens) else null] for s in around]
        known = [w for s, w in zip(around, context, strict=True) if 0 <= s < len(tokens)]
        h = d + sum(known) if model.architecture.combine == "sum" else np.concatenate([d, *context])
    if model.architecture.logit == "cosine":
        lengths = np.linalg.norm(model.outputs, axis=1) * np.linalg.norm(h)
        return model.architecture.cosine_scale * (model.outputs @ h) / lengths
    return model.outputs @ h + model.bias


@pytest.mark.parametrize("combination", combinations()[::2], ids=name_of)
def test_scores_have_the_same_bits_at_any_thread_count(combination):
    case = make_case(documents([50, 3, 700, 1, 20] * 8), **combination)
    for part in Part:
        scores = {score(case, part, case.model.documents, CpuEngine(n)).objective for n in (1, 2, 3, 8)}
        assert len(scores) == 1


@pytest.mark.parametrize("engine", [CpuEngine(1), ReferenceEngine()], ids=["cpu", "reference"])
@pytest.mark.parametrize("logit", ["dot", "cosine"])
@pytest.mark.parametrize("model", ["dbow", "dm"])
def test_a_document_without_a_target_that_counts_is_zero_and_scores_nothing(model, logit, engine):
    case = make_case([["a"], ["a", "b"], [], ["b", "a", "c"]], model=model, logit=logit)
    for part, known in ((Part.ALL, [1, 1, 0, 1]), (Part.EVEN, [1, 1, 0, 1]), (Part.ODD, [0, 1, 0, 1])):
        vectors = engine.infer(case.model, case.corpus, case.tables, HOW[part])
        assert vectors.any(axis=1).tolist() == known
    targets = [score(case, part, case.model.documents, engine).targets for part in Part]
    assert targets == [6, 4, 2]
    nothing = replace(case, corpus=Corpus(case.corpus.tokens[:1], np.array([0, 1])))
    assert score(nothing, Part.ODD, case.model.documents[:1], engine) == Tally(0.0, 0)


@pytest.mark.parametrize("output", ["hs", "negative"])
@pytest.mark.parametrize("model", ["dbow", "dm"])
def test_a_document_longer_than_any_buffer_is_inferred_from_its_even_targets(model, output):
    case = make_case(documents([1501]), model=model, output=output, combine="sum")
    how = replace(HOW[Part.EVEN], tol=1e-6)
    d = CpuEngine(1).infer(case.model, case.corpus, case.tables, how)
    at = replace(case.model, documents=d).astype(np.float64)
    gradient = np.zeros_like(at.documents[0])
    for step in definition.frozen_steps(at.architecture, case.tables, case.corpus[0], 0, how):
        gradient += sum(g for array, _, g in definition.gradients(at, case.tables, step) if array is at.documents)
    assert np.linalg.norm(gradient - how.l2_of(751) * d[0]) < 1e-4 * np.linalg.norm(gradient)


def test_positions_are_those_in_the_document_not_among_predicted_words():
    case = make_case([["a", "b", "c", "a", "d"]], model="dm", combine="sum", window=4, pad="short")
    steps = definition.frozen_steps(case.model.architecture, case.tables, case.corpus[0], 0, HOW[Part.EVEN])
    assert [step.position for step in steps] == [4]
    assert [score(case, part, case.model.documents).targets for part in Part] == [2, 1, 1]


def test_an_interrupt_stops_a_score_inside_a_long_document():
    case = make_case(vector_size=300, negative=20)
    tokens = np.tile(case.corpus.tokens, 30_000)
    long = replace(case, corpus=Corpus(tokens, np.array([0, len(tokens)])))

    def ring(*_):
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    began = time.time()
    try:
        with pytest.raises(TimeoutError):
            score(long, Part.ALL, case.model.documents[:1])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.time() - began < 1.3


def test_vectors_of_another_shape_are_refused():
    case = make_case()
    for wrong in (case.model.documents[1:], case.model.documents[:, 1:]):
        with pytest.raises(ValueError, match="a vector for each document"):
            score(case, Part.ALL, wrong)
