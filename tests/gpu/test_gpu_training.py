"""A launch of one document at a time follows the reference; the draws of every launch are those of every engine."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="engine='gpu' needs PyTorch: make test-triton")
pytest.importorskip("triton", reason="engine='gpu' needs Triton: make test-triton")

from conftest import combinations, documents, make_case, name_of
from paravec import draws
from paravec.draws import Purpose
from paravec.engines import base
from paravec.engines import steps as definition
from paravec.engines.base import Crowd, Pass, Tally
from paravec.engines.cpu import CpuEngine
from paravec.engines.devices import interpreted
from paravec.engines.gpu import GpuEngine, softmax, training
from paravec.engines.gpu.kernels import documents as kernels
from paravec.engines.reference import ReferenceEngine

FEW = (3, 8, 1, 12, 0, 5)


@pytest.fixture(autouse=True)
def products_with_all_bits(monkeypatch):
    """Of the exact softmax: those of tensor cores are too rough to be compared with the reference."""
    monkeypatch.setattr(softmax, "PRECISION", "ieee")


def one_by_one(case, engine, model) -> tuple[float, int]:
    """A pass in which every document is alone on the device, and in a run of its own."""
    work = case.work()
    tallies = []
    for i in range(len(work.order)):
        alone = Pass(work.seed, work.epoch, work.order[i : i + 1], work.rates[i : i + 1])
        tallies.append(engine.train(model, case.corpus, case.tables, alone))
    engine.settle(model)
    return sum(tally.objective for tally in tallies), sum(tally.targets for tally in tallies)


def assert_follows(case, room: int | None = None) -> None:
    """|A - B| <= 1e-4 |B - B0| in the Frobenius norm, and the objective to float accuracy."""
    start, exact = case.model.astype(np.float64), case.model.astype(np.float64)
    architecture = case.model.architecture
    at_once = architecture.batch_size if architecture.output == "softmax" else 1
    crowd = Crowd.of(architecture, case.tables, len(case.corpus), at_once)
    ours = one_by_one(case, GpuEngine(room=room), case.model)
    theirs = one_by_one(case, ReferenceEngine(crowd=crowd), exact)
    assert ours[1] == theirs[1]
    assert ours[0] == pytest.approx(theirs[0], rel=1e-5)
    assert_near(case.model, exact, start)


def assert_near(model, exact, start) -> None:
    for name in ("documents", "words", "outputs", "bias"):
        a, b, b0 = (getattr(m, name) for m in (model, exact, start))
        if a is not None:
            assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b - b0), name
            assert np.linalg.norm(b - b0) > 0


@pytest.mark.parametrize("combination", combinations()[::2], ids=name_of)
def test_a_document_follows_the_reference(combination):
    assert_follows(make_case(documents(FEW), **combination))


@pytest.mark.parametrize(
    "settings",
    [
        {"sample": 0.02},
        {"sample": 0.02, "output": "hs", "model": "dm", "combine": "mean"},
        {"sample": 0.05, "ngrams": 3, "train_words": True, "context": "both", "ngram_min_count": 1},
        {"sample": 0.02, "output": "softmax", "train_words": True},
        {"negative": 1},
        {"negative": 20},
        {"vector_size": 130, "model": "dm", "combine": "concat", "output": "hs"},
        {"batch_size": 1},
    ],
    ids=str,
)
def test_other_settings_follow_the_reference(settings):
    assert_follows(make_case(documents(FEW), **settings))


@pytest.mark.parametrize("model", ["dbow", "dm"])
@pytest.mark.parametrize("output", ["negative", "softmax"])
def test_frozen_rows_of_words_stay_to_the_bit(model, output):
    case = make_case(documents(FEW), model=model, combine="mean", train_words=model == "dbow", output=output)
    before = case.model.words.copy()
    case.model.trainable = (np.arange(len(before)) % 2).astype(np.uint8)
    assert_follows(case)
    same = (case.model.words == before).all(axis=1)
    assert same[case.model.trainable == 0].all()


@pytest.mark.parametrize(
    "settings", [{}, {"train_words": True}, {"model": "dm", "combine": "sum"}, {"model": "dm"}], ids=str
)
def test_documents_of_a_run_have_the_noise_words_of_every_engine(settings, monkeypatch):
    """In the interpreter documents come one after another, so that a whole pass can be compared."""
    if not interpreted():
        pytest.skip("on a GPU documents are in flight together: only in Triton's interpreter")
    monkeypatch.setattr(training, "programs_at_once", lambda *_: 50)
    case = make_case(documents((5, 1, 9, 0, 2, 7, 3, 1)), batch_size=3, **settings)
    start, exact = case.model.astype(np.float64), case.model.astype(np.float64)
    ours, work = GpuEngine(), case.work()
    ours.train(case.model, case.corpus, case.tables, work)
    ours.settle(case.model)
    ahead = training._STEPS_AHEAD  # of programs of one warp
    at_once = 1 + ahead * (int((case.corpus.lengths > 0).sum()) - 1)
    crowd = Crowd.of(case.model.architecture, case.tables, len(case.corpus), at_once)
    assert crowd.outputs.min() < 0.9
    ReferenceEngine(crowd=crowd).train(exact, case.corpus, case.tables, work)
    assert_near(case.model, exact, start)


@pytest.mark.parametrize(
    "settings", [{}, {"model": "dm"}, {"model": "dm", "combine": "mean", "logit": "cosine"}], ids=str
)
def test_a_large_batch_of_the_exact_softmax_takes_the_next_step_of_many_documents(settings, monkeypatch):
    monkeypatch.setattr(base, "A_CROWD", 1)
    case = make_case(documents((5, 1, 9, 0, 2, 7, 3, 1)), batch_size=5, output="softmax", **settings)
    start, exact = case.model.astype(np.float64), case.model.astype(np.float64)
    engine, work = GpuEngine(), case.work()
    ours = engine.train(case.model, case.corpus, case.tables, work)
    engine.settle(case.model)
    crowd = Crowd.of(case.model.architecture, case.tables, len(case.corpus), 5)
    assert crowd.outputs.min() < 0.95
    theirs = ReferenceEngine(crowd=crowd).train(exact, case.corpus, case.tables, work)
    assert ours.targets == theirs.targets
    assert_near(case.model, exact, start)


def test_steps_of_the_exact_softmax_are_listed_some_documents_at_a_time(monkeypatch):
    monkeypatch.setattr(softmax, "_NUMBERS_AT_ONCE", 1)  # one
    case = make_case(documents(FEW), batch_size=5, output="softmax", model="dm")
    start, exact = case.model.astype(np.float64), case.model.astype(np.float64)
    engine = GpuEngine()
    engine.train(case.model, case.corpus, case.tables, case.work())
    engine.settle(case.model)
    crowd = Crowd.of(case.model.architecture, case.tables, len(case.corpus), 5)
    one_by_one(case, ReferenceEngine(crowd=crowd), exact)
    assert_near(case.model, exact, start)


@pytest.mark.parametrize("size", [1, 5, 16, 64, 1000])
@pytest.mark.parametrize("steps", [[], [0], [3, 0, 5], [400, 1, 2], [90] * 9, [7, 7, 300, 40]], ids=str)
def test_no_batch_takes_many_steps_of_one_document(steps, size):
    turns = [turn for turn in range(max(steps, default=0)) for n in steps if n > turn]
    ends = base.batch_ends(np.array(steps, dtype=np.int64), size)
    assert ([0, *ends])[-1] == sum(steps)
    for first, end in itertools.pairwise([0, *ends]):
        assert 0 < end - first <= size
        assert turns[end - 1] - turns[first] < base.STEPS_AT_ONCE
        whole = end == len(turns) or end - first == size or turns[end] - turns[first] == base.STEPS_AT_ONCE
        assert whole


def test_documents_may_come_and_go_shard_by_shard(monkeypatch):
    monkeypatch.setattr(training, "_sixteens", lambda _: 1)  # one document at a time, on a GPU too
    monkeypatch.setattr(base, "RUN_TOKENS", 40)
    monkeypatch.setattr(base, "RUN_DOCUMENTS", 2)
    whole, parts = (make_case(documents((10, 20, 30, 15) * 4), vector_size=4, sample=0.01) for _ in range(2))
    found = []
    for case, room in ((whole, None), (parts, 9_000)):
        engine = GpuEngine(room=room)
        tally = engine.train(case.model, case.corpus, case.tables, case.work())
        engine.settle(case.model)
        sources = list(engine._held.sources(case.model.architecture, case.work()))
        found.append((len(sources), tally.targets))
    assert found[0] == (1, found[1][1])
    assert found[1][0] > 1
    for name in ("documents", "outputs"):
        assert np.allclose(getattr(whole.model, name), getattr(parts.model, name), atol=1e-4)


def test_null_is_a_busy_row_where_documents_are_short():
    case = make_case(documents([3] * 40), model="dm", window=4)
    of_words = Crowd.visits(case.model.architecture, case.tables, len(case.corpus))[1]
    nulls = np.mean([sum(max(0, 3 - t) for t in range(3)) / 3])  # of the three words before each of three
    assert of_words[-1] == pytest.approx(nulls, rel=0.5)
    assert of_words[:-1].sum() == pytest.approx(3)
    whole = make_case(documents([3] * 40), model="dm", window=4, pad="short")
    assert Crowd.visits(whole.model.architecture, whole.tables, 40)[1][-1] > 0


def test_a_crowd_takes_a_part_of_every_change():
    case = make_case(output="hs")
    alone, many = (Crowd.of(case.model.architecture, case.tables, len(case.corpus), n) for n in (1, 1000))
    assert (alone.outputs == 1).all()
    assert many.outputs[0] == many.outputs.min() < 0.05  # the root
    assert (many.outputs > 0).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"output": "hs"},
        {"logit": "cosine"},
        {"train_words": True, "window": 3},
        {"model": "dm", "combine": "concat", "output": "hs"},
        {"model": "dm", "combine": "mean", "context": "both"},
    ],
    ids=str,
)
def test_an_exact_launch_adds_up_what_the_reference_says(settings, monkeypatch):
    """U and W stay as they are, only d moves; then all changes come in, busy rows taking a part of theirs."""
    case = make_case(documents((5, 1, 9, 0, 2, 7)), batch_size=2, **settings)
    monkeypatch.setattr(training, "TARGETS_AT_ONCE", 20)
    start, exact = case.model.astype(np.float64), case.model.astype(np.float64)
    engine, work = GpuEngine(deterministic=True), case.work()
    ours = engine.train(case.model, case.corpus, case.tables, work)
    engine.settle(case.model)
    theirs = summed(exact, case, work)
    assert ours.targets == theirs.targets
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-5)
    assert_near(case.model, exact, start)


def summed(model, case, work) -> Tally:
    architecture = model.architecture
    key = draws.stream(work.seed, Purpose.NOISE, work.epoch, architecture.is_dm)
    steps_of_a_target = 1 + architecture.slots * architecture.train_words
    at_once = int(case.corpus.lengths.sum()) * steps_of_a_target
    crowd = Crowd.of(architecture, case.tables, len(case.corpus), at_once)
    free, total, count, late = [0] * architecture.batch_size, 0.0, 0, []
    for steps in ReferenceEngine()._documents(architecture, case.tables, case.corpus, work):
        seat = free.index(min(free))
        for number, step in enumerate(steps, free[seat]):
            noise = definition.noise_words(architecture, case.tables, key, int(work.order[0]), number)
            now = replace(step, noise=noise)
            total += definition.objective(model, case.tables, now)
            for array, rows, change in list(definition.gradients(model, case.tables, now)):
                if array is model.documents:
                    array[rows] += step.rate * change
                else:
                    part = (crowd.words if array is model.words else crowd.outputs)[rows]
                    late.append((array, rows, step.rate * (part * change.T).T))
        free[seat] += len(steps)
        count += len(steps)
    for array, rows, change in late:
        np.add.at(array, rows, change)
    return Tally(total, count)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"output": "hs"},
        {"output": "softmax"},
        {"train_words": True},
        {"model": "dm", "combine": "mean"},
        {"storage": "bfloat16"},
    ],
    ids=str,
)
def test_deterministic_training_can_be_repeated_to_the_bit(settings, monkeypatch):
    docs = documents((40, 3, 9, 1)) if interpreted() else documents([60, 100, 9, 250] * 500, words=300)
    monkeypatch.setattr(training, "DOCUMENTS_AT_ONCE", 3 if interpreted() else 700)
    found = []
    for _ in range(2):
        case = make_case(docs, sample=0.02, **settings)
        engine = GpuEngine(deterministic=True, half="storage" in settings)
        tally = engine.train(case.model, case.corpus, case.tables, case.work())
        engine.settle(case.model)
        found.append((tally, case.model))
    assert found[0][0] == found[1][0]
    for name, array in found[0][1].arrays().items():
        assert np.array_equal(array, getattr(found[1][1], name)), name


@pytest.mark.gpu
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"output": "hs"},
        {"model": "dm"},
        {"model": "dm", "combine": "mean"},
        {"logit": "cosine"},
        {"output": "softmax", "batch_size": 128},
    ],
    ids=str,
)
def test_documents_in_flight_together_learn_as_well(settings, monkeypatch):
    monkeypatch.setattr(softmax, "PRECISION", "tf32")
    docs = documents([60] * 2000, words=300)
    losses = []
    for engine in (GpuEngine(), GpuEngine(half="output" not in settings), CpuEngine(1)):
        ours = isinstance(engine, GpuEngine)
        case = make_case(docs, **{"vector_size": 20, **settings, **({} if ours else {"batch_size": 7})})
        model = replace(case.model, documents=case.model.documents * 0.1, outputs=case.model.outputs * 0)
        tallies = [engine.train(model, case.corpus, case.tables, case.work(epoch)) for epoch in range(3)]
        losses.append([-tally.objective / tally.targets for tally in tallies])
    whole, half, processor = losses
    assert whole[2] < whole[1] < whole[0]
    assert whole[2] < processor[2] * 1.03
    assert half[2] < whole[2] * 1.02


def test_frozen_words_stay_to_the_bit_though_numbers_have_16():
    case = make_case(documents(FEW), model="dm", combine="mean")
    before = case.model.words.copy()
    case.model.trainable = (np.arange(len(before)) % 2).astype(np.uint8)
    engine = GpuEngine(half=True)
    engine.train(case.model, case.corpus, case.tables, case.work())
    engine.settle(case.model)
    frozen = case.model.trainable == 0
    assert np.array_equal(case.model.words[frozen], before[frozen])
    assert not np.array_equal(case.model.words[~frozen], before[~frozen])


def test_numbers_of_16_bits_are_rounded_up_or_down_such_that_they_are_right_in_the_mean():
    n, step = 1 << 14, 1 / 128  # of such numbers from 1 to 2
    device = GpuEngine().device
    array = torch.where(torch.arange(n, device=device) % 2 == 0, 1.0, -1.0).to(torch.bfloat16)
    sign = array.float().cpu().numpy()
    changes = torch.full((n,), round(0.3 * step * 2**40), dtype=torch.int64, device=device)
    kernels.add_changes[(n // 1024,)](array, changes, n, 12345, HALF=training.half(array), BLOCK=1024)
    found = (array.float().cpu().numpy() - sign) / step  # numbers below 1 are twice as near to each other
    assert set(found[sign > 0].tolist()) == {0.0, 1.0}
    assert set(found[sign < 0].tolist()) == {0.0, 0.5}
    for which in (sign > 0, sign < 0):
        assert found[which].mean() == pytest.approx(0.3, abs=0.02)
    assert not changes.any()
    broken = torch.full((1024,), torch.nan, dtype=torch.bfloat16, device=device)
    kernels.add_changes[(1,)](broken, changes[:1024] + 5, 1024, 1, HALF=training.half(broken), BLOCK=1024)
    assert broken.isnan().all()


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"output": "hs"},
        {"train_words": True, "window": 3},
        pytest.param({"model": "dm"}, marks=pytest.mark.gpu),  # a word may stand in a window twice
        {"model": "dm", "combine": "mean"},
    ],
    ids=str,
)
def test_training_with_numbers_of_16_bits_is_near_the_other(settings, exact):
    found = []
    for half in (False, True):
        case = make_case(documents((20, 30, 25)), **settings)
        model = replace(case.model, outputs=case.model.outputs * 0)
        engine = GpuEngine(deterministic=exact, half=half)
        engine.train(model, case.corpus, case.tables, case.work())
        engine.settle(model)
        found.append(model)
    for name in ("documents", "outputs"):
        whole, half = (getattr(model, name) for model in found)
        assert np.linalg.norm(half - whole) < 0.1 * np.linalg.norm(whole), name
    assert not (found[1].outputs.copy().view(np.uint32) & 0xFFFF).any()
    if found[1].words is not None:
        assert not (found[1].words.copy().view(np.uint32) & 0xFFFF).any()
