"""Readings of paravec; each runs in a process of its own (``reading.py``).

scikit-learn is imported where it is needed: its memory is not that of training.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import paravec
from beside.material import Material
from beside.memory import Beyond
from beside.models import MODELS
from paravec.corpus import Corpus
from paravec.engines import engine_for
from paravec.engines.base import Tables
from paravec.initial import initial_model
from paravec.settings import Settings
from paravec.training import Run, Training


def train(folder: str, model: str, dimension: int, documents: int, threads: int) -> Iterator[dict[str, Any]]:
    """Epochs over the first documents, with vectors for all of them and the whole vocabulary.

    The first answer comes when all is ready; it is that of an epoch over a hundredth of the documents.
    """
    out = Path(folder) / "corpus"
    shutil.rmtree(out, ignore_errors=True)
    encoded = paravec.encode(Path(folder) / "train.txt", out, tokenizer="whitespace", min_count=2, n_jobs=threads)
    memory = Beyond()
    settings = Settings(**MODELS[model].ours, vector_size=dimension, epochs=1, n_jobs=threads)
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, encoded.vocabulary, settings.sample)
    made = initial_model(architecture, encoded.vocabulary, tables, len(encoded.documents), 0)
    for some in (max(1, documents // 100), *itertools.repeat(documents, 100)):
        corpus = _first(encoded.documents, some)
        training = Training(engine_for(settings, training=True), Run(made), corpus, tables, settings, 0)
        began = time.perf_counter()
        training.train()
        seconds = time.perf_counter() - began
        yield {
            "seconds": seconds,
            "words": len(corpus.tokens),
            "vocabulary": len(encoded.vocabulary.words),
            **memory.told(),
        }


def _first(corpus: Corpus, documents: int) -> Corpus:
    """The corpus with all but its first documents empty."""
    offsets = np.minimum(corpus.offsets, corpus.offsets[min(documents, len(corpus))])
    return Corpus(corpus.tokens[: offsets[-1]], offsets)


def fit(folder: str, model: str, dimension: int, epochs: int, seed: int, threads: int, out: str) -> dict[str, Any]:
    """A model of all training reviews, saved."""
    settings = {**MODELS[model].ours, "vector_size": dimension, "epochs": epochs, "n_jobs": threads}
    source = paravec.read(Path(folder) / "train-raw.txt")
    began = time.perf_counter()
    fitted = paravec.ParagraphVector(**settings, random_state=seed).fit(source)
    seconds = time.perf_counter() - began
    fitted.save(out)
    return {"fit_s": seconds}


def judge(folder: str, model: str, threads: int, source: str, documents: int | None = None) -> dict[str, Any]:
    """All test reviews inferred, from raw text or from tokens; the error is that of the first documents."""
    from beside.judging import test_error

    material = Material(Path(folder))
    fitted = paravec.ParagraphVector.load(model).set_params(n_jobs=threads)
    given: list[Any] = list(material.lines("test-raw")) if source == "text" else material.tokens("test")
    fitted.transform(given[:10])
    began = time.perf_counter()
    vectors = fitted.transform(given)
    seconds = time.perf_counter() - began
    error = test_error(material, fitted.document_vectors_, vectors[:documents])
    return {"seconds": seconds, "documents": len(given), "error": error}


def latency(folder: str, model: str, rows: list[int]) -> dict[str, Any]:
    """Seconds of each call, a text each."""
    texts = list(Material(Path(folder)).lines("test-raw"))
    fitted = paravec.ParagraphVector.load(model).set_params(n_jobs=1)
    fitted.transform(texts[:10])
    times = []
    for row in rows:
        began = time.perf_counter()
        fitted.transform([texts[row]])
        times.append(time.perf_counter() - began)
    return {"seconds": times}
