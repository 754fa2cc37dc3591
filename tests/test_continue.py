"""Training that goes on from a fitted model, with its vocabulary or with one that grows."""

from __future__ import annotations

import json
import pickle
from collections import Counter

import numpy as np
import pytest

from conftest import paravec
from paravec import ParagraphVector, encode
from paravec.growth import grown
from paravec.settings import Settings

MODELS = [
    {"model": "dbow", "ngrams": 3},
    {"model": "dm+dbow", "combine": "mean", "window": 3, "ngrams": 2},
    {"model": "dm", "output": "softmax", "word_size": 5, "window": 3},
    {"model": "dbow", "train_words": True, "logit": "cosine"},
]


@pytest.fixture(scope="module")
def halves(python_docs):
    texts = [text for _, text in python_docs[:300]]
    return texts[:150], texts[150:]


def fitted(texts, **chosen) -> ParagraphVector:
    return ParagraphVector(**{"vector_size": 6, "epochs": 2, "min_count": 2, **chosen}).fit(texts)


def targets(model: ParagraphVector) -> dict[tuple, int]:
    vocabulary = model._fitted.vocabulary
    return {vocabulary.ngram(i): i for i in range(vocabulary.size)}


@pytest.mark.parametrize("chosen", [*MODELS, {"output": "hs"}], ids=str)
def test_the_words_stay_and_the_weights_go_on(halves, chosen):
    model = fitted(halves[0], **chosen)
    before, losses = model._fitted, {name: list(all_of) for name, all_of in model.loss_history_.items()}
    weights = [part.outputs.copy() for part in before.models]
    assert model.continue_fit(halves[1]) is model
    after = model._fitted
    assert after.vocabulary is before.vocabulary
    assert after.seed == before.seed
    assert all((a.outputs != b).any() for a, b in zip(after.models, weights, strict=True))
    assert all((a.outputs == b).all() for a, b in zip(before.models, weights, strict=True))
    assert all(model.loss_history_[name][:2] == losses[name] for name in losses)
    assert all(len(some) == 4 for some in model.loss_history_.values())
    assert set(model.kept_epoch_.values()) == {4}
    assert model.n_documents_ == 150
    assert np.array_equal(model.document_vectors_, model.transform(halves[1]))  # one map


def test_a_model_that_learns_further_is_the_better_for_it(halves):
    begun = fitted(halves[0], epochs=10, min_count=1)
    anew = fitted(halves[0], epochs=10, min_count=1)
    further = fitted(halves[0], epochs=10, min_count=1).continue_fit(halves[1], grow_vocabulary=True)
    assert np.array_equal(begun.document_vectors_, anew.document_vectors_)
    first_epochs = further.loss_history_["dbow"][10], fitted(halves[1], epochs=10, min_count=1).loss_history_["dbow"][0]
    assert first_epochs[0] < first_epochs[1]  # it does not begin from nothing


@pytest.mark.parametrize("chosen", MODELS, ids=str)
def test_weights_of_known_words_are_brought_over_and_others_begin_anew(halves, chosen):
    model = fitted(halves[0], **chosen)
    old, known = model._fitted, targets(model)
    still = {"learning_rate": 1e-30, "min_learning_rate": 0.0, "epochs": 1}
    model.set_params(**still).continue_fit(halves[1], grow_vocabulary=True)
    new, now = model._fitted, targets(model)
    assert set(known) < set(now)
    for before, after in zip(old.models, new.models, strict=True):
        mine = {t: i for t, i in known.items() if len(t) == 1} if before.architecture.is_dm else known
        places, former = [now[target] for target in mine], list(mine.values())
        assert np.allclose(after.outputs[places], before.outputs[former], atol=1e-20)
        if before.bias is not None:
            assert np.allclose(after.bias[places], before.bias[former], atol=1e-20)
        if before.words is not None:
            words = [(now[target], i) for target, i in known.items() if len(target) == 1]
            assert np.allclose(after.words[[i for i, _ in words]], before.words[[i for _, i in words]], atol=1e-20)
            assert np.allclose(after.words[-1], before.words[-1], atol=1e-20)
        fresh = np.setdiff1d(np.arange(len(after.outputs)), places)
        assert len(fresh)
        if before.architecture.logit == "dot":
            assert np.allclose(after.outputs[fresh], 0, atol=1e-20)


@pytest.mark.parametrize("ngrams", [1, 2, 4])
def test_a_vocabulary_that_has_grown_counts_as_one_of_all_documents(halves, ngrams):
    chosen = {"min_count": 1, "ngrams": ngrams, "epochs": 1}
    further = fitted(halves[0], **chosen).continue_fit(halves[1], grow_vocabulary=True)
    whole = fitted([*halves[0], *halves[1]], **chosen)

    def counts(model):
        return {target: int(model._fitted.vocabulary.counts[i]) for target, i in targets(model).items()}

    assert counts(further) == counts(whole)
    further._fitted.vocabulary.check()
    n_words = len(further.vocabulary_)
    for part in (further._fitted.vocabulary.counts[:n_words], further._fitted.vocabulary.counts[n_words:]):
        assert (np.diff(part) <= 0).all()  # the most frequent first
    assert list(further.vocabulary_) == list(whole.vocabulary_)


def test_new_words_must_be_frequent_enough_and_find_room(halves):
    seen = encode(halves[1], min_count=1)
    words = Counter(word for i in range(150) for word in seen.words(i))
    model = fitted(halves[0], min_count=3)
    known = set(model.vocabulary_)
    model.continue_fit(halves[1], grow_vocabulary=True)
    assert known < set(model.vocabulary_)
    assert all(words[word] >= 3 for word in set(model.vocabulary_) - known)
    full = fitted(halves[0], min_count=3, max_vocab=len(known) + 5).continue_fit(halves[1], grow_vocabulary=True)
    assert len(full.vocabulary_) == len(known) + 5
    growth = grown(full._fitted.vocabulary, encode(halves[1], min_count=1), Settings(max_vocab=2))
    assert set(growth.corpus.vocabulary.words) == set(full.vocabulary_)  # what is known is never forgotten


def test_frozen_words_stay_frozen_and_new_ones_learn():
    texts = [["a", "b", "c", "b"], ["b", "a", "c", "c"]] * 5
    given = {"a": np.arange(4.0), "b": -np.arange(4.0)}
    model = ParagraphVector(
        "dm", 4, window=2, combine="mean", min_count=1, epochs=3, word_vectors=given, freeze_words=True
    )
    model.fit(texts)
    learned = model.word_vectors_[model.vocabulary_["c"]].copy()
    model.continue_fit([["a", "d", "c", "d", "e"]] * 5, grow_vocabulary=True)
    for word, vector in given.items():
        assert np.array_equal(model.word_vectors_[model.vocabulary_[word]], vector.astype(np.float32))
    assert (model.word_vectors_[model.vocabulary_["c"]] != learned).any()
    assert {"d", "e"} <= set(model.vocabulary_)


def test_going_on_is_the_same_every_time_and_survives_a_save(halves, tmp_path):
    one, other = (fitted(halves[0]) for _ in range(2))
    other.save(tmp_path / "model")
    other = ParagraphVector.load(tmp_path / "model")
    for model in (one, other):
        model.continue_fit(halves[1], ids=[f"id {i}" for i in range(150)], grow_vocabulary=True)
    assert np.array_equal(one.document_vectors_, other.document_vectors_)
    other.save(tmp_path / "model")
    again = ParagraphVector.load(tmp_path / "model")
    assert again.loss_history_ == one.loss_history_
    assert np.array_equal(again.transform(halves[0]), one.transform(halves[0]))
    assert list(again.document_ids_) == [f"id {i}" for i in range(150)]


def test_parameters_of_training_are_those_of_now_and_those_of_the_model_are_not(halves):
    model = fitted(halves[0])
    seen = []
    model.set_params(epochs=3, validation_fraction=0.2)
    model.continue_fit(halves[1], callbacks=[seen.append])
    assert [epoch.epochs for epoch in seen] == [3, 3, 3]
    assert len(model.validation_history_["dbow"]) == len(model.loss_history_["dbow"]) == 5
    assert np.isnan(model.validation_history_["dbow"]).tolist() == [True, True, False, False, False]
    assert model.document_vectors_.shape == (150, 6)


@pytest.mark.parametrize(
    ("chosen", "documents", "more", "kind", "message"),
    [
        ({"output": "hs"}, ["a b a b"], {"grow_vocabulary": True}, ValueError, "new words change the Huffman tree"),
        ({}, ["xyzzy plugh xyzzy plugh"], {}, ValueError, "none of the 1 documents has a word the model knows"),
        ({}, [[1, 2, 1, 2]], {"grow_vocabulary": True}, TypeError, "the model's tokens are str, but those of the new"),
        ({}, [[1, 2]], {}, TypeError, "the words of the vocabulary are str"),
        ({}, ["the file"], {"ids": ["x", "y"]}, ValueError, "there are 1 documents, but 2 ids"),
        ({}, "the file", {}, TypeError, "is a single str"),
        ({}, ["the file"], {"callbacks": print}, TypeError, "is not a list"),
    ],
)
def test_what_cannot_be_learned_is_named_and_the_model_stays_as_it_was(halves, chosen, documents, more, kind, message):
    model = fitted(halves[0], **chosen)
    before = pickle.dumps(model)
    with pytest.raises(kind, match=message):
        model.continue_fit(documents, **more)
    assert pickle.dumps(model) == before


def test_a_model_that_went_on_is_not_taken_for_the_result_of_a_training(halves, tmp_path):
    from paravec.fitting import Job
    from paravec.store import is_result

    model = fitted(halves[0]).continue_fit(halves[1])
    model.save(tmp_path / "model")
    job = Job.of(model.settings_, 0, encode(halves[1], vocabulary=model._fitted.vocabulary))
    assert not is_result(tmp_path / "model", job.start, job.corpus.ids)
    model._fitted.continued = 0
    model.save(tmp_path / "model")
    assert is_result(tmp_path / "model", job.start, job.corpus.ids)


def test_scores_stay_in_step_with_losses_in_a_file_too(halves, tmp_path):
    model = fitted(halves[0]).set_params(validation_fraction=0.2)
    model.continue_fit(halves[1]).set_params(validation_fraction=None).continue_fit(halves[1])
    model.save(tmp_path / "model")
    again = ParagraphVector.load(tmp_path / "model").validation_history_["dbow"]
    assert np.array_equal(again, model.validation_history_["dbow"], equal_nan=True)
    assert np.isnan(again).tolist() == [True, True, False, False, True, True]
    told = json.loads(paravec("info", tmp_path / "model", "--json").stdout)
    assert told["validation_history"]["dbow"][0] is None


def test_a_parameter_that_training_cannot_heed_is_refused(halves):
    model = fitted(halves[0])
    before = model.vector_size
    model.set_params(vector_size=50)
    with pytest.raises(
        ValueError, match="vector_size=50 was set after the fit, and continue_fit takes the model as it is"
    ):
        model.continue_fit(halves[1])
    model.set_params(vector_size=before).continue_fit(halves[1])


def test_words_that_are_too_rare_are_told_of(halves):
    model = fitted(halves[0], min_count=2)
    with pytest.raises(ValueError, match="has a word the model knows, or one that occurs min_count=2 times; give more"):
        model.continue_fit(["xyzzy plugh"], grow_vocabulary=True)


def test_the_command_line_continues(folder, tmp_path):
    (tmp_path / "new.txt").write_text("the xyzzy file is opened\nthe xyzzy file is closed\n")
    options = ("--epochs", "2", "--grow-vocabulary", "-o", tmp_path / "further")
    done = paravec("continue", folder / "model", tmp_path / "new.txt", *options)
    assert "dbow epoch 2/2" in done.stderr
    assert "2 documents" in done.stderr.splitlines()[-1]
    told = json.loads(paravec("info", tmp_path / "further", "--json").stdout)
    assert (told["documents"], told["trained_documents"], told["continued"]) == (2, 2, 1)
    assert len(told["loss_history"]["dbow"]) == 5
    assert "xyzzy" in ParagraphVector.load(tmp_path / "further").vocabulary_
    again = tmp_path / "further"
    assert paravec("continue", again, tmp_path / "new.txt", "--quiet", "-o", again).stderr == ""
    assert json.loads(paravec("info", again, "--json").stdout)["continued"] == 2
