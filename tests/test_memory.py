"""Corpora larger than memory: what is read or mapped must not be held."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURED = """
import sys, threading, time
import numpy as np
import paravec

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

class Peak(threading.Thread):
    def run(self):
        self.most, self.over = 0, False
        while not self.over:
            self.most = max(self.most, anonymous())
            time.sleep(0.002)

def grown(work):
    before, peak = anonymous(), Peak()
    peak.start()
    try:
        work()
    finally:
        peak.over = True
        peak.join()
    print((peak.most - before) / 2**20)
"""


def megabytes(script: str, *arguments: object) -> float:
    done = subprocess.run(
        [sys.executable, "-c", MEASURED + script, *map(str, arguments)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="anonymous memory is read from /proc")


def test_encoding_a_file_to_a_folder_does_not_hold_it(tmp_path):
    line = " ".join(f"word{i * 7 % 1000}" for i in range(150)) + "\n"
    (tmp_path / "text").write_text(line * (400_000_000 // len(line)))
    script = "grown(lambda: paravec.encode(paravec.read(sys.argv[1]), sys.argv[2]))"
    assert megabytes(script, tmp_path / "text", tmp_path / "corpus") < 200  # of 400 MB of text and 190 MB of tokens


def test_training_on_a_mapped_corpus_does_not_hold_it(tmp_path):
    line = " ".join(f"word{i * 7 % 1000}" for i in range(1500)) + "\n"
    (tmp_path / "text").write_text(line * 10_000)
    script = """
paravec.encode(paravec.read(sys.argv[1]), sys.argv[2])
fitting = paravec.ParagraphVector(vector_size=4, epochs=1, sample=1e-4, infer_max_iter=1)
grown(lambda: fitting.fit(sys.argv[2]))
"""
    assert megabytes(script, tmp_path / "text", tmp_path / "corpus") < 20  # of 60 MB of tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"vector_size": 200},
        {"vector_size": 100, "model": "dm+dbow", "window": 3, "ngrams": 2},
        {"vector_size": 200, "output": "hs", "validation_fraction": 0.1, "patience": 3},
        {"vector_size": 20, "output": "softmax", "batch_size": 128, "max_vocab": 3000},
    ],
    ids=str,
)
def test_the_estimate_of_memory_is_what_a_fit_takes(settings):
    documents = 2_000 if settings.get("output") == "softmax" else 20_000
    script = f"""
from paravec import memory
rng = np.random.default_rng(0)
corpus = paravec.encode([[f"w{{i}}" for i in row] for row in rng.integers(0, 60_000, size=({documents}, 30))],
                        ngrams={settings.get("ngrams", 1)}, max_vocab={settings.get("max_vocab")})
fitting = paravec.ParagraphVector(epochs=2, infer_max_iter=2, **{settings!r})
from paravec.settings import Settings
parts = memory.estimate(Settings(**{settings!r}), corpus.vocabulary, corpus.documents)
print(sum(parts.values()) / 2**20)
grown(lambda: fitting.fit(corpus))
"""
    done = subprocess.run([sys.executable, "-c", MEASURED + script], capture_output=True, text=True, check=True)
    estimate, taken = map(float, done.stdout.split())
    assert estimate > 2
    assert 0.6 * estimate < taken < 1.15 * estimate + 10


def test_one_long_document_is_counted_once_not_for_every_thread():
    script = """
from paravec import memory
from paravec.settings import Settings
rng = np.random.default_rng(0)
documents = [[f"w{i}" for i in rng.integers(0, 50, size=n)] for n in (400_000, 10, 10, 10)]
corpus = paravec.encode(documents)
settings = {"model": "dm", "combine": "mean", "vector_size": 4, "n_jobs": 16, "infer_context": True}
parts = memory.estimate(Settings(**settings), corpus.vocabulary, corpus.documents)
print(sum(parts.values()) / 2**20)
fitting = paravec.ParagraphVector(epochs=1, infer_max_iter=1, **settings)
grown(lambda: fitting.fit(corpus))
"""
    done = subprocess.run([sys.executable, "-c", MEASURED + script], capture_output=True, text=True, check=True)
    estimate, taken = map(float, done.stdout.split())
    assert 0.5 * estimate < taken < 1.15 * estimate + 10


def test_n_grams_of_a_mapped_corpus_are_not_copied_for_dbow(tmp_path):
    line = " ".join(f"word{i * 7 % 1000}" for i in range(1500)) + "\n"
    (tmp_path / "text").write_text(line * 3_000)
    script = """
paravec.encode(paravec.read(sys.argv[1]), sys.argv[2], ngrams=2)
fitting = paravec.ParagraphVector(vector_size=4, epochs=1, sample=1e-4, infer_max_iter=1)
grown(lambda: fitting.fit(sys.argv[2]))
"""
    assert megabytes(script, tmp_path / "text", tmp_path / "corpus") < 15  # of 36 MB of tokens


def test_opening_a_model_does_not_hold_its_documents(tmp_path):
    script = """
from paravec.corpus.labels import Labels
from paravec.documents import Documents, Segment
fitted = paravec.ParagraphVector(vector_size=50, epochs=1, min_count=1).fit(["a b", "b c"], ids=["x", "y"])
model, many = fitted._fitted, 500_000
vectors = np.ones((many, 50), dtype=np.float32)
names = "".join(f"document-{i:08}" for i in range(many)).encode()
ids = Labels(np.frombuffer(names, dtype=np.uint8), np.arange(many + 1, dtype=np.int64) * 17)
model.documents = Documents((Segment((vectors,), ids),))
model.corpus = type(model.corpus)(many, 4, "0")
fitted.save(sys.argv[1])
del fitted, model, names, vectors, ids

def look():
    opened = paravec.ParagraphVector.load(sys.argv[1])
    assert opened.document_ids_[499_999] == "document-00499999"
    assert opened.document_ids_.index("document-00000777") == 777
    assert opened.document_vectors_[123_456].sum() == 50

grown(look)
"""
    assert megabytes(script, tmp_path / "model") < 5  # of 100 MB of vectors and 20 MB of ids
