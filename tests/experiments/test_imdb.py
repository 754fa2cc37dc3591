"""Reviews: classifiers and protocols do what they say, and nothing is known of the test that should not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from conftest import paravec
from paravec import ParagraphVector, SourceError
from paravec.engines.cpu import CpuEngine
from paravec.experiments import bags, imdb, observations, protocols, reviews
from paravec.experiments.data import Imdb
from paravec.experiments.judging import Decisions, Judge, logistic, network, on_vectors
from paravec.experiments.options import Options
from paravec.experiments.protocols import Protocol
from paravec.experiments.reviews import Task
from paravec.experiments.steps import Steps
from paravec.text import words


def review(rng, label: int | None) -> str:
    """Common words, words of a film, and some that praise or blame."""
    praised = rng.random() < 0.5 if label is None else label == 1
    told = rng.choice([f"good{k}" if rng.random() < (0.8 if praised else 0.2) else f"bad{k}" for k in range(12)], 8)
    film = rng.integers(10)
    return " ".join(rng.permutation([*told, *(f"f{film}w{k}" for k in rng.integers(8, size=6)), "the", "a", "film"]))


def corpus(n: int = 50, seed: int = 0) -> Imdb:
    rng = np.random.default_rng(seed)
    train: list[int | None] = [*[1] * n, *[0] * n, *[None] * n]
    test = [*[1] * n, *[0] * n]
    return Imdb([review(rng, y) for y in train], train, [review(rng, y) for y in test], test, complete=False)


def test_settings_of_classifiers_are_chosen_without_the_test():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    train, test = rng.normal(size=(300, 5)) + labels[:, None], rng.normal(size=(80, 5))
    truths = rng.integers(2, size=80)
    one, other = (Judge(labels, truth).decisions(train, test, on_vectors()) for truth in (truths, 1 - truths))
    assert np.array_equal(one.test, other.test)
    assert len(one.held_out) == 300


def test_labels_held_out_are_not_learned_from():
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    noise = rng.normal(size=(300, 200))  # as many columns as could learn all labels by heart
    judge = Judge(labels, labels)
    found = judge.decisions(noise, noise, [logistic(100.0)])
    assert judge.error_held_out(found) > 0.3
    assert judge.error(found) < 0.1


@pytest.mark.parametrize("sparse", [False, True])
def test_classifiers_side_by_side_say_the_same(sparse):
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    train, test = rng.normal(size=(300, 20)) + 0.3 * labels[:, None], rng.normal(size=(80, 20))
    if sparse:
        train, test = csr_matrix(train), csr_matrix(test)
    classifiers = bags.METHODS["SVM-uni"].classifiers if sparse else [*on_vectors(), network(1.0, 0)]
    alone, together = (Judge(labels, [0, 1] * 40, jobs=jobs).decisions(train, test, classifiers) for jobs in (1, 2))
    np.testing.assert_allclose(alone.held_out, together.held_out, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(alone.test, together.test, rtol=1e-6, atol=1e-6)


def test_documents_of_a_group_are_held_out_together():
    rng = np.random.default_rng(0)
    groups = np.repeat(rng.permutation(100), 10)
    own = np.eye(100)[groups]  # all that is told of a document
    labels = rng.integers(2, size=100)[groups]
    alone, together = Judge(labels, labels), Judge(labels, labels, groups.tolist())
    assert alone.error_held_out(alone.decisions(own, own, [logistic(1.0)])) < 0.01
    assert together.error_held_out(together.decisions(own, own, [logistic(1.0)])) > 0.3
    assert np.bincount(together.folds).tolist() == [200] * 5
    assert all(len(set(together.folds[groups == group])) == 1 for group in range(100))


def test_a_class_of_one_group_cannot_be_held_out():
    with pytest.raises(SourceError, match="of one group"):
        Judge([0, 1] * 40, [0, 1] * 40, ["a", "b"] * 40)


def test_a_mixture_is_no_worse_than_its_parts_on_labels_held_out():
    rng = np.random.default_rng(0)
    labels, truths = rng.integers(2, size=2000), rng.integers(2, size=1000)
    judge = Judge(labels, truths)

    def one() -> Decisions:
        return Decisions(*(2 * y - 1 + rng.normal(scale=1.5, size=len(y)) for y in (labels, truths)))

    a, b = one(), one()
    mixed = judge.mixed(a, 1000 * b)  # of another scale
    assert judge.error_held_out(mixed) <= min(map(judge.error_held_out, (a, b)))
    assert judge.error(mixed) < min(map(judge.error, (a, b)))
    assert Decisions.of_json(a.as_json()).test == pytest.approx(a.test, rel=1e-3)


@pytest.mark.parametrize(
    ("labels", "truths", "told"), [([1] * 90, [0, 1] * 40, "0 training documents are of class 0"),
                                   ([0, 1] * 40, [1] * 90, "0 test documents are of class 0"),
                                   ([0, 1] * 19, [0, 1] * 40, "19 training documents are of class 0")],
)  # fmt: skip
def test_one_class_only_or_too_few_documents_are_refused(labels, truths, told):
    with pytest.raises(SourceError, match=told):
        Judge(labels, truths)


def test_networks_and_regressions_tell_classes_apart():
    rng = np.random.default_rng(0)
    labels = np.arange(4000) % 2
    train = rng.normal(size=(4000, 3)) + 3 * labels[:, None]
    for classifier in (logistic(1.0), network(1.0, 0)):
        assert ((classifier(train, labels, train) > 0) == labels).mean() > 0.95


@pytest.mark.parametrize("name", bags.METHODS)
def test_every_bag_tells_praise_from_blame(name):
    data = corpus(100)
    labelled = data.labelled
    train, test = ([words(text) for text in texts] for texts in ([data.train[i] for i in labelled], data.test))
    judge = Judge([data.train_labels[i] for i in labelled], data.test_labels)
    method = bags.METHODS[name]
    found = bags.bags(train, test, method)
    assert judge.error(judge.decisions(found.train, found.test, method.classifiers)) < 0.12


def test_a_dictionary_is_of_frequent_words_but_the_most_frequent():
    method = bags.Method(1, [], dictionary=True)
    texts = [[f"w{i}" for i in range(6000) if not i or step % (1 + i // 60) == 0] for step in range(400)]
    found = bags.bags(texts, texts[:1], method)
    often = np.asarray(found.train.sum(axis=0)).ravel()
    assert found.train.shape == (400, 5000)
    assert found.test.shape == (1, 5000)
    assert (often == 400).sum() == 10  # of 60 words that are everywhere


def test_delta_is_that_of_paltoglou_and_thelwall():
    rows = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
    found = bags._deltas(rows, np.array([1, 1, 0]))
    n1, n2, df1, df2 = 2, 1, np.array([2, 1, 1]), np.array([0, 1, 0])
    assert found == pytest.approx(np.log2((n1 * df2 + 0.5) / (n2 * df1 + 0.5)))


def test_few_labels_have_both_classes_though_one_is_rare():
    labels = np.arange(5000) % 250 == 0
    judge = Judge(labels.astype(int).tolist(), [0, 1] * 20)
    for seed in range(5):
        rows = judge._some(100, np.random.default_rng(seed))
        assert len(set(rows.tolist())) == 100
        assert labels[rows].sum() == 5
        assert all(labels[rows[fold::5]].sum() == 1 for fold in range(5))
    even = Judge([0, 1] * 500, [0, 1] * 20)._some(100, np.random.default_rng(0))
    assert (even % 2).sum() == 50


def test_other_labels_are_other_data(tmp_path):
    data = corpus(60)
    turned = replace(data, train_labels=[y if y is None else 1 - y for y in data.train_labels])
    moved = replace(
        data,
        train=[*data.train, data.test[0]],
        train_labels=[*data.train_labels, data.test_labels[0]],
        test=data.test[1:],
        test_labels=data.test_labels[1:],
    )
    told = []
    for each in (data, turned, moved):
        Task(each, Steps(tmp_path, told.append), Options()).bag("MNB-uni")
    assert not any(line.endswith("found before") for line in told)


def test_weights_of_naive_bayes_are_those_of_wang_and_manning():
    rows = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 0]], dtype=np.float32)
    p, q = np.array([3, 2, 2]), np.array([1, 2, 1])
    ratios = bags._ratios(rows, np.array([1, 1, 0]))
    assert ratios == pytest.approx(np.log((p / p.sum()) / (q / q.sum())))


def test_only_transductive_models_know_the_test():
    one, other = corpus(30), corpus(30, seed=1)
    settings = {"vector_size": 4, "epochs": 2, "min_count": 1, "random_state": 0}
    for protocol, same in ((Protocol.inductive, True), (Protocol.transductive, False)):
        found = [
            protocols.vectors(one.train, one.labelled, test, protocol, settings).train
            for test in (one.test, other.test)
        ]
        assert np.array_equal(*found) == same


def test_unshuffled_training_visits_documents_in_order_and_gives_each_its_vector(monkeypatch):
    """Those with a label class by class, then the test, then those without a label."""
    data = corpus(30)
    visited = []

    class Watched(CpuEngine):
        def train(self, model, corpus, tables, work):
            visited.append((work.order.tolist(), corpus))
            return super().train(model, corpus, tables, work)

    monkeypatch.setattr(protocols, "engine_for", lambda settings, training: Watched(1))
    settings = {"model": "dm+dbow", "window": 3, "vector_size": 8, "epochs": 20, "min_count": 1, "random_state": 0}
    found = protocols.vectors(data.train, data.labelled, data.test, Protocol.unshuffled, settings)
    assert found.train.shape == found.test.shape == (60, 16)
    assert [order for order, _ in visited] == [list(range(150))] * 40
    lengths = [len(words(text)) for text in [*data.train[:60], *data.test, *data.train[60:]]]
    assert visited[0][1].lengths.tolist() == lengths
    assert set(found.losses) == {"dm", "dbow"}
    judge = Judge([1] * 30 + [0] * 30, data.test_labels)
    assert judge.error(judge.decisions(found.train, found.test, on_vectors())) < 0.25


def test_a_run_has_every_row_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(reviews, "_SMALL", {"vector_size": 6, "epochs": 3})
    monkeypatch.setattr(reviews, "FEW", (60,))
    monkeypatch.setattr(observations, "_QUICK_WINDOWS", (3, 5))
    monkeypatch.setattr(bags, "TOPICS", 3)
    told: list[str] = []
    options = Options(seeds=(0, 1), quick=True, n_jobs=1)
    found = imdb.run(corpus(), Steps(tmp_path, told.append), options)
    main, past, *observed = found
    methods = [row[0] for row in main.rows]
    assert methods[:3] == ["BoW (bnc)", "BoW (bΔt'c)", "LDA"]
    for protocol in ("inductive", "transductive", "unshuffled"):
        assert sum(f"Paragraph Vector, {protocol}" in method for method in methods) == 2
    assert len(past.rows) == 15
    titles = [each.title for each in observed]
    assert titles == ["DM, DBOW, and both", "How dm puts vectors together", "The window of dm", "Few labels",
                      "Time of inference", "A map of test reviews"]  # fmt: skip
    assert all(plot.svg().startswith("<svg") for each in observed for plot in each.plots)
    assert not all(line.endswith("found before") for line in told)
    told.clear()
    assert imdb.run(corpus(), Steps(tmp_path, told.append), options) == found
    assert all(line.endswith("found before") for line in told)


def test_the_penalty_of_inference_is_chosen_on_reviews_that_the_model_has_not_seen(tmp_path, monkeypatch):
    seen: list[str] = []

    class Watched(ParagraphVector):
        def fit(self, texts, *others):
            seen.extend(texts)
            return super().fit(texts, *others)

    monkeypatch.setattr(reviews, "ParagraphVector", Watched)
    task = Task(corpus(), Steps(tmp_path), Options(n_jobs=1))
    settings = {"vector_size": 6, "epochs": 3}
    found = task.penalised("dbow", settings)
    assert found in [settings | {"infer_l2": penalty} for penalty in reviews._PENALTIES]
    unseen = [task.data.train[task.labelled[i]] for i in np.flatnonzero(task.judge.folds == 0)]
    assert len(unseen) == 20
    assert sorted([*seen, *unseen]) == sorted(task.data.train)


def test_labels_are_missed_before_the_long_work(tmp_path):
    data = corpus()
    nobody = Imdb(data.train, [None] * len(data.train), data.test, data.test_labels, complete=False)
    with pytest.raises(SourceError, match="no training review has a label"):
        imdb.run(nobody, Steps(tmp_path), Options())
    assert not list((tmp_path / "steps").iterdir())


def test_the_verb_says_which_data_are_missing(tmp_path):
    (tmp_path / "aclImdb" / "train" / "pos").mkdir(parents=True)
    for experiment, missing in (("imdb", "has no reviews in train/pos"), ("words", "questions-words.txt")):
        done = paravec("reproduce", experiment, "--data", tmp_path, "-o", tmp_path / "out", code=1)
        assert missing in done.stderr
        assert "published at" in done.stderr
    assert not (tmp_path / "out").exists()
