from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from conftest import combinations, documents, make_case, name_of
from paravec import DivergedError, ParagraphVector, UnknownWordsWarning, training
from paravec.engines.base import Pass, Tables
from paravec.engines.cpu import CpuEngine
from paravec.settings import Settings
from paravec.vocab import Vocabulary

UNEVEN = [1, 2000, 3, 1, 1, 500, 2, 7] * 30 + [1] * 100
SOME = (1, 2, 3, 5, 8, 13, 21, 34, 70, 12, 4)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("model", ["dbow", "dm"])
def test_every_document_is_visited_once_an_epoch(n_jobs, model):
    case = make_case(documents([*UNEVEN, 0, 0]), model=model, combine="mean")
    before = case.model.documents.copy()
    tally = CpuEngine(n_jobs).train(case.model, case.corpus, case.tables, case.work())
    # Each visit takes all the steps of its document: all are moved, and the sum of steps is right, so each came once.
    moved = (case.model.documents != before).any(axis=1)
    assert np.array_equal(moved, case.corpus.lengths > 0)
    assert tally.targets == len(case.corpus.tokens)


def test_one_thread_gives_the_same_bits_again():
    docs = documents(UNEVEN)
    a, b = (ParagraphVector(vector_size=8, epochs=2, min_count=1).fit(docs) for _ in range(2))
    assert np.array_equal(a._fitted.models[0].outputs, b._fitted.models[0].outputs)
    assert np.array_equal(a.document_vectors_, b.document_vectors_)


@pytest.mark.parametrize("model", ["dbow", "dm"])
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_deterministic_training_bears_passes_of_empty_documents_only(model, engine):
    settings = {"vector_size": 3, "min_count": 1, "epochs": 10, "deterministic": True, "engine": engine}
    with pytest.warns(UnknownWordsWarning):
        fitted = ParagraphVector(model=model, **settings).fit([[], ["a", "b", "c"] * 5])
    assert np.isfinite(fitted.document_vectors_).all()


def test_deterministic_training_gives_the_same_bits_at_any_thread_count():
    docs = documents(UNEVEN)
    settings = {"model": "dm+dbow", "combine": "mean", "window": 3, "vector_size": 8, "epochs": 2, "min_count": 1}
    a = ParagraphVector(**settings, deterministic=True, n_jobs=1).fit(docs)
    b = ParagraphVector(**settings, deterministic=True, n_jobs=4).fit(docs)
    assert np.array_equal(a.document_vectors_, b.document_vectors_)
    assert np.array_equal(a.word_vectors_, b.word_vectors_)


@pytest.mark.parametrize("settings", [{"output": "hs"}, {"output": "softmax"}, {"train_words": True}], ids=str)
def test_deterministic_training_of_the_other_outputs(settings):
    docs = documents(UNEVEN)
    fits = [
        ParagraphVector(vector_size=8, epochs=1, min_count=1, window=3, deterministic=True, n_jobs=n, **settings).fit(
            docs
        )
        for n in (1, 3)
    ]
    assert np.array_equal(fits[0].document_vectors_, fits[1].document_vectors_)


def test_documents_side_by_side_are_as_many_as_suit_the_model():
    sizes = {
        (combine, output): [
            a.batch_size for a in Settings(model="dm+dbow", combine=combine, output=output).architectures()
        ]
        for combine in ("concat", "mean", "sum")
        for output in ("negative", "hs", "softmax")
    }
    assert sizes == {
        ("concat", "negative"): [16, 16],
        ("mean", "negative"): [4, 16],
        ("sum", "negative"): [4, 16],
        **{(combine, "hs"): [2, 16] for combine in ("concat", "mean", "sum")},
        **{(combine, "softmax"): [16, 16] for combine in ("concat", "mean", "sum")},
    }
    assert Settings(model="dm", batch_size=3).architectures()[0].batch_size == 3


def test_another_seed_gives_another_model():
    docs = documents(SOME)
    a, b = (ParagraphVector(vector_size=8, min_count=1, random_state=s).fit_transform(docs) for s in (0, 1))
    assert not np.allclose(a, b)


def test_the_learning_rate_falls_in_a_straight_line_over_tokens():
    settings = Settings(learning_rate=1.0, min_learning_rate=0.0, epochs=2)
    architecture = settings.architectures()[0]
    lengths = np.array([1, 3, 6])
    assert np.allclose(training.rates(settings, architecture, 0, lengths), [1.0, 0.95, 0.8])
    assert np.allclose(training.rates(settings, architecture, 1, lengths), [0.5, 0.45, 0.3])


@pytest.mark.parametrize(("documents", "ends"), [(4, [4]), (7, [4, 7]), (13, [5, 9, 13]), (16, [4, 8, 12, 16])])
def test_an_epoch_is_cut_into_slices_of_about_the_same_work(documents, ends, monkeypatch):
    architecture = Settings(vector_size=10, negative=4).architectures()[0]
    tables = Tables.of(architecture, Vocabulary.of_words(["a", "b"], np.array([2, 1])), 0.0)
    monkeypatch.setattr("paravec.training._WORK_OF_A_SLICE", 5 * 10 * 400)  # four documents of 100 words
    assert training.slice_ends(architecture, tables, np.full(documents, 100)) == ends


def test_the_loss_is_true_and_falls(python_docs):
    texts = [text for _, text in python_docs[:1500]]
    fitted = ParagraphVector(vector_size=20, epochs=8, n_jobs=2).fit(texts)
    losses = fitted.loss_history_["dbow"]
    assert losses[0] == pytest.approx(6 * np.log(2), rel=0.35)  # six coins a target before anything is learned
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))


def test_loss_of_an_untrained_softmax_is_the_logarithm_of_the_vocabulary():
    case = make_case(output="softmax", batch_size=60_000)
    case.model.outputs[:], case.model.bias[:] = 0, 0
    tally = CpuEngine().train(case.model, case.corpus, case.tables, case.work())
    assert -tally.objective / tally.targets == pytest.approx(np.log(case.vocabulary.size), rel=1e-6)


def test_threads_learn_as_well_as_one(python_docs):
    texts = [text for _, text in python_docs[:5000]]
    losses = [
        ParagraphVector(vector_size=20, epochs=5, n_jobs=n, refit_documents=False).fit(texts).loss_history_["dbow"][-1]
        for n in (1, 4)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)


def test_subsampling_keeps_frequent_words_as_often_as_it_says():
    docs = [["the"] * 50 + [f"w{i}"] for i in range(400) for _ in range(2)]
    case = make_case(docs, sample=1e-2)
    targets = [CpuEngine().train(case.model, case.corpus, case.tables, case.work(epoch)).targets for epoch in range(10)]
    assert len(set(targets)) > 1  # every epoch draws anew
    frequency = 50 / 51
    kept = np.sqrt(1e-2 / frequency) + 1e-2 / frequency
    expected = len(docs) * (1 + 50 * kept)
    assert np.mean(targets) == pytest.approx(expected, rel=0.015)


def test_a_pass_over_some_documents_touches_no_others():
    case = make_case()
    before = case.model.documents.copy()
    CpuEngine(2).train(
        case.model, case.corpus, case.tables, Pass(1, 0, np.array([8, 3]), np.full(2, 0.05, dtype=np.float32))
    )
    assert set(np.flatnonzero((case.model.documents != before).any(axis=1))) == {3, 8}


@pytest.mark.parametrize(("model", "train_words"), [("dm", False), ("dbow", True), ("dm+dbow", False)])
def test_given_word_vectors_are_where_training_starts_and_stay_if_frozen(model, train_words):
    docs = documents(SOME)
    given = {"w1": np.full(8, 0.3), "w2": np.full(8, -0.2), "unheard": np.ones(8)}
    settings = {"model": model, "train_words": train_words, "vector_size": 8, "min_count": 1, "window": 3}
    settings["learning_rate"] = 0.002
    for combine in ("concat", "mean", "sum"):
        frozen = ParagraphVector(**settings, combine=combine, word_vectors=given, freeze_words=True).fit(docs)
        row = frozen.vocabulary_
        assert np.array_equal(frozen.word_vectors_[row["w1"]], np.full(8, 0.3, dtype=np.float32))
        assert np.array_equal(frozen.word_vectors_[row["w2"]], np.full(8, -0.2, dtype=np.float32))
        free = ParagraphVector(**settings, combine=combine, word_vectors=given).fit(docs)
        assert not np.array_equal(free.word_vectors_[row["w1"]], np.full(8, 0.3, dtype=np.float32))
        assert np.allclose(free.word_vectors_[row["w1"]], 0.3, atol=0.2)
        untouched = ParagraphVector(**settings, combine=combine).fit(docs)
        assert not np.allclose(untouched.word_vectors_[row["w1"]], 0.3, atol=0.2)


@pytest.mark.parametrize("output", ["negative", "hs", "softmax"])
def test_a_rate_that_blows_up_is_reported_with_epoch_and_rate(output):
    estimator = ParagraphVector(vector_size=8, min_count=1, output=output, learning_rate=1e30, epochs=5)
    with pytest.raises(DivergedError, match=r"the loss is .* in epoch \d of 5, at learning_rate=1e\+30"):
        estimator.fit(documents(SOME))
    assert not hasattr(estimator, "loss_history_")


LONG_RUN = """
    import sys, time, numpy as np
    from paravec import ParagraphVector
    doc = [f"w{i}" for i in np.random.default_rng(0).integers(0, 5000, size=3_000_000)]
    estimator = ParagraphVector(vector_size=200, epochs=1000, n_jobs=2, verbose=1, **%s)
    print("ready", flush=True)
    try:
        estimator.fit([doc, doc[:10]])
    except KeyboardInterrupt:
        assert not hasattr(estimator, "loss_history_")
        try:
            estimator.transform([doc[:3]])
        except Exception as error:
            print("stopped", type(error).__name__, time.time(), flush=True)
"""


@pytest.mark.parametrize("settings", [{"negative": 5}, {"output": "hs"}, {"model": "dm", "combine": "mean"}], ids=str)
def test_an_interrupt_stops_within_a_second_inside_a_long_document(settings):
    command = [sys.executable, "-c", textwrap.dedent(LONG_RUN % settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline().startswith("ready")
        time.sleep(6)
        assert run.poll() is None
        sent = time.time()
        os.kill(run.pid, signal.SIGINT)
        word, error, when = run.stdout.readline().split()
        assert (word, error) == ("stopped", "NotFittedError")
        assert float(when) - sent < 1.0
        assert run.wait(timeout=10) == 0


def test_ids_beyond_the_vocabulary_never_reach_the_arrays():
    case = make_case()
    wrong = type(case.corpus)(np.array([0, case.vocabulary.size], dtype=np.int32), np.array([0, 2]))
    with pytest.raises(ValueError, match="token ids that the model does not know"):
        CpuEngine().train(case.model, wrong, case.tables, Pass(1, 0, np.array([0]), np.ones(1, dtype=np.float32)))


def test_arrays_of_another_precision_are_refused_not_copied():
    case = make_case()
    case.model.documents = case.model.documents.astype(np.float64)
    with pytest.raises(TypeError):
        CpuEngine().train(case.model, case.corpus, case.tables, case.work())


@pytest.mark.parametrize("combination", [c for c in combinations() if c["context"] == "left"], ids=name_of)
def test_default_rates_are_stable_on_a_real_corpus(combination, python_docs):
    texts = [text for _, text in python_docs[:400]]
    combination.pop("word_size", None)
    settings = {"vector_size": 20, "window": 5, "min_count": 5, "epochs": 3, "n_jobs": 2, "refit_documents": False}
    (losses,) = ParagraphVector(**settings, **combination).fit(texts).loss_history_.values()
    assert losses[-1] < losses[0]


def test_divergence_is_noticed_while_numbers_are_still_finite():
    docs = [text.split() for text in ("the cat sat on the mat", "the dog sat on the rug", "stocks fell on monday")] * 50
    with pytest.raises(DivergedError, match="lower it"):
        ParagraphVector(learning_rate=0.8, epochs=10).fit(docs)


def test_subsampling_everything_away_is_an_error():
    with pytest.raises(ValueError, match="sample=1e-12 left no word to predict in epoch 1; raise it"):
        ParagraphVector(vector_size=4, min_count=1, sample=1e-12).fit(documents(SOME))


def test_given_words_that_match_nothing_are_an_error():
    with pytest.raises(ValueError, match="none of the 1 words of word_vectors is among the"):
        ParagraphVector("dm", vector_size=4, min_count=1, word_vectors={"W1": [0.0] * 4}).fit(documents(SOME))
