"""Fits that are stopped, at any moment, and go on."""

from __future__ import annotations

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from paravec import ParagraphVector
from paravec.checkpoint import Checkpoint

MODELS = [
    {"model": "dbow", "ngrams": 2, "sample": 1e-2},
    {"model": "dm", "output": "hs", "word_size": 5, "n_jobs": 1},
    {"model": "dm+dbow", "combine": "mean", "output": "softmax", "train_words": True},
    {"model": "dbow", "train_words": True, "logit": "cosine", "refit_documents": False},
    {"model": "dm+dbow", "combine": "sum", "refit_documents": False},
    {"model": "dm+dbow", "validation_fraction": 0.2, "patience": 1, "learning_rate": 0.02},
]
SMALL = {"vector_size": 8, "window": 3, "epochs": 4, "checkpoint_every": 1}


class PowerCutError(Exception):
    """Ends a fit from outside."""


@pytest.fixture(scope="module")
def texts(python_docs):
    return [text for _, text in python_docs[:120]]


def stop_after(epochs: int):
    seen = []

    def callback(epoch):
        seen.append(epoch)
        if len(seen) == epochs:
            raise PowerCutError

    return callback


def same(a: ParagraphVector, b: ParagraphVector) -> bool:
    arrays = [
        np.array_equal(x, y)
        for one, other in zip(a._fitted.models, b._fitted.models, strict=True)
        for x, y in zip(one.arrays().values(), other.arrays().values(), strict=True)
    ]
    return all(arrays) and a.loss_history_ == b.loss_history_ and a.validation_history_ == b.validation_history_


@pytest.mark.parametrize("settings", MODELS, ids=str)
@pytest.mark.parametrize("slices", [1, 3])
def test_a_fit_that_was_stopped_ends_with_the_bits_of_one_that_was_not(texts, tmp_path, monkeypatch, settings, slices):
    if slices > 1:
        monkeypatch.setattr("paravec.training._WORK_OF_A_SLICE", 10_000)
        settings = {**settings, "checkpoint_every": "0.000001s"}
    settings = {**SMALL, **settings}
    whole = ParagraphVector(**settings).fit(texts, checkpoint=tmp_path / "whole")
    parts, tries = ParagraphVector(**settings), 0
    while True:
        tries += 1
        try:
            parts.fit(texts, checkpoint=tmp_path / "parts", resume=True, callbacks=[stop_after(2)])
            break
        except PowerCutError:
            assert not hasattr(parts, "_fitted")
    assert tries >= 3
    assert same(parts, whole)


def test_a_checkpoint_in_the_middle_of_an_epoch_goes_on_from_there(texts, tmp_path, monkeypatch):
    monkeypatch.setattr("paravec.training._WORK_OF_A_SLICE", 10_000)
    settings = {**SMALL, "checkpoint_every": "0.000001s", "output": "softmax"}
    whole = ParagraphVector(**settings).fit(texts, checkpoint=tmp_path / "whole")
    from paravec.checkpoint import Checkpoints

    write, positions = Checkpoints.write, []

    def write_and_fail(self, runs):
        write(self, runs)
        positions.append((runs[-1].state.epoch, runs[-1].state.slice))
        if len(positions) in (3, 20):
            raise PowerCutError

    monkeypatch.setattr(Checkpoints, "write", write_and_fail)
    parts = ParagraphVector(**settings)
    for _ in range(2):
        with pytest.raises(PowerCutError):
            parts.fit(texts, checkpoint=tmp_path / "parts", resume=True)
    parts.fit(texts, checkpoint=tmp_path / "parts", resume=True)
    assert positions[2][1] > 0  # it was in the middle of an epoch
    assert positions[3] == (positions[2][0], positions[2][1] + 1)
    assert len(positions) == len(set(positions))  # no slice was done twice
    assert same(parts, whole)


RUN = """
import sys
import paravec.training
paravec.training._WORK_OF_A_SLICE = int(sys.argv.pop(1))
from paravec.cli import main
main()
"""


@pytest.mark.parametrize(
    "options",
    [
        ("--checkpoint-every", "1", "--epochs", "60"),
        ("--checkpoint-every", "0.01s", "--epochs", "30", "--model", "dm+dbow", "--combine", "mean",
         "--validation-fraction", "0.1", "--patience", "50"),
    ],
    ids=["epochs", "seconds"],
)  # fmt: skip
def test_a_training_killed_twenty_times_ends_with_the_bits_of_one_that_was_not(options, python_docs, tmp_path):
    text = tmp_path / "text"
    text.write_text("".join(f"{text}\n" for _, text in python_docs[:3000]), encoding="utf-8")

    def command(name: str) -> list[str]:
        return [sys.executable, "-c", RUN, "2000000000", "train", str(text), "-o", str(tmp_path / name), "--resume",
                "--vector-size", "32", "--n-jobs", "1", "--quiet", *options]  # fmt: skip

    began = time.monotonic()
    subprocess.run(command("whole"), check=True)
    whole_time = time.monotonic() - began
    chance = random.Random(4)
    kills, reached, longer = 0, [], 1.0
    while kills < 20:
        with subprocess.Popen(command("parts")) as run:
            try:
                run.wait(timeout=chance.uniform(0.2, 0.4 + 0.25 * whole_time) * longer)
                assert run.returncode == 0
                shutil.rmtree(tmp_path / "parts")  # done before all the kills: from the start again
                continue
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
            kills += 1
        found = Checkpoint.at(tmp_path / "parts.checkpoint")
        reached.append(None if found is None else found.where())
        longer *= 1.3 if reached[-2:] == reached[-1:] * 2 else 1.0  # on a machine that has become slower
    assert len(set(reached)) > 5  # it was killed on the way, not in front of it
    subprocess.run(command("parts"), check=True)
    files = sorted(path.relative_to(tmp_path / "whole") for path in (tmp_path / "whole").rglob("*.*"))
    assert len(files) >= 4
    for file in files:
        assert (tmp_path / "parts" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "text", "whole"]  # no debris


def test_going_on_needs_the_same_settings_corpus_and_seed(texts, tmp_path):
    def fit(documents=texts, callbacks=(), **changes):
        estimator = ParagraphVector(**{**SMALL, **changes})
        return estimator.fit(documents, checkpoint=tmp_path / "c", resume=True, callbacks=callbacks)

    with pytest.raises(PowerCutError):
        fit(callbacks=[stop_after(2)])
    for changes, message in (
        ({"vector_size": 9}, r"vector_size=9, but the checkpoint at .* was made with vector_size=8; go on with that"),
        ({"epochs": 5}, "epochs=5, but the checkpoint"),
        ({"random_state": 3}, "was made with another seed"),
        ({"min_count": 3}, "min_count=3, but the checkpoint"),
        ({"documents": texts[1:]}, "was made with another corpus"),
    ):
        with pytest.raises(ValueError, match=message):
            fit(**changes)
    whole = ParagraphVector(**{**SMALL, "checkpoint_every": None}).fit(texts)
    assert same(fit(random_state=None, n_jobs=1, checkpoint_every=7), whole)


def test_a_checkpoint_of_an_older_version_lacks_settings_that_came_later(texts, tmp_path):
    with pytest.raises(PowerCutError):
        ParagraphVector(**SMALL).fit(texts, checkpoint=tmp_path / "c", callbacks=[stop_after(2)])
    path = tmp_path / "c" / "checkpoint.json"
    about = json.loads(path.read_text())
    for name in ("storage", "stop_tol"):
        del about["settings"][name]
    path.write_text(json.dumps(about))
    whole = ParagraphVector(**{**SMALL, "checkpoint_every": None}).fit(texts)
    assert same(ParagraphVector(**SMALL).fit(texts, checkpoint=tmp_path / "c", resume=True), whole)


def test_settings_that_differ_are_refused_before_the_documents_are_read(texts, tmp_path):
    with pytest.raises(PowerCutError):
        ParagraphVector(**SMALL).fit(texts, checkpoint=tmp_path / "c", callbacks=[stop_after(2)])

    def documents():
        raise AssertionError("they were read")
        yield ""

    for changes in ({"vector_size": 9}, {"window": 7}, {"epochs": 9}, {"ngrams": 2}):
        with pytest.raises(ValueError, match="but the checkpoint at"):
            ParagraphVector(**{**SMALL, **changes}).fit(documents(), checkpoint=tmp_path / "c", resume=True)


def test_a_checkpoint_is_not_overwritten_by_a_fit_that_begins(texts, tmp_path):
    fitting = ParagraphVector(**SMALL)
    with pytest.raises(PowerCutError):
        fitting.fit(texts, checkpoint=tmp_path / "c", callbacks=[stop_after(3)])
    with pytest.raises(
        FileExistsError, match=r"there is a checkpoint at .* \(dbow after 2 of 4 epochs\), which would be lost"
    ):
        fitting.fit(texts, checkpoint=tmp_path / "c")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    for resume in (False, True):
        with pytest.raises(FileExistsError, match="is no paravec checkpoint"):
            fitting.fit(texts, checkpoint=tmp_path / "photos", resume=resume)


def test_arguments_that_do_not_go_together_are_refused(texts, tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every=1 needs a place to write to"):
        ParagraphVector(**SMALL).fit(texts)
    with pytest.raises(ValueError, match="resume=True needs the place"):
        ParagraphVector().fit(texts, resume=True)
    with pytest.raises(ValueError, match="set checkpoint_every"):
        ParagraphVector().fit(texts, checkpoint=tmp_path / "c")
    for wrong in ("10", "10 parsecs", "0min", "-1s", 0, 1.5, "", "1e3s", "\u0661min"):
        with pytest.raises((ValueError, TypeError), match="checkpoint_every="):
            ParagraphVector(checkpoint_every=wrong).fit(texts, checkpoint=tmp_path / "c")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("every", "expected"), [(1, [1, 2, 3, 4]), (2, [2, 4]), (3, [3, 4]), ("1h", [4]), ("0.000001s", [1, 2, 3, 4])]
)
def test_checkpoints_come_when_they_are_due_and_at_the_end_of_training(texts, tmp_path, every, expected):
    seen = []

    def look(epoch):
        found = Checkpoint.at(tmp_path / "c")
        seen.append(0 if found is None else found.history()["dbow"].epoch)

    ParagraphVector(**{**SMALL, "checkpoint_every": every}).fit(texts, checkpoint=tmp_path / "c", callbacks=[look])
    found = Checkpoint.at(tmp_path / "c")
    assert found is not None
    assert found.history()["dbow"].epoch == 4
    # A callback comes before the checkpoint of its epoch; with one slice an epoch, time is looked at twice.
    assert seen == [max([0, *(e for e in expected if e < epoch)]) for epoch in (1, 2, 3, 4)]


def test_a_finished_half_is_linked_not_written_again(texts, tmp_path):
    inodes = []

    def look(epoch):
        path = tmp_path / "c" / "dm.safetensors"
        if epoch.model == "dbow":
            inodes.append(path.stat().st_ino)

    ParagraphVector(**{**SMALL, "model": "dm+dbow"}).fit(texts, checkpoint=tmp_path / "c", callbacks=[look])
    assert len(inodes) == 4
    assert len(set(inodes[1:])) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda about: about.update(version=2), "has format version 2"),
        (lambda about: about.update(seed=-1), "the seed is -1"),
        (lambda about: about.update(seed="x"), "the seed is 'x'"),
        (lambda about: about.update(runs=[]), "it has no runs"),
        (lambda about: about.update(runs=[1]), "is damaged"),
        (lambda about: about["runs"][0].update(epoch=-1), "a count is -1"),
        (lambda about: about["runs"][0].update(epoch=3), "it has 1 losses of 3 epochs"),
        (lambda about: about["runs"][0].update(best=7), "its best epoch is 7"),
        (lambda about: about["runs"][0].update(losses=["x"]), "its history is none"),
        (lambda about: about["runs"][0].update(extra=1), "is damaged"),
        (lambda about: about["runs"][0].update(slice=2**62), "is in slice 4611686018427387904 of an epoch that has 1"),
        (lambda about: about["runs"][0].update(epoch=9, losses=[1.0] * 9), "it is after epoch 9"),
        (lambda about: about.update(corpus=[]), "it does not tell the corpus"),
        (lambda about: about["runs"][0].update(model="dm"), "its models are others"),
        (lambda about: about.update(settings=None), "it has no settings"),
        (lambda about: about.update(position="dbow:2:0"), "belongs to another checkpoint"),
    ],
)
def test_a_damaged_checkpoint_is_refused_with_a_sentence(texts, tmp_path, change, message):
    def fit():
        fitting = ParagraphVector(**SMALL, random_state=None)
        return fitting.fit(texts, checkpoint=tmp_path / "c", resume=True, callbacks=[stop_after(2)])

    with pytest.raises(PowerCutError):
        fit()
    path = tmp_path / "c" / "checkpoint.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))
    with pytest.raises(ValueError, match=message):
        fit()


def test_a_tokenizer_that_cannot_be_copied_does_not_matter(texts, tmp_path):
    class Tokenizer:
        def __init__(self):
            self.lock = threading.Lock()

        def __call__(self, text):
            return text.split()

    fitting = ParagraphVector(**SMALL, tokenizer=Tokenizer())
    with pytest.raises(PowerCutError):
        fitting.fit(texts, checkpoint=tmp_path / "c", callbacks=[stop_after(3)])
    fitting.fit(texts, checkpoint=tmp_path / "c", resume=True)
    assert same(fitting, ParagraphVector(**{**SMALL, "checkpoint_every": None}, tokenizer=str.split).fit(texts))
