"""Models that are saved where others are: a full disk, several processes, a model that is in use."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from paravec import ParagraphVector, store

TEXTS = [f"the {a} {b} sat on the {b}" for a in ("cat", "dog", "hen") for b in ("mat", "rug", "log", "bed")]


def fitted(size: int = 4, **settings) -> ParagraphVector:
    return ParagraphVector(vector_size=size, epochs=1, min_count=1, **settings).fit(
        TEXTS, ids=[f"id {i}" for i in range(len(TEXTS))]
    )


LIMITED = """
import resource, signal, sys
from paravec import ParagraphVector
model = ParagraphVector(vector_size=400, epochs=1, min_count=1).fit(["a b c d e f g h i j k l m n o p"] * 20)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    model.save(sys.argv[1])
except OSError as error:
    print(error.strerror, error.filename)
"""


@pytest.mark.parametrize("room", [0, 100, 5_000, 30_000])
def test_a_full_disk_leaves_the_old_model(tmp_path, room):
    old = fitted()
    old.save(tmp_path / "model")
    command = [sys.executable, "-c", LIMITED, tmp_path / "model", str(room)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"File too large {tmp_path / 'model'}\n"
    assert os.listdir(tmp_path) == ["model"]
    again = ParagraphVector.load(tmp_path / "model")
    assert np.array_equal(again.document_vectors_, old.document_vectors_)


SAVING = """
import sys
from paravec import ParagraphVector
texts = [f"the {a} {b} sat on the {b}" for a in ("cat", "dog", "hen") for b in ("mat", "rug", "log", "bed")]
size = int(sys.argv[2])
model = ParagraphVector("dm+dbow", vector_size=size, combine="mean", epochs=1, min_count=1, random_state=size)
model.fit(texts, ids=[f"{size} {i}" for i in range(len(texts))])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(40):
    model.save(sys.argv[1])
"""


def test_of_processes_that_save_to_one_place_one_wins_whole_and_readers_find_a_whole_model(tmp_path):
    place = tmp_path / "model"
    sizes = (4, 4, 6)  # two models of the same shape
    commands = [[sys.executable, "-c", SAVING, place, str(size)] for size in sizes]
    runs = [subprocess.Popen(c, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for c in commands]
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    fitted(5).save(place)
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    seen, loads = set(), 0
    while any(run.poll() is None for run in runs):
        model = store.load(place)
        loads += 1
        size = model.settings.vector_size
        seen.add(size)
        assert {id.split()[0] for id in model.known_documents().ids} == {"id" if size == 5 else str(size)}
        assert all(part.shape == (12, size) for part in model.known_documents().segments[0].parts)
    assert all(run.wait() == 0 for run in runs)
    for run in runs:
        run.stdin.close()
        run.stdout.close()
    assert seen & {4, 6}
    assert loads > 5
    assert os.listdir(tmp_path) == ["model"]
    assert store.load(place).settings.vector_size in (4, 6)


def test_a_kill_while_saving_leaves_a_whole_model(tmp_path):
    place = tmp_path / "model"
    fitted().save(place)
    for i in range(12):
        command = [sys.executable, "-c", SAVING, place, "6"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
            run.stdout.readline()
            run.stdin.write("\n")
            run.stdin.flush()
            time.sleep(0.002 + 0.013 * i)
            run.send_signal(signal.SIGKILL)
        assert store.load(place).settings.vector_size in (4, 6)
    fitted().save(place)
    assert os.listdir(tmp_path) == ["model"]


def test_a_model_can_be_saved_over_the_one_it_is_mapped_from(tmp_path):
    first = fitted()
    first.save(tmp_path / "model")
    mapped = ParagraphVector.load(tmp_path / "model")
    vectors, ids = first.document_vectors_.copy(), list(first.document_ids_)
    mapped.save(tmp_path / "model")
    mapped.save(tmp_path / "model")
    for model in (mapped, ParagraphVector.load(tmp_path / "model"), pickle.loads(pickle.dumps(mapped))):
        assert np.array_equal(model.document_vectors_, vectors)
        assert list(model.document_ids_) == ids
        assert model.similar(id="id 3", k=2) == first.similar(id="id 3", k=2)


def test_a_model_without_documents_is_small_and_infers(tmp_path):
    whole = fitted()
    whole.save(tmp_path / "whole")
    whole.save(tmp_path / "small", documents=False)
    small = ParagraphVector.load(tmp_path / "small")
    assert sorted(path.name for path in (tmp_path / "small").iterdir()) == [
        "model.safetensors", "settings.json", "vocabulary.safetensors",
    ]  # fmt: skip
    assert np.array_equal(small.transform(TEXTS), whole.transform(TEXTS))
    assert small.n_documents_ == 12
    assert not hasattr(small, "document_vectors_")
    assert not hasattr(small, "document_ids_")
    with pytest.raises(ValueError, match="saved without its documents"):
        small.similar("the cat")
    small.save(tmp_path / "again")
    assert not (tmp_path / "again" / "documents.safetensors").exists()
