"""Documents of a saved model: added and removed in place, whole or not at all, whatever happens."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from conftest import COMMAND, paravec
from paravec import ModelFormatError, ParagraphVector, add_documents, remove_documents, store, tensors
from test_memory import megabytes

TEXTS = [f"the {a} {b} sat on the {c}" for a in ("cat", "dog", "hen") for b in ("big", "red") for c in ("mat", "rug")]
IDS = [f"id {i}" for i in range(len(TEXTS))]
MODELS = [{}, {"model": "dm+dbow", "combine": "mean", "window": 3}]


def saved(place: Path, ids=IDS, **chosen) -> ParagraphVector:
    model = ParagraphVector(**{"vector_size": 6, "epochs": 2, "min_count": 1, **chosen})
    model.fit(TEXTS[:8], ids=None if ids is None else ids[:8]).save(place)
    return model


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("ids", [IDS, None, list(range(50, 62))], ids=["strings", "numbered", "integers"])
@pytest.mark.parametrize("chosen", MODELS, ids=str)
def test_what_is_added_to_a_saved_model_is_what_is_added_in_memory(tmp_path, chosen, ids):
    model = saved(tmp_path / "model", ids, **chosen)
    before = contents(tmp_path / "model")
    assert add_documents(tmp_path / "model", TEXTS[8:], None if ids is None else ids[8:]) == 4
    after = contents(tmp_path / "model")
    assert all(after[name] == data for name, data in before.items() if name != "settings.json")
    assert len(after) == len(before) + 1
    model.add_documents(TEXTS[8:], None if ids is None else ids[8:])
    remove_documents(tmp_path / "model", [model.document_ids_[i] for i in (0, 9)])
    model.remove_documents([model.document_ids_[i] for i in (0, 9)])
    again = ParagraphVector.load(tmp_path / "model")
    assert again.document_vectors_.tobytes() == model.document_vectors_.tobytes()
    assert list(again.document_ids_) == list(model.document_ids_)
    assert again.n_documents_ == 10
    assert again.similar(TEXTS[3], 10) == model.similar(TEXTS[3], 10)
    again.save(tmp_path / "anew")
    names = {path.name for path in (tmp_path / "anew").rglob("*") if path.is_file()}
    assert names <= {
        "settings.json",
        "vocabulary.safetensors",
        "model.safetensors",
        "documents.safetensors",
        "ids.safetensors",
    }
    anew = ParagraphVector.load(tmp_path / "anew")
    assert anew.document_vectors_.tobytes() == model.document_vectors_.tobytes()
    assert list(anew.document_ids_) == list(model.document_ids_)


def test_the_version_says_who_can_read_a_model(tmp_path):
    def version() -> int:
        return json.loads((tmp_path / "model" / "settings.json").read_text())["version"]

    model = saved(tmp_path / "model")
    assert version() == 1
    add_documents(tmp_path / "model", TEXTS[8:], IDS[8:])
    assert version() == 2
    ParagraphVector.load(tmp_path / "model").remove_documents(IDS[8:]).save(tmp_path / "model")
    assert version() == 1
    assert np.array_equal(ParagraphVector.load(tmp_path / "model").document_vectors_, model.document_vectors_)


def test_whoever_has_opened_a_model_keeps_what_was_there(tmp_path):
    saved(tmp_path / "model")
    for i in range(5):
        opened = ParagraphVector.load(tmp_path / "model")
        vectors = opened.document_vectors_.copy()
        add_documents(tmp_path / "model", TEXTS[:1], [f"new {i}"])  # which also puts small segments together
        assert np.array_equal(opened.document_vectors_, vectors)
        assert opened.n_documents_ == 8 + i
    assert len(list((tmp_path / "model").glob("documents-*"))) <= 3
    assert list(ParagraphVector.load(tmp_path / "model").document_ids_) == IDS[:8] + [f"new {i}" for i in range(5)]


def test_numbers_are_never_negative(tmp_path):
    saved(tmp_path / "model", ids=list(range(-20, -8)))
    add_documents(tmp_path / "model", TEXTS[8:10])
    assert list(ParagraphVector.load(tmp_path / "model").document_ids_) == [*range(-20, -12), 0, 1]


def test_an_id_that_was_removed_may_come_again_and_again(tmp_path):
    saved(tmp_path / "model")
    for i in range(4):
        add_documents(tmp_path / "model", TEXTS[i : i + 1], ["again"])
        model = ParagraphVector.load(tmp_path / "model")
        assert np.array_equal(model.document_vectors_[-1:], model.transform(TEXTS[i : i + 1]))
        assert model.similar(TEXTS[i], 1, among=["again"])[0][1] == pytest.approx(1, abs=1e-5)
        with pytest.raises(ValueError, match="is there already"):
            add_documents(tmp_path / "model", TEXTS[:1], ["again"])
        remove_documents(tmp_path / "model", ["again"])
    assert list(ParagraphVector.load(tmp_path / "model").document_ids_) == IDS[:8]


def test_a_model_whose_documents_are_updated_often_has_few_files(tmp_path):
    saved(tmp_path / "model")
    for i in range(60):
        remove_documents(tmp_path / "model", ["id 1"])
        add_documents(tmp_path / "model", TEXTS[i % 8 : i % 8 + 1], ["id 1"])
    assert len(list((tmp_path / "model").iterdir())) < 14
    model = ParagraphVector.load(tmp_path / "model")
    assert list(model.document_ids_) == [IDS[0], *IDS[2:8], "id 1"]
    assert np.array_equal(model.document_vectors_[-1:], model.transform(TEXTS[3:4]))
    assert model.similar(TEXTS[3], 1, among=["id 1"])[0][1] == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("texts", "ids", "message"),
    [
        (TEXTS[:2], ["new", "id 3"], "1 of the 2 given is there already, the first 'id 3'"),
        (TEXTS[:2], None, "give ids"),
        ([], [], "holds no document"),
    ],
)
def test_what_cannot_be_added_leaves_every_byte(tmp_path, texts, ids, message):
    saved(tmp_path / "model")
    before = contents(tmp_path / "model")
    with pytest.raises(ValueError, match=message):
        add_documents(tmp_path / "model", texts, ids)
    with pytest.raises(KeyError, match="no document has the id 'id 99'"):
        remove_documents(tmp_path / "model", ["id 1", "id 99"])
    assert contents(tmp_path / "model") == before


# Every call that changes the disk, in turn, is the last one of a process that is killed before it, or after it.
KILLED = """
import builtins, os, pathlib, signal, sys
import paravec
from paravec import tensors
place, late = sys.argv[1], sys.argv[2] == "after"
texts, ids = ["the cat sat", "the dog sat", "the hen sat"], ["x", "y", "z"]
paravec.add_documents(place, texts[:1], ["warm"])
paravec.remove_documents(place, ["warm"])

at = 0
while True:
    child = os.fork()
    if not child:
        left = [at]
        places = [(os, "fsync"), (os, "replace"), (tensors, "write_all"), (pathlib.Path, "unlink"), (builtins, "open")]
        for owner, name in places:
            work = getattr(owner, name)
            def call(*arguments, work=work, **more):
                left[0] -= 1
                if left[0] < 0 and not late:
                    os.kill(os.getpid(), signal.SIGKILL)
                done = work(*arguments, **more)
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return done
            setattr(owner, name, call)
        if sys.argv[3] == "add":
            paravec.add_documents(place, texts, ids)
        else:
            paravec.remove_documents(place, ["id 1"])
        os._exit(0)
    _, status = os.waitpid(child, 0)
    found = list(paravec.ParagraphVector.load(place).document_ids_)
    print(int(os.WIFSIGNALED(status)), "x" in found, "id 1" in found, len(found), flush=True)
    if not os.WIFSIGNALED(status):
        break
    if "x" in found:
        paravec.remove_documents(place, ids)
    if "id 1" not in found:
        paravec.add_documents(place, texts[:1], ["id 1"])
    at += 1
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("what", ["add", "remove"])
def test_a_kill_at_any_step_leaves_the_model_as_it_was_or_changed_as_a_whole(tmp_path, what, when):
    saved(tmp_path / "model")
    command = [sys.executable, "-c", KILLED, tmp_path / "model", when, what]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    steps = [line.split() for line in done.stdout.splitlines()]
    assert [step[0] for step in steps] == ["1"] * (len(steps) - 1) + ["0"]
    assert len(steps) > 5
    expected = {("True", "True", "11"), ("False", "True", "8")} if what == "add" else {
        ("False", "True", "8"), ("False", "False", "7"),
    }  # fmt: skip
    assert {tuple(step[1:]) for step in steps} == expected
    named = json.loads((tmp_path / "model" / "settings.json").read_text())
    files = {each["file"] for each in named["segments"]} | {named["removed"]["file"]}
    kept = {"settings.json", "vocabulary.safetensors", "model.safetensors", "documents.safetensors", "ids.safetensors"}
    assert set(os.listdir(tmp_path / "model")) == files | kept  # the next one swept away what the killed ones left


def test_kills_of_the_command_at_random_moments(folder, tmp_path):
    place = Path(shutil.copytree(folder / "model", tmp_path / "model"))
    chance, seen = random.Random(0), set()
    for _ in range(8):
        command = [*COMMAND, "add", str(place), str(folder / "corpus.txt")]
        before = store.load(place).n_documents
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as run:
            time.sleep(0.2 + 1.3 * chance.random())
            run.send_signal(signal.SIGKILL)
        fitted = store.load(place)
        seen.add(fitted.n_documents - before)
        assert len(set(fitted.known_documents().ids)) == fitted.n_documents
    assert seen <= {0, 200}


LIMITED = """
import resource, sys
import paravec
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    if sys.argv[2] == "remove":
        paravec.remove_documents(sys.argv[1], ["id 1"])
    else:
        many = int(sys.argv[2])
        paravec.add_documents(sys.argv[1], ["the cat sat"] * many, [f"new {i}" for i in range(many)])
except OSError as error:
    print(error.strerror, error.filename)
"""


@pytest.mark.parametrize(
    ("what", "room"),
    [("1", 0), ("1", 300), ("1", 1000), ("500", 2000), ("500", 20_000), ("remove", 0), ("remove", 1000)],
)
def test_a_full_disk_leaves_the_model_as_it_was(tmp_path, what, room):
    saved(tmp_path / "model")
    before = contents(tmp_path / "model")
    command = [sys.executable, "-c", LIMITED, tmp_path / "model", what, str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"File too large {tmp_path / 'model'}\n"
    assert contents(tmp_path / "model") == before


def test_processes_that_add_at_once_wait_for_each_other_and_readers_find_whole_models(tmp_path):
    saved(tmp_path / "model", ids=None)
    script = (
        "import sys, paravec\nfor i in range(10): paravec.add_documents(sys.argv[1], ['the cat sat', 'the dog sat'])"
    )
    runs = [subprocess.Popen([sys.executable, "-c", script, tmp_path / "model"]) for _ in range(3)]
    sizes = []
    while any(run.poll() is None for run in runs):
        found = ParagraphVector.load(tmp_path / "model")
        sizes.append(found.n_documents_)
        assert list(found.document_ids_) == list(range(sizes[-1]))
        assert found.document_vectors_.shape == (sizes[-1], 6)
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert ParagraphVector.load(tmp_path / "model").n_documents_ == 8 + 60
    assert sizes == sorted(sizes)


def test_documents_are_not_added_to_another_model_than_they_were_inferred_with(tmp_path):
    saved(tmp_path / "model")
    identity = store.load(tmp_path / "model").origin[1]
    other = saved(tmp_path / "model", random_state=1)
    with pytest.raises(ValueError, match=r"another model was saved to .* meanwhile; begin again"):
        store.change(tmp_path / "model", identity, lambda now: now.removing(["id 1"]))
    assert np.array_equal(ParagraphVector.load(tmp_path / "model").document_vectors_, other.document_vectors_)


def test_segments_are_mapped_and_not_held(tmp_path):
    script = """
from paravec import store
from paravec.documents import Segment
paravec.ParagraphVector(vector_size=50, epochs=1, min_count=1).fit(["a b", "b c"], ids=["x", "y"]).save(sys.argv[1])
identity = store.load(sys.argv[1]).origin[1]
for part in range(4):
    vectors = np.random.default_rng(part).standard_normal((100_000, 50)).astype(np.float32)
    ids = [f"document-{part}-{i:06}" for i in range(100_000)]
    store.change(sys.argv[1], identity, lambda now: now.adding(Segment((vectors,), ids)))
del vectors, ids

def look():
    opened = paravec.ParagraphVector.load(sys.argv[1])
    assert len(opened._fitted.documents.segments) == 5
    assert opened.n_documents_ == 400_002
    assert opened.similar(id="document-2-000777", k=3)

grown(look)
"""
    assert megabytes(script, tmp_path / "model") < 20  # of 80 MB of vectors and 20 MB of ids


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a["segments"][0].update(file="../../etc/passwd"),
        lambda a: a["segments"][0].update(file="ids.safetensors"),
        lambda a: a["segments"][0].update(file=7),
        lambda a: a["segments"][0].update(n_documents=3),
        lambda a: a["segments"][0].update(n_documents=-1),
        lambda a: a["segments"][0].update(n_documents=2**62),
        lambda a: a["segments"][0].update(integer_ids=True),
        lambda a: a["segments"][0].update(first_number=3),
        lambda a: a["segments"][0].pop("file"),
        lambda a: a["segments"].append(a["segments"][0]),
        lambda a: a.update(segments=5),
        lambda a: a.update(segments=["documents"]),
        lambda a: a.update(n_documents=7),
        lambda a: a.update(removed=3),
        lambda a: a["removed"].update(count=2),
        lambda a: a["removed"].update(file="settings.json"),
    ],
)
def test_a_manifest_that_lies_about_segments_is_refused(tmp_path, change):
    saved(tmp_path / "model")
    add_documents(tmp_path / "model", TEXTS[8:], IDS[8:])
    remove_documents(tmp_path / "model", ["id 1"])
    path = tmp_path / "model" / "settings.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))
    with pytest.raises(ModelFormatError):
        ParagraphVector.load(tmp_path / "model")


@pytest.mark.parametrize("rows", [[-1], [12], [3, 3], [5, 2]])
def test_rows_that_cannot_have_been_removed_are_refused(tmp_path, rows):
    saved(tmp_path / "model")
    add_documents(tmp_path / "model", TEXTS[8:], IDS[8:])
    remove_documents(tmp_path / "model", IDS[: len(rows)])
    (path,) = (tmp_path / "model").glob("removed-*")
    _, metadata = tensors.read(path)
    tensors.write(path, {"rows": np.array(rows)}, metadata)
    with pytest.raises(ModelFormatError, match="its rows are none of 12"):
        ParagraphVector.load(tmp_path / "model")


def test_a_segment_of_another_model_is_refused(tmp_path):
    for name, seed in (("one", 0), ("other", 1)):
        saved(tmp_path / name, random_state=seed)
        add_documents(tmp_path / name, TEXTS[8:], IDS[8:])
    (ours,), (theirs,) = ((tmp_path / name).glob("documents-*") for name in ("one", "other"))
    shutil.copy(theirs, ours)
    with pytest.raises(ModelFormatError, match="belongs to another model"):
        ParagraphVector.load(tmp_path / "one")


def test_the_command_line_adds_and_removes(folder, tmp_path):
    place = shutil.copytree(folder / "model", tmp_path / "model")
    done = paravec("add", place, "-", given="open a file for reading\nsort a list of numbers\n")
    assert done.stderr.startswith("2 documents added")
    assert json.loads(paravec("info", place, "--json").stdout)["documents"] == 202
    assert paravec("similar", place, "sort a list of numbers", "-k", "1").stdout.split()[1] == "202"
    assert "3 documents removed, 199 left" in paravec("remove", place, "201", "5", "7").stderr
    assert "1 documents removed, 198 left" in paravec("remove", place, "-", given="9\n").stderr
    assert "no document has the id 5" in paravec("remove", place, "5", code=1).stderr
    assert "no document has the id 'five'" in paravec("remove", place, "five", code=1).stderr
    (tmp_path / "table.jsonl").write_text('{"key": 202, "text": "a list"}\n')
    done = paravec("add", place, tmp_path / "table.jsonl", "--id", "key", code=1)
    assert "1 of the 1 given is there already, the first 202" in done.stderr
    assert "there is no model folder at" in paravec("add", tmp_path / "nowhere", "-", given="x\n", code=1).stderr


def test_a_model_that_has_grown_is_still_the_result_of_its_training(folder, tmp_path):
    arguments = ("train", folder / "corpus.txt", "-o", tmp_path / "model", "--epochs", "1", "--vector-size", "4")
    paravec(*arguments)
    paravec("add", tmp_path / "model", "-", given="open a file\n")
    assert "is complete" in paravec(*arguments, "--resume").stderr
    assert json.loads(paravec("info", tmp_path / "model", "--json").stdout)["documents"] == 201
