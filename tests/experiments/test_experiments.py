"""Experiments: what is found is kept, intervals are right, and every method does what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from html import escape

import numpy as np
import pytest
from scipy.stats import binomtest

from conftest import COMMAND, paravec
from paravec import SourceError
from paravec.experiments import measure, report, retrieval
from paravec.experiments.catalogue import prepared
from paravec.experiments.data import Query
from paravec.experiments.machine import in_words
from paravec.experiments.options import Options
from paravec.experiments.plots import Plot
from paravec.experiments.steps import Steps, fingerprint
from paravec.experiments.tables import Listing, Row, table


def test_a_step_is_done_once_and_again_with_other_settings(tmp_path):
    done, told = [], []
    steps = Steps(tmp_path, told.append)
    for settings in ({"a": 1}, {"a": 1}, {"a": 2}, {"a": 2}):
        assert steps.step("One, two!", settings, lambda now=settings: done.append(now) or [len(done)]) == [len(done)]
    assert done == [{"a": 1}, {"a": 2}]
    assert [line.endswith("found before") for line in told] == [False, True, False, True]
    assert Steps(tmp_path).step("One, two!", {"a": 2}, lambda: 1 / 0) == [2]  # in another process, too
    assert Steps(tmp_path).step("One, two!", {"a": 1}, lambda: 1 / 0) == [1]  # which the other did not replace
    for path in (tmp_path / "steps").iterdir():
        path.write_text('{"found": ')  # it was not written to its end
    assert steps.step("One, two!", {"a": 2}, lambda: "again") == "again"


def test_a_step_of_another_version_is_done_again(tmp_path, monkeypatch):
    assert Steps(tmp_path).step("one", {}, lambda: 1) == 1
    monkeypatch.setattr("paravec.experiments.steps.__version__", "99")
    assert Steps(tmp_path).step("one", {}, lambda: 2) == 2


def test_only_steps_that_are_asked_for_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("paravec.experiments.steps.in_words", lambda: "an old machine")
    Steps(tmp_path).step("long", {}, lambda: time.sleep(0.2))
    monkeypatch.setattr("paravec.experiments.steps.in_words", lambda: "a new machine")
    steps = Steps(tmp_path)
    steps.step("short", {}, lambda: 0)
    assert steps.seconds < 0.1
    assert steps.machines == ["a new machine"]
    steps.step("long", {}, lambda: 1 / 0)
    assert steps.seconds >= 0.2
    assert steps.machines == ["a new machine", "an old machine"]


@pytest.mark.parametrize("others", [[["a\0b"]], [["b", "a"]], [["a"], ["b"]], [[1, 0]], [["a", "\ud800"]]])
def test_fingerprints_tell_lists_apart(others):
    assert fingerprint(["a", "b"]) != fingerprint(*others)


def test_a_step_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        Steps(tmp_path).step("one", {}, lambda: 1 / 0)
    assert not list((tmp_path / "steps").iterdir())


def test_processes_that_share_a_folder_do_a_step_once(tmp_path):
    code = """
import sys, time
from pathlib import Path
from paravec.experiments.steps import Steps

def work():
    with open(Path(sys.argv[1]) / "done", "a") as file:
        file.write("once ")
    time.sleep(1)
    return 7

print(Steps(sys.argv[1]).step("one", {}, work))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [each.communicate(timeout=60)[0] for each in running] == ["7\n"] * 4
    assert (tmp_path / "done").read_text() == "once "
    assert [path.suffix for path in (tmp_path / "steps").iterdir()] == [".json"]


def test_a_place_that_cannot_be_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SourceError, match="cannot be a folder for results"):
        Steps(tmp_path / "file")


@pytest.mark.parametrize(("wrong", "n"), [(0, 10), (3, 100), (50, 100), (1, 1000)])
def test_intervals_are_those_of_wilson(wrong, n):
    theirs = binomtest(wrong, n).proportion_ci(method="wilson")
    assert measure.wilson(wrong / n, n) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_seeds_that_differ_widen_the_interval():
    same, other = measure.figure([0.1, 0.1, 0.1], 1000), measure.figure([0.08, 0.1, 0.12], 1000)
    assert same.mean == pytest.approx(10)
    assert other.mean == pytest.approx(10)
    assert other.high - other.low > same.high - same.low > 0
    assert other.each == (8, 10, 12)


def queries(n: int = 60, seed: int = 0) -> list[Query]:
    """Snippets of a query share some of its rare words, and all have common ones."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        own = [f"q{i}w{k}" for k in range(6)] + [f"t{i % 12}w{k}" for k in range(8)]
        texts = [
            " ".join([*rng.choice(own, 6), *(f"c{k}" for k in rng.geometric(0.2, 8)), "..."])
            for _ in range(1 if i == 3 else 5)
        ]
        found.append(Query(str(i), own[0], tuple(texts)))
    return found


def test_queries_are_divided_and_none_is_in_two_parts():
    parts = retrieval.split(queries())
    ids = [{query.id for query in part} for part in (parts.train, parts.validation, parts.test)]
    assert [len(each) for each in ids] == [48, 6, 6]
    assert len(set.union(*ids)) == 60
    assert retrieval.split(queries()) == parts
    with pytest.raises(SourceError, match="29 queries are too few"):
        retrieval.split(queries(29))


def test_triplets_are_two_snippets_of_one_query_and_one_of_another():
    asked = queries(12)
    found = retrieval.triplets(asked, each=7)
    assert len(found.rows) == 11 * 7  # one query has a single snippet
    owner = np.repeat(np.arange(12), [len(query.snippets) for query in asked])
    assert (owner[found.rows[:, 0]] == owner[found.rows[:, 1]]).all()
    assert (owner[found.rows[:, 0]] == found.queries).all()
    assert (found.rows[:, 0] != found.rows[:, 1]).all()
    assert (owner[found.rows[:, 0]] != owner[found.rows[:, 2]]).all()
    assert "..." not in found.documents[0]
    with pytest.raises(SourceError, match="no query has two snippets"):
        retrieval.triplets([Query("a", "b", ("c",))] * 3)


def test_errors_count_triplets_and_ties_are_errors():
    of = retrieval.Triplets([[], [], [], []], np.array([[0, 1, 2], [0, 2, 1], [0, 1, 3], [0, 3, 3]]), np.arange(4))
    features = np.array([[1.0, 0], [1, 0.1], [0, 1], [-1, 0]])
    found = retrieval.error(features, of)
    assert found.error == 0.5
    assert found.certain == pytest.approx(4)  # all of other queries
    together = retrieval.Triplets(of.documents, of.rows, np.array([0, 1, 0, 1]))
    assert retrieval.error(features, together).certain == pytest.approx(2)  # those of a query are wrong together


def test_learned_weights_grow_for_words_that_tell_queries_apart():
    train = retrieval.triplets(retrieval.split(queries(200)).train)
    vectorizer = retrieval.tfidf(train.documents, 1)
    weighed = retrieval.LearnedWeights(vectorizer, train, steep=20.0, stay=1.0)
    names = vectorizer.get_feature_names_out()
    own, of_all = (weighed._weights[[name[0] == letter for name in names]].mean() for letter in "qc")
    assert own > 1 > of_all
    plain, learned = (retrieval.error(each.transform(train.documents), train).error for each in (vectorizer, weighed))
    assert learned < plain


def test_a_run_has_every_method_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval, "AVERAGES", [{"train_words": True, "vector_size": 8, "epochs": 2}])
    monkeypatch.setattr(retrieval, "DRAWS", 4)
    options = Options(seeds=(0, 1), quick=True, n_jobs=1)
    told = []
    first = retrieval.run(queries(), Steps(tmp_path, told.append), options)
    errors, clusters = first
    assert [row[0] for row in errors.rows][-1] == "Paragraph Vector"
    assert [row[3].count(",") for row in errors.rows] == [1, 0, 0, 0, 1]  # of methods with seeds, each
    assert [row[0] for row in clusters.rows] == ["bag of words", "Paragraph Vector"]
    assert not any(line.endswith("found before") for line in told)
    told.clear()
    assert retrieval.run(queries(), Steps(tmp_path, told.append), options) == first
    assert all(line.endswith("found before") for line in told)
    told.clear()
    retrieval.run(queries(seed=1), Steps(tmp_path, told.append), options)  # other data are done anew
    assert not any(line.endswith("found before") for line in told)


def test_a_report_has_the_papers_figures_beside_ours(tmp_path):
    rows = [Row("a & b", 8.1, measure.figure([0.05], 100)), Row("c", None, None)]
    steps = Steps(tmp_path)
    steps.step("one", {}, lambda: 0)
    options = Options(seeds=(0, 1), quick=True)
    page = report.write(tmp_path, "report", [table("A <task>", ["About it."], rows)], steps, options).read_text()
    assert "A quick run: a sample" in page
    assert f"seeds 0, 1; engine cpu; 0 seconds of work on {escape(in_words())}." in page
    assert "<h2>A &lt;task&gt;</h2>" in page
    assert "<td>a &amp; b</td><td>8.10</td><td>5.00 (2.15 to 11.18)</td>" in page
    assert "| a & b | 8.10 | 5.00 (2.15 to 11.18) |  |  |" in (tmp_path / "report.md").read_text()


def test_a_report_holds_its_plots(tmp_path):
    lines = Plot("Errors & labels", "labels", "error, %", {"a": [(1, 2), (10, 1)]}, logarithmic=True)
    points = Plot("A map", "", "", {"b": [(1, 2)], "c": [(3, 4)]}, kind="points")
    bars = Plot("Bars", "", "", {"d": [(0, 2)], "e": [(1, 4)]}, kind="bars")
    listing = Listing("Some", ["About it."], ["x"], [["1"]], plots=[lines, points, bars])
    page = report.write(tmp_path, "report", [listing], Steps(tmp_path), Options()).read_text()
    assert "quick" not in page
    assert page.count("<svg") == 3
    assert "![A map](a-map.svg)" in (tmp_path / "report.md").read_text()
    assert (tmp_path / "errors-labels.svg").read_text() in page
    again = report.write(tmp_path, "report", [listing], Steps(tmp_path), Options()).read_text()
    assert again == page


def test_k_means_finds_queries_that_lie_apart(monkeypatch):
    monkeypatch.setattr(retrieval, "DRAWS", 4)
    features = np.repeat(np.eye(30), 4, axis=0) + np.random.default_rng(0).normal(scale=0.01, size=(120, 30))
    assert retrieval.clustered(features, range(0, 121, 4)) > 0.9
    assert abs(retrieval.clustered(np.random.default_rng(1).normal(size=(120, 30)), range(0, 121, 4))) < 0.1


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "q.jsonl"
    lines = [json.dumps({"query_id": q.id, "query": q.text, "passages": q.snippets}) + "\n" for q in queries()]
    path.write_text("".join(lines))
    return path


def test_the_verb_writes_a_report_though_it_was_killed_on_the_way(file, tmp_path):
    given = ["reproduce", "retrieval", "--data", str(file), "-o", str(tmp_path / "out"), "--quick", "--seeds", "1"]
    with subprocess.Popen(
        [*COMMAND, *given, "--n-jobs", "1"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as run:
        while not list(tmp_path.glob("out/steps/*.json")) and run.poll() is None:
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGKILL)
    done = paravec(*given)
    assert "found before" in done.stderr
    assert "| Paragraph Vector | 3.82 |" in done.stdout
    assert (tmp_path / "out" / "retrieval.html").exists()


def test_the_verb_refuses_what_it_cannot_read_before_any_work(file, tmp_path):
    for options, words in (
        (["--data", str(tmp_path / "no")], "there is nothing at"),
        (["--data", str(file), "--engine", "tpu"], "engine='tpu' is not one of"),
    ):
        done = paravec("reproduce", "retrieval", *options, "-o", str(tmp_path / "out"), code=1)
        assert words in done.stderr
        assert not (tmp_path / "out").exists()


def test_data_of_one_experiment_that_are_wrong_are_refused_before_another_begins(file, tmp_path):
    trees = tmp_path / "trees"
    trees.mkdir()
    for split in ("train", "dev", "test"):
        (trees / f"{split}.txt").write_text("(4 (2 so) (3 good))\n" * 40)
    file.rename(tmp_path / "snippets.jsonl")
    with pytest.raises(SourceError, match="none of the 40 train sentences is negative"):
        prepared(["retrieval", "sst"], [tmp_path])
    few = file.with_name("few.jsonl")
    few.write_text("".join((tmp_path / "snippets.jsonl").read_text().splitlines(keepends=True)[:20]))
    with pytest.raises(SourceError, match="20 queries are too few"):
        prepared(["retrieval"], [few])


def test_queries_of_the_same_words_are_on_one_side():
    asked = queries(40)
    again = [Query(f"again {query.id}", f" {query.text}!", query.snippets) for query in asked]
    parts = retrieval.split([*asked, *again])
    for part in (parts.train, parts.validation, parts.test):
        ids = {query.id for query in part}
        assert all((f"again {id}" in ids) for id in ids if not id.startswith("again"))
        assert len(ids) % 2 == 0
