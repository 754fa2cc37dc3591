"""Readings of gensim; each runs in a process of its own (``reading.py``).

scikit-learn is imported where it is needed: its memory is not that of training.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from gensim.models.doc2vec import Doc2Vec, TaggedDocument, TaggedLineDocument
from numpy.typing import NDArray

from beside.material import Material
from beside.memory import Beyond
from beside.models import for_gensim


class Counted(Doc2Vec):  # type: ignore[misc]
    """Knows its memory, and how many words it was trained on: of a file, it may leave some out or take some twice."""

    raw_words = 0
    memory: Beyond

    def prepare_weights(self, update: bool = False) -> None:
        """Corpus and vocabulary are there, and vectors come next."""
        self.memory = Beyond()
        super().prepare_weights(update)

    def _log_train_end(self, raw_word_count: int, *rest: Any) -> None:
        self.raw_words = raw_word_count


def train(folder: str, model: str, dimension: int, documents: int, threads: int, mode: str) -> Iterator[dict[str, Any]]:
    """Epochs over the first documents, with vectors for all of them and the whole vocabulary, as in `ours`."""
    material = Material(Path(folder))
    whole = str(material.folder / "train.txt")
    sources = {}
    for some in {max(1, documents // 100), documents}:
        part = material.first(some)
        sources[some] = {"corpus_file": str(part)} if mode == "file" else {"corpus_iterable": _tagged(part)}
    rival = Counted(**for_gensim(model, dimension, threads), epochs=1)
    rival.build_vocab(corpus_iterable=TaggedLineDocument(whole))
    for some in (max(1, documents // 100), *itertools.repeat(documents, 100)):
        n_words = material.words(some)
        began = time.perf_counter()
        rival.train(**sources[some], total_examples=some, total_words=n_words, epochs=1)
        yield {
            "seconds": time.perf_counter() - began,
            "share": rival.raw_words / n_words,  # of the words of these documents
            "vocabulary": len(rival.wv) - rival.dm_concat,  # less its NULL word
            **rival.memory.told(),
        }


def _tagged(path: Path) -> list[TaggedDocument]:
    """Documents in memory; a word is held once, however often it occurs."""
    with open(path, encoding="utf-8", newline="\n") as file:
        return [TaggedDocument(list(map(sys.intern, line.split())), [i]) for i, line in enumerate(file)]


def fit(
    folder: str, model: str, dimension: int, epochs: int, seed: int, threads: int, alpha: float, out: str
) -> dict[str, Any]:
    """A model of all training reviews, saved. From memory: from a file, gensim skips documents."""
    documents = _tagged(Path(folder) / "train.txt")
    rival = Doc2Vec(**for_gensim(model, dimension, threads), epochs=epochs, alpha=alpha, seed=seed)
    began = time.perf_counter()
    rival.build_vocab(documents)
    rival.train(documents, total_examples=len(documents), epochs=epochs)
    seconds = time.perf_counter() - began
    Path(out).mkdir(exist_ok=True)
    rival.save(f"{out}/model")
    return {"fit_s": seconds}


def judge(
    folder: str, model: str, processes: int, epochs: int, on: str = "test", documents: int | None = None
) -> dict[str, Any]:
    """The first test reviews, or those held out for validation, inferred in some processes."""
    from beside.judging import test_error, validation_error, validation_rows

    material = Material(Path(folder))
    rival = Doc2Vec.load(f"{model}/model")
    rows = None
    if on == "validation":
        rows = validation_rows(material)
        everything = material.tokens("train")
        given = [everything[i] for i in rows]
    else:
        given = material.tokens("test", documents)
    vectors, seconds = _inferred(rival, given, processes, epochs)
    error = (test_error if rows is None else validation_error)(material, rival.dv.vectors, vectors)
    return {"seconds": seconds, "documents": len(given), "error": error}


_shared: dict[str, Any] = {}  # what processes find when they begin: the model and the documents


def _inferred(
    rival: Doc2Vec, documents: list[list[str]], processes: int, epochs: int
) -> tuple[NDArray[np.float32], float]:
    """Vectors, and the seconds; processes have the model and their documents before the clock starts."""
    _shared.update(rival=rival, documents=documents, epochs=epochs)
    ends = np.linspace(0, len(documents), processes + 1).astype(int).tolist()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        pool.map(_share, [(0, 5)] * processes, chunksize=1)
        began = time.perf_counter()
        parts = pool.map(_share, list(pairwise(ends)), chunksize=1)
        seconds = time.perf_counter() - began
    return np.vstack([part for part in parts if len(part)]), seconds


def _share(bounds: tuple[int, int]) -> NDArray[np.float32]:
    rival, epochs = _shared["rival"], _shared["epochs"]
    vectors = [rival.infer_vector(tokens, epochs=epochs) for tokens in _shared["documents"][slice(*bounds)]]
    return np.array(vectors, dtype=np.float32)


def latency(folder: str, model: str, rows: list[int], epochs: int) -> dict[str, Any]:
    """Seconds of each call, a document each, split into tokens before."""
    documents = Material(Path(folder)).tokens("test")
    rival = Doc2Vec.load(f"{model}/model")
    for tokens in documents[:10]:
        rival.infer_vector(tokens, epochs=epochs)
    times = []
    for row in rows:
        began = time.perf_counter()
        rival.infer_vector(documents[row], epochs=epochs)
        times.append(time.perf_counter() - began)
    return {"seconds": times}
