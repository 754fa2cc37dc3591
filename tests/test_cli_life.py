"""The command line when work is stopped, taken up again, or done already."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np

from conftest import COMMAND, paravec
from paravec import ParagraphVector, add_documents, remove_documents


def test_an_interrupt_is_130_and_leaves_nothing(folder):
    command = [*COMMAND, "train", folder / "corpus.txt", "-o", folder / "stopped", "--epochs", "1000000"]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as run:
        while "epoch 1/" not in run.stderr.readline():
            pass
        time.sleep(0.5)
        os.kill(run.pid, signal.SIGINT)
        rest = run.stderr.read()
        assert run.wait(timeout=10) == 130
    assert "Traceback" not in rest
    assert rest.rstrip().endswith("paravec: interrupted")
    assert not (folder / "stopped").exists()


def test_an_interrupted_training_goes_on(folder):
    options = ("--epochs", "300", "--vector-size", "16", "--checkpoint-every", "1")
    arguments = ("train", folder / "corpus.txt", "-o", folder / "long", *options)
    with subprocess.Popen([*COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, text=True) as run:
        while "epoch 5/" not in run.stderr.readline():
            pass
        os.kill(run.pid, signal.SIGINT)
        rest = run.stderr.read().splitlines()
        assert run.wait(timeout=10) == 130
    assert "long.checkpoint (dbow after " in rest[-2]
    assert rest[-2].endswith(" of 300 epochs) stays; go on with --resume")
    assert rest[-1] == "paravec: interrupted"
    position = json.loads(paravec("info", folder / "long.checkpoint", "--json").stdout)["position"]
    lost = paravec(*arguments, code=1)
    assert f"({position}), which would be lost" in lost.stderr
    done = paravec(*arguments, "--resume")
    assert f"going on from {folder}/long.checkpoint: {position}" in done.stderr
    assert not (folder / "long.checkpoint").exists()
    # Once more: there is nothing left to do.
    before = (folder / "long" / "settings.json").stat().st_mtime_ns
    assert "is complete: it was trained on this corpus with these settings" in paravec(*arguments, "--resume").stderr
    assert (folder / "long" / "settings.json").stat().st_mtime_ns == before
    paravec("train", folder / "corpus.txt", "-o", folder / "whole", "--quiet", *options)
    a, b = ParagraphVector.load(folder / "long"), ParagraphVector.load(folder / "whole")
    assert np.array_equal(a.document_vectors_, b.document_vectors_)


def test_two_interrupts_at_any_moment_are_130_and_never_a_traceback(folder):
    command = [*COMMAND, "train", folder / "corpus.txt", "-o", folder / "never", "--epochs", "1000000"]
    command += ["--checkpoint-every", "1", "--resume"]
    for i in range(24):
        with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as run:
            time.sleep(0.12 + 0.03 * i)  # from the start of the interpreter, through imports, to training
            os.kill(run.pid, signal.SIGINT)
            time.sleep(0.004 * (i % 6))
            os.kill(run.pid, signal.SIGINT)
            shown = run.stderr.read()
            code = run.wait(timeout=10)
        if "import site" in shown or "import_site" in shown or (code == -2 and not shown):
            continue  # the interpreter itself was not there yet
        assert code == 130, shown
        assert "Traceback" not in shown


def test_a_checkpoint_that_is_not_this_trainings_stays(folder):
    text = folder / "corpus.txt"
    strange = folder / "kept.checkpoint"
    strange.mkdir()
    (strange / "thesis.txt").write_text("ten years of work")
    paravec("train", text, "-o", folder / "kept", "--epochs", "1", "--quiet")
    assert (strange / "thesis.txt").exists()
    for option in (("--resume",), ("--checkpoint-every", "1")):
        done = paravec("train", text, "-o", folder / "kept", "--epochs", "1", *option, code=1)
        assert "is no paravec checkpoint" in done.stderr
    assert (strange / "thesis.txt").exists()


def test_a_complete_model_is_one_with_what_was_asked_for(folder):
    def train(*more: str) -> str:
        arguments = ("train", folder / "corpus.txt", "-o", folder / "asked", "--epochs", "1", "--resume")
        return paravec(*arguments, *more).stderr

    assert "is complete" not in train()
    assert "is complete" in train("--n-jobs", "2")
    assert "is complete" not in train("--no-documents")
    assert "is complete" not in train()
    assert "is complete" not in train("--random-state", "1")


def test_training_that_stops_early_says_so(folder):
    arguments = ("--validation-fraction", "0.2", "--patience", "1", "--stop-tol", "0.9", "--epochs", "9", "--json")
    done = paravec("train", folder / "corpus.txt", "-o", folder / "early", *arguments)
    assert "dbow stopped after 2 of 9 epochs; epoch 1 is kept" in done.stderr
    assert json.loads(done.stdout)["kept_epoch"] == {"dbow": 1}
    assert json.loads(paravec("info", folder / "early", "--json").stdout)["kept_epoch"] == {"dbow": 1}
    assert ParagraphVector.load(folder / "early").kept_epoch_ == {"dbow": 1}


def test_a_terminated_training_says_where_it_was(folder):
    command = [*COMMAND, "train", folder / "corpus.txt", "-o", folder / "ended", "--epochs", "100000"]
    command += ["--checkpoint-every", "1"]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as run:
        while "epoch 3/" not in run.stderr.readline():
            pass
        run.terminate()
        rest = run.stderr.read().splitlines()
        assert run.wait(timeout=10) == 143
    assert "ended.checkpoint (dbow after" in rest[-2]
    assert rest[-1] == "paravec: terminated"


def test_an_interrupted_encoding_leaves_nothing(tmp_path):
    command = [*COMMAND, "encode", "-", "-o", str(tmp_path / "corpus"), "--n-jobs", "2"]
    with (
        subprocess.Popen(["yes", "the quick brown fox"], stdout=subprocess.PIPE) as endless,
        subprocess.Popen(command, stdin=endless.stdout, stderr=subprocess.PIPE, text=True) as run,
    ):
        while not any(path.stat().st_size for path in tmp_path.rglob("*.part")):
            time.sleep(0.05)
        os.kill(run.pid, signal.SIGINT)
        assert run.wait(timeout=20) == 130
        endless.kill()
        assert run.stderr.read().rstrip().endswith("paravec: interrupted")
    assert os.listdir(tmp_path) == []


def test_a_terminated_encoding_leaves_nothing(tmp_path):
    command = [*COMMAND, "encode", "-", "-o", str(tmp_path / "corpus")]
    with (
        subprocess.Popen(["yes", "the quick brown fox"], stdout=subprocess.PIPE) as endless,
        subprocess.Popen(command, stdin=endless.stdout, stderr=subprocess.PIPE, text=True) as run,
    ):
        while not any(path.stat().st_size for path in tmp_path.rglob("*.part")):
            time.sleep(0.05)
        run.terminate()
        assert run.wait(timeout=20) == 143
        endless.kill()
    assert os.listdir(tmp_path) == []


def test_wrong_usage_is_told_before_the_model_is_opened(tmp_path):
    for arguments, message in (
        (("index", "nowhere", "--recall", "2"), "recall=2.0 is no part of what is to be found"),
        (("export", "nowhere", "-o", tmp_path / "x.npz", "--what", "foo"), "what='foo' is not one of"),
        (("export", "nowhere", "-o", tmp_path / "x.abc"), "tells no format"),
    ):
        assert message in paravec(*arguments, code=2).stderr


def test_ids_in_a_file_are_lines_and_nothing_else_ends_them(tmp_path):
    ids = ["one\u2028two", "three\x0bfour", "five", "six"]
    ParagraphVector(vector_size=4, epochs=1, min_count=1).fit(["a b", "b c", "c a", "a c"], ids=ids).save(
        tmp_path / "m"
    )
    (tmp_path / "some").write_text(f"{ids[0]}\r\n\n{ids[1]}\n", encoding="utf-8", newline="")
    found = paravec("similar", tmp_path / "m", "a b", "--among", tmp_path / "some", "--json").stdout.splitlines()
    assert {json.loads(line)["id"] for line in found} == set(ids[:2])
    assert (
        "2 documents removed, 2 left" in paravec("remove", tmp_path / "m", "-", given=f"{ids[0]}\n\n{ids[2]}\n").stderr
    )


def test_info_tells_what_became_of_a_model(folder, tmp_path):
    place = shutil.copytree(folder / "model", tmp_path / "model")
    add_documents(place, ["open a file"])
    remove_documents(place, [1])
    told = json.loads(paravec("info", place, "--json").stdout)
    about = {
        name: told[name] for name in ("documents", "segments", "removed", "index", "trained_documents", "continued")
    }
    assert about == {
        "documents": 200, "segments": 2, "removed": 1, "index": False, "trained_documents": 200, "continued": 0
    }  # fmt: skip
