from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from paravec import ParagraphVector

COMMAND = [sys.executable, "-m", "paravec"]


def paravec(*arguments: str, given: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory, python_docs):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "corpus.txt").write_text("".join(text + "\n" for _, text in python_docs[:200]), encoding="utf-8")
    paravec("train", folder / "corpus.txt", "-o", folder / "model", "--vector-size", "8", "--epochs", "3")
    return folder


def test_train_takes_every_setting_by_its_name(folder):
    done = paravec(
        "train", folder / "corpus.txt", "-o", folder / "other", "--model", "dm+dbow", "--combine", "mean",
        "--window", "3", "--vector-size", "6", "--epochs", "2", "--n-jobs", "2", "--no-refit-documents",
        "--random-state", "7",
    )  # fmt: skip
    assert "dm epoch 2/2: loss" in done.stderr
    assert "200 documents" in done.stderr
    fitted = ParagraphVector.load(folder / "other")
    assert (fitted.model, fitted.combine, fitted.window, fitted.refit_documents) == ("dm+dbow", "mean", 3, False)
    assert fitted.seed_ == 7


def test_train_reads_standard_input(folder):
    paravec("train", "-", "-o", folder / "piped", "--min-count", "1", "--quiet", given="a b c\nb c d\n")
    assert ParagraphVector.load(folder / "piped").document_ids_ == [1, 2]


def test_infer_writes_a_json_line_a_document(folder):
    texts = ["return a string", "the module"]
    for source in ("-", str(folder / "new.txt")):
        (folder / "new.txt").write_text("\n".join(texts))
        lines = paravec("infer", folder / "model", source, given="\n".join(texts)).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        assert [row["id"] for row in rows] == [1, 2]
        expected = ParagraphVector.load(folder / "model").transform(texts)
        assert np.allclose([row["vector"] for row in rows], expected, atol=1e-5)


def test_similar_by_text_and_by_id(folder):
    by_text = paravec("similar", folder / "model", "return a string", "-k", "3").stdout.splitlines()
    assert len(by_text) == 3
    scores = [float(line.split("\t")[0]) for line in by_text]
    assert scores == sorted(scores, reverse=True)
    rows = [json.loads(x) for x in paravec("similar", folder / "model", "--id", "5", "--json").stdout.splitlines()]
    assert len(rows) == 10
    assert 5 not in [row["id"] for row in rows]


def test_info_shows_every_setting(folder):
    about = json.loads(paravec("info", folder / "model", "--json").stdout)
    assert about["documents"] == 200
    assert about["settings"]["vector_size"] == 8
    assert len(about["loss_history"]["dbow"]) == 3
    plain = paravec("info", folder / "model").stdout
    assert all(name in plain for name in about["settings"])


def test_wrong_usage_is_2_and_a_failure_is_1_each_with_a_sentence(folder):
    usage = paravec("train", folder / "corpus.txt", "-o", folder / "x", "--model", "dm", "--window", "1", code=2)
    assert "window=1 leaves no context for model='dm'; use window >= 2" in usage.stderr
    paravec("train", folder / "corpus.txt", code=2)
    paravec("similar", folder / "model", code=2)
    assert paravec("info", folder / "nowhere", code=1).stderr.startswith("paravec: there is no model folder at")
    assert "corpus.text: No such file" in paravec("train", folder / "corpus.text", "-o", folder / "x", code=1).stderr
    assert "is a folder" in paravec("train", folder, "-o", folder / "x", code=1).stderr
    empty = paravec("train", "-", "-o", folder / "x", code=1)
    assert empty.stderr.strip() == "paravec: the corpus is empty: it holds no document; give at least one"
    assert "no document has the id 9999" in paravec("similar", folder / "model", "--id", "9999", code=1).stderr
    (folder / "latin").write_bytes(b"caf\xe9 caf\xe9\n")
    assert "is not UTF-8" in paravec("train", folder / "latin", "-o", folder / "x", code=1).stderr
    assert not (folder / "x").exists()


def test_an_interrupt_is_130_and_leaves_nothing(folder):
    command = [*COMMAND, "train", folder / "corpus.txt", "-o", folder / "stopped", "--epochs", "1000000"]
    with subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True) as run:
        assert "epoch 1/" in run.stderr.readline()
        time.sleep(0.5)
        os.kill(run.pid, signal.SIGINT)
        rest = run.stderr.read()
        assert run.wait(timeout=10) == 130
    assert "Traceback" not in rest
    assert rest.rstrip().endswith("paravec: interrupted")
    assert not (folder / "stopped").exists()


def test_the_demo_answers_from_pythons_own_documentation(folder):
    out = paravec("demo", "-o", folder / "demo").stdout
    assert "parse a date from a string" in out
    assert "paragraphs" in out
    assert ParagraphVector.load(folder / "demo").n_documents_ > 5000


def test_standard_input_must_be_utf8_too(folder):
    given = "the cat sat\nthe dog sat\n".encode("utf-16")
    done = subprocess.run([*COMMAND, "train", "-", "-o", str(folder / "y")], input=given, capture_output=True)
    assert done.returncode == 1
    assert b"standard input is not UTF-8 text" in done.stderr


def test_the_place_of_the_model_is_checked_before_the_work(folder):
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    done = paravec("train", folder / "missing.txt", "-o", folder / "full", code=1)
    assert "exists and is no paravec model" in done.stderr


def test_unknown_lines_are_named_by_their_number(folder):
    done = paravec("infer", folder / "model", "-", given="return a value\nzzzz\n")
    assert "1 of 2 documents have no word the model knows (the first is line 2)" in done.stderr
