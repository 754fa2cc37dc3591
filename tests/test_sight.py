"""Training with sight: held-out scores, early stopping, callbacks, memory told before it is taken."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from conftest import combinations, documents, name_of
from paravec import Epoch, NotEnoughMemoryError, ParagraphVector, memory
from paravec.corpus import Corpus
from paravec.engines.steps import predicted
from paravec.settings import Settings
from paravec.validation import HeldOut


@pytest.fixture(scope="module")
def texts(python_docs):
    return [text for _, text in python_docs[:600]]


@pytest.mark.parametrize("combination", combinations(), ids=name_of)
def test_every_model_is_scored_on_documents_held_out(combination):
    docs = documents([20] * 60, words=12)
    fitted = ParagraphVector(vector_size=9, window=4, epochs=3, min_count=1, validation_fraction=0.2, **combination)
    fitted.fit(docs)
    name = combination["model"]
    scores = fitted.validation_history_[name]
    assert len(scores) == len(fitted.loss_history_[name]) == 3
    assert all(0 < score < 20 for score in scores)


def test_the_score_of_a_model_that_learns_falls_and_is_near_the_loss(texts):
    fitted = ParagraphVector(vector_size=20, epochs=12, output="hs", validation_fraction=0.1, n_jobs=2).fit(texts)
    scores, losses = fitted.validation_history_["dbow"], fitted.loss_history_["dbow"]
    assert scores[-1] < scores[0] - 0.1
    assert losses[-1] < scores[-1] < losses[0] + 0.5  # words not seen are harder than words seen


def test_held_out_documents_are_not_trained_and_get_vectors_in_the_end(texts):
    settings = {"vector_size": 8, "epochs": 2, "validation_fraction": 0.25}
    a = ParagraphVector(**settings).fit(texts)
    assert len(a.document_vectors_) == len(texts)
    assert np.array_equal(a.document_vectors_, a.transform(texts))
    # What the held-out documents say makes no difference to what is learned, as long as the vocabulary stays.
    order = held_out_rows(texts, 0.25)
    other = list(texts)
    for row, text in zip(order, reversed([texts[i] for i in order]), strict=True):
        other[row] = text
    b = ParagraphVector(**settings).fit(other)
    assert np.array_equal(a._fitted.models[0].outputs, b._fitted.models[0].outputs)
    assert a.loss_history_ == b.loss_history_


def held_out_rows(texts, fraction):
    from paravec import encode

    return HeldOut.of(encode(texts).documents, Settings(validation_fraction=fraction), 0).rows


def test_a_fraction_of_the_documents_of_two_words_is_held_out():
    lengths = np.array([0, 1, 5, 2, 1, 9, 3, 4, 2, 2, 7, 6])
    corpus = Corpus(np.arange(lengths.sum(), dtype=np.int32), np.concatenate([[0], np.cumsum(lengths)]))
    for fraction, count in ((0.01, 1), (0.3, 3), (0.5, 4), (0.9, 8)):
        held = HeldOut.of(corpus, Settings(validation_fraction=fraction), seed=5)
        assert len(held.rows) == count
        assert (lengths[held.rows] >= 2).all()
        assert [document.tolist() for document in held.documents] == [corpus[i].tolist() for i in held.rows]
        assert held.mask.sum() == count
    half = Settings(validation_fraction=0.5)
    assert not np.array_equal(HeldOut.of(corpus, half, seed=5).rows, HeldOut.of(corpus, half, seed=6).rows)
    with pytest.raises(ValueError, match=r"validation_fraction=0\.99 leaves nothing to train on: 9 of 12 documents"):
        HeldOut.of(corpus, Settings(validation_fraction=0.99), seed=5)


@pytest.mark.parametrize("context", ["left", "both"])
@pytest.mark.parametrize("model", ["dm", "dm+dbow"])
def test_short_padding_holds_out_documents_that_have_words_to_predict_in_both_halves(model, context):
    window = 4
    settings = Settings(model=model, pad="short", context=context, window=window, validation_fraction=0.9)
    architecture = settings.architectures()[0]
    divided = [n for n in range(30) if {i % 2 for i in predicted(architecture, n)} == {0, 1}]
    assert divided == list(range(architecture.shortest_divided, 30))
    lengths = np.arange(30)
    corpus = Corpus(np.zeros(lengths.sum(), dtype=np.int32), np.concatenate([[0], np.cumsum(lengths)]))
    assert HeldOut.of(corpus, settings, 0).rows.min() >= divided[0]
    short = documents([3] * 50)
    with pytest.raises(ValueError, match=rf"0 of 50 documents have {divided[0]} words or more, as it takes"):
        ParagraphVector(model, pad="short", context=context, window=window, min_count=1, validation_fraction=0.5).fit(
            short
        )


def overfitting(**settings):
    """Random words have nothing to learn: the more a model learns of some, the worse it does on others."""
    rng = np.random.default_rng(0)
    docs = [[f"w{i}" for i in rng.integers(0, 60, size=30)] for _ in range(80)]
    chosen = {"vector_size": 30, "epochs": 60, "learning_rate": 0.2, "min_learning_rate": 0.2, "output": "hs",
              "validation_fraction": 0.2, "min_count": 1}  # fmt: skip
    return ParagraphVector(**{**chosen, **settings}), docs


def test_training_stops_when_the_score_gets_no_better_and_keeps_the_best():
    whole, docs = overfitting()
    scores = whole.fit(docs).validation_history_["dbow"]
    best = int(np.argmin(scores))
    assert best < 50
    stopped, _ = overfitting(patience=3, stop_tol=0.0)
    stopped.fit(docs)
    history = stopped.validation_history_["dbow"]
    first = next(e for e in range(60) if e - int(np.argmin(scores[: e + 1])) >= 3)  # three epochs without a better one
    assert history == scores[: first + 1]
    assert len(stopped.loss_history_["dbow"]) == first + 1
    # The weights are those of the best epoch.
    kept = []
    looked, _ = overfitting(patience=3, stop_tol=0.0)
    looked.fit(docs, callbacks=[lambda epoch: kept.append(epoch.transform(docs))])
    assert np.array_equal(looked.document_vectors_, kept[int(np.argmin(history))])
    assert not np.array_equal(looked.document_vectors_, kept[-1])


def test_a_large_tolerance_stops_at_once():
    stopped, docs = overfitting(patience=1, stop_tol=0.9)
    assert len(stopped.fit(docs).loss_history_["dbow"]) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"patience": 3}, "patience=3 needs documents that are held out; set validation_fraction"),
        ({"patience": 0, "validation_fraction": 0.1}, "patience=0 is too small"),
        ({"validation_fraction": 0}, "validation_fraction=0 is out of range"),
        ({"validation_fraction": 1.0}, "validation_fraction=1.0 is out of range"),
        ({"validation_fraction": math.nan}, "validation_fraction=nan is out of range"),
        ({"validation_fraction": "a"}, "validation_fraction='a' is not a number"),
        ({"validation_fraction": 0.1, "refit_documents": False}, "validation_fraction needs refit_documents=True"),
        ({"stop_tol": -1}, "stop_tol=-1 is out of range"),
    ],
)
def test_wrong_settings_of_validation_are_refused(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ParagraphVector(**settings).fit(["a b", "a c"])


def test_callbacks_are_told_of_every_epoch_and_may_stop(texts):
    seen: list[Epoch] = []

    def look(epoch):
        seen.append(epoch)
        return np.bool_(len(seen) == 5)

    fitted = ParagraphVector("dm+dbow", vector_size=8, epochs=4, combine="mean", validation_fraction=0.1)
    fitted.fit(texts[:200], callbacks=[look])
    assert [(e.model, e.epoch, e.epochs) for e in seen] == [("dm", i, 4) for i in (1, 2, 3, 4)] + [("dbow", 1, 4)]
    assert [e.loss for e in seen] == fitted.loss_history_["dm"] + fitted.loss_history_["dbow"]
    assert [e.validation_loss for e in seen] == fitted.validation_history_["dm"] + fitted.validation_history_["dbow"]
    assert all(e.words_per_second > 0 for e in seen)
    assert all(a.seconds < b.seconds for a, b in itertools.pairwise(seen[:4]))


def test_a_callback_can_look_at_vectors_on_the_way(texts):
    looks = []
    fitted = ParagraphVector(vector_size=8, epochs=3).fit(
        texts[:100], callbacks=[lambda epoch: looks.append(epoch.transform(texts[:3]))]
    )
    assert [look.shape for look in looks] == [(3, 8)] * 3
    assert not np.array_equal(looks[0], looks[2])
    assert np.array_equal(looks[2], fitted.transform(texts[:3]))


def test_an_error_in_a_callback_ends_the_fit_and_leaves_the_estimator_as_it_was(texts):
    fitted = ParagraphVector(vector_size=8, epochs=1).fit(texts[:100])
    before = fitted.document_vectors_

    def fail(epoch):
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        fitted.fit(texts[100:300], callbacks=[fail])
    assert fitted.document_vectors_ is before or np.array_equal(fitted.document_vectors_, before)
    for wrong in (fail, [3], 3):
        with pytest.raises(TypeError, match="callback"):
            fitted.fit(texts, callbacks=wrong)


def test_a_fit_without_the_memory_is_refused_with_what_it_needs(texts, monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10_000_000)
    with pytest.raises(
        NotEnoughMemoryError,
        match=r"training needs [\d.]+ GB of memory \(document vectors .* and 10.0 MB is free; lower",
    ):
        ParagraphVector(vector_size=1_000_000).fit(texts[:200])
    ParagraphVector(vector_size=4, epochs=1).fit(texts[:200])


def test_the_real_machine_refuses_what_it_cannot_hold(texts):
    free = memory.available()
    assert free is not None
    assert 100_000_000 < free < 1e15
    with pytest.raises(MemoryError, match=r"training needs [\d,.]+ GB of memory"):
        ParagraphVector(vector_size=2**31 - 1).fit(texts)


def test_training_is_shown_epoch_by_epoch(texts, capsys):
    ParagraphVector(vector_size=8, epochs=2, validation_fraction=0.1, verbose=1).fit(texts[:100])
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].startswith("training takes ")
    assert shown[1].startswith("dbow epoch 1/2: loss ")
    for part in (", held out ", " M words/s", " left"):
        assert part in shown[1]
    assert shown[2].endswith("0:00:00 left")
