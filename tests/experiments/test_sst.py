"""The treebank's experiment: what is learned never holds what is asked, and every method has its row."""

from __future__ import annotations

import numpy as np
import pytest

from paravec import SourceError
from paravec.experiments import sst
from paravec.experiments.data import Sst
from paravec.experiments.data import sst as read
from paravec.experiments.options import Options
from paravec.experiments.ordered import Ordered
from paravec.experiments.steps import Steps
from paravec.settings import Settings

TELLING = [["awful", "dire"], ["weak", "dull"], ["long", "short"], ["fine", "warm"], ["great", "superb"]]


def lines(n: int, seed: int) -> list[str]:
    """Sentences of a word that tells the label, and of some that do not."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        rest = " ".join(f"(2 w{k})" for k in rng.integers(0, 12, 4))
        found.append(f"({i % 5} ({i % 5} {rng.choice(TELLING[i % 5])}) (2 {rest}))")
    return found


@pytest.fixture
def folder(tmp_path):
    for seed, (name, n) in enumerate({"train": 100, "dev": 40, "test": 45}.items()):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines(n, seed)))
    return tmp_path


def test_what_is_asked_is_not_among_what_is_learned(folder):
    with (folder / "test.txt").open("a") as file:
        file.write("\n(4 (4 GREAT))\n(2 (2 never) (2 seen))\n")  # the first is a phrase of training trees
    with (folder / "train.txt").open("a") as file:
        file.write("\n(4 (4 Great))\n")  # and a sentence of them
    found = sst.split(read(folder))
    asked = {*found.dev.texts, *found.test.texts}
    plain = {" ".join(p.text.lower().split()) for tree in read(folder).train for p in tree.phrases}
    assert found.again == sum(text in plain for text in found.test.texts) >= 1
    assert "great" in asked & plain
    assert set(found.phrases.texts) == plain - asked
    assert len(set(found.phrases.texts)) == len(found.phrases.texts)
    assert set(found.train.texts) <= set(found.phrases.texts)
    assert len(found.train.texts) == len([t for t in read(folder).train if t.sentence.text.lower() not in asked])


def test_labels_stay_with_their_texts(folder):
    found = sst.split(read(folder))
    for part in (found.phrases, found.train, found.dev, found.test):
        for text, label in zip(part.texts, part.labels, strict=True):
            telling = [i for i, some in enumerate(TELLING) if {*text.split()} & {*some}]
            assert [label] == (telling or [sst.NEUTRAL])


def test_the_binary_task_has_no_neutral_sentences():
    part = sst.Part(["a", "b", "c", "d"], np.array([0, 2, 3, 1]))
    rows, classes = part.of("binary")
    assert rows.tolist() == [0, 2, 3]
    assert classes.tolist() == [0, 1, 0]
    rows, classes = part.of("fine")
    assert rows.tolist() == [0, 1, 2, 3]
    assert classes.tolist() == [0, 2, 3, 1]


@pytest.mark.parametrize(
    ("name", "keep", "words"),
    [
        ("dev", lambda trees: [], "0 dev sentences are too few; 30 are needed"),
        ("train", lambda trees: trees[:29], "29 train sentences are too few"),
        ("test", lambda trees: [t for t in trees if t.sentence.label <= 2] * 2, "test sentences is positive"),
        ("train", lambda trees: [t for t in trees if t.sentence.label >= 2], "train sentences is negative"),
    ],
)
def test_trees_that_nothing_can_be_learned_from_are_refused_before_any_work(name, keep, words, folder, tmp_path):
    trees = read(folder)
    parts = {part: getattr(trees, part) for part in ("train", "dev", "test")}
    steps = Steps(tmp_path / "out")
    with pytest.raises(SourceError, match=words):
        sst.run(Sst(**{**parts, name: keep(parts[name])}), steps, Options(quick=True))
    with pytest.raises(SourceError, match="reviews is empty"):
        sst.run(trees, steps, Options(quick=True), [])
    assert not list(steps.folder.iterdir())


def test_settings_are_chosen_by_development_sentences_for_each_task(folder, tmp_path, monkeypatch):
    errors = {0.1: {"binary": 0.3, "fine": 0.5}, 1.0: {"binary": 0.2, "fine": 0.6}}
    monkeypatch.setattr(
        sst.Task, "_of_bag", lambda self, method, settings, task, asked: errors[settings["alpha"]][task]
    )
    task = sst.Task(sst.split(read(folder)), [], Steps(tmp_path / "out"), Options())
    assert task.chosen(sst.BAYES, [{"alpha": 0.1}, {"alpha": 1.0}]) == {
        "binary": {"alpha": 1.0},
        "fine": {"alpha": 0.1},
    }


def test_classes_in_order_are_tried_for_five_of_them_alone(folder, tmp_path, monkeypatch):
    asked = []

    def error(self, method, settings, seed, task, part):
        asked.append((settings.get("classes"), task))
        return 0.4 if "classes" in settings else 0.5

    monkeypatch.setattr(sst.Task, "_of_vectors", error)
    task = sst.Task(sst.split(read(folder)), [], Steps(tmp_path / "out"), Options())
    apart, ordered = {"C": 1.0}, {"C": 1.0, "classes": "in order"}
    assert task.chosen(sst.DBOW, [apart, ordered]) == {"binary": apart, "fine": ordered}
    assert asked == [(None, "binary"), (None, "fine"), ("in order", "fine")] * 3  # seeds


def test_the_mean_of_all_seeds_chooses(folder, tmp_path, monkeypatch):
    errors = {0.1: [0.1, 0.6, 0.6], 1.0: [0.4, 0.4, 0.4]}  # the first is best by its first seed alone
    monkeypatch.setattr(
        sst.Task, "_of_vectors", lambda self, method, settings, seed, task, part: errors[settings["C"]][seed]
    )
    data, tried = sst.split(read(folder)), [{"C": 0.1}, {"C": 1.0}]
    for seeds, best in (((0,), 0.1), ((0, 1, 2), 1.0)):
        task = sst.Task(data, [], Steps(tmp_path / "out"), Options(seeds=seeds))
        assert task.chosen(sst.DBOW, tried) == {name: {"C": best} for name in sst.TASKS}


def test_steps_from_class_to_class_need_the_order_that_classes_have():
    rng = np.random.default_rng(0)
    better = rng.normal(size=4000)
    features = better[:, None] * rng.normal(size=30) + 4 * rng.normal(size=(4000, 30))
    labels = np.digitize(better, [-1, -0.3, 0.3, 1])
    mixed_up = np.array([3, 0, 4, 1, 2])[labels]
    right, wrong = (
        Ordered(0.001).fit(features[:2000], y[:2000]).score(features[2000:], y[2000:]) for y in (labels, mixed_up)
    )
    assert right > wrong + 0.05


def test_a_run_has_every_method_and_goes_on_where_it_stopped(folder, tmp_path):
    options, told = Options(seeds=(0, 1), quick=True, n_jobs=1), []
    reviews = ["a great and superb film", "awful , dire and dull"] * 20

    def run(trees, reviews=None):
        told.clear()
        return sst.run(trees, Steps(tmp_path / "out", told.append), options, reviews)

    binary, fine = first = run(read(folder), reviews)
    assert not any(line.endswith("found before") for line in told)
    assert [row[0] for row in binary.rows] == list(sst.PAPER)
    assert {row[0]: row[1] for row in fine.rows} == {k: f"{v[1]:.2f}" if v else "" for k, v in sst.PAPER.items()}
    ours = {row[0]: row for row in binary.rows if row[2]}
    assert {name: 1 + row[3].count(",") for name, row in ours.items()} == {
        **dict.fromkeys((sst.BAYES, sst.SVM, sst.BIGRAMS), 1),
        **dict.fromkeys((sst.AVERAGE, sst.DBOW, sst.BOTH, sst.REVIEWED), 2),
    }
    assert ours[sst.BAYES][2].startswith("0.00 ")  # a word tells all
    assert "36 test sentences" in binary.about[0]
    assert "45 test sentences" in fine.about[0]
    assert "40 reviews besides" in fine.about[0]
    assert run(read(folder), reviews) == first
    assert all(line.endswith("found before") for line in told)
    run(read(folder), [*reviews, "a great film"])
    assert {line.endswith("found before") for line in told if sst.REVIEWED in line} == {False}
    assert {line.endswith("found before") for line in told if sst.REVIEWED not in line} == {True}
    assert [row[0] for row in run(read(folder))[0].rows] == list(sst.PAPER)[:-1]
    trees = read(folder)
    run(Sst(trees.train[1:], trees.dev, trees.test))  # other data are done anew
    assert not any(line.endswith("found before") for line in told)


def test_a_quick_run_takes_sentences_from_all_of_the_file(folder, monkeypatch):
    monkeypatch.setattr(sst, "QUICK_SENTENCES", 40)
    trees = read(folder).train
    assert sst._some(trees) == trees[::3]
    assert sst._some(trees[:40]) == trees[:40]


def test_every_candidate_is_a_setting_that_models_take():
    for method in (sst.AVERAGE, sst.DBOW, sst.BOTH, sst.REVIEWED):
        for quick in (False, True):
            for settings in sst.candidates(method, quick):
                given = {name: value for name, value in settings.items() if name not in ("C", "classes")}
                Settings(**given)
