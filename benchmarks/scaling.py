"""How training scales with threads: words a second on IMDB, by paravec alone.

    python benchmarks/scaling.py aclImdb.tar.xz [--threads 1 2 4 8 16] [--rounds 3] [--error]

One epoch over the 75,000 training reviews, 100 dimensions; training alone is timed. Numbers of threads, with
``deterministic`` and without, take turns, and medians count. Beside them stand as many trainings at once that share
nothing, as the limit of what threads could reach. ``--error`` adds the test error at the fewest and the
most threads (10 epochs, test reviews inferred, logistic regression). It needs NumPy and scikit-learn only; from a
checkout with a built core, ``PYTHONPATH=src`` is enough.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from paravec.corpus import Corpus
from paravec.corpus.encoder import learn
from paravec.draws import document_order
from paravec.engines import engine_for
from paravec.engines.base import Pass, Tables
from paravec.engines.cpu import CpuEngine
from paravec.experiments.data import Imdb, imdb
from paravec.experiments.machine import described
from paravec.initial import initial_model
from paravec.settings import Settings
from paravec.training import Run, Training
from paravec.vocab import Vocabulary

MEAN = {"model": "dm", "combine": "mean", "context": "both", "window": 11}
MODELS: dict[str, dict[str, Any]] = {
    "dbow-negative": {"model": "dbow"},
    "dbow-hs": {"model": "dbow", "output": "hs"},
    "mean-negative": MEAN,
    "mean-hs": MEAN | {"output": "hs"},
}


def seconds_of(settings: Settings, vocabulary: Vocabulary, corpus: Corpus) -> float:
    """One training from the start, by the engine that the settings name."""
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, vocabulary, settings.sample)
    run = Run(initial_model(architecture, vocabulary, tables, len(corpus), 0))
    training = Training(engine_for(settings, training=True), run, corpus, tables, settings, 0)
    began = time.perf_counter()
    training.train()
    return time.perf_counter() - began


def seconds_apart(settings: Settings, vocabulary: Vocabulary, corpus: Corpus, threads: int) -> float:
    """The same work by as many trainings at once, each with parameters of its own: what sharing them costs."""
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, vocabulary, settings.sample)
    orders = np.array_split(document_order(0, 0, architecture.is_dm, len(corpus)), threads)
    rate = np.float32(settings.rate(architecture))
    models = [initial_model(architecture, vocabulary, tables, len(corpus), 0) for _ in orders]

    def train(which: int) -> None:
        work = Pass(0, 0, orders[which], np.full(len(orders[which]), rate, dtype=np.float32))
        CpuEngine(1).train(models[which], corpus, tables, work)

    with ThreadPoolExecutor(threads) as pool:
        began = time.perf_counter()
        list(pool.map(train, range(threads)))
        return time.perf_counter() - began


def speeds(model: str, vocabulary: Vocabulary, corpus: Corpus, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """A row for each number of threads, with `deterministic` and without."""
    ways = [(deterministic, threads) for deterministic in (False, True) for threads in chosen.threads]
    times: dict[tuple[bool, int], list[float]] = {way: [] for way in ways}
    for _ in range(chosen.rounds):
        for deterministic, threads in ways:
            settings = Settings(
                **MODELS[model], vector_size=chosen.dimension, epochs=1, n_jobs=threads, deterministic=deterministic
            )
            times[deterministic, threads].append(seconds_of(settings, vocabulary, corpus))
    alone = Settings(**MODELS[model], vector_size=chosen.dimension, epochs=1)
    apart = [seconds_apart(alone, vocabulary, corpus, max(chosen.threads)) for _ in range(chosen.rounds)]
    print(f"{model}, {max(chosen.threads)} trainings apart: {len(corpus.tokens) / statistics.median(apart) / 1e6:.2f}")
    rates = {way: len(corpus.tokens) / statistics.median(found) / 1e6 for way, found in times.items()}
    return [
        {
            "model": model,
            "deterministic": deterministic,
            "threads": threads,
            "m_words_a_second": rates[deterministic, threads],
            "speed_up": rates[deterministic, threads] / rates[deterministic, chosen.threads[0]],
            "seconds": times[deterministic, threads],
            "seconds_apart": apart if threads == max(chosen.threads) else [],
        }
        for deterministic, threads in ways
    ]


def error_of(model: str, data: Imdb, threads: int, deterministic: bool, chosen: argparse.Namespace) -> float:
    """Per cent of the test reviews that logistic regression on inferred vectors gets wrong."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from paravec import ParagraphVector

    settings = {**MODELS[model], "vector_size": chosen.dimension, "epochs": 10}
    fitted = ParagraphVector(**settings, n_jobs=threads, deterministic=deterministic).fit(data.train)
    labelled = [i for i, label in enumerate(data.train_labels) if label is not None]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(fitted.document_vectors_[labelled], [data.train_labels[i] for i in labelled])
    return 100 * (1 - float(classifier.score(fitted.transform(data.test), data.test_labels)))


def show(rows: list[dict[str, Any]]) -> None:
    """Lines of the table: words a second, and in brackets the speed-up over the first number of threads."""
    for deterministic in (False, True):
        mine = [row for row in rows if row["deterministic"] is deterministic]
        cells = [f"{row['m_words_a_second']:.2f} ({row['speed_up']:.1f})" for row in mine]
        name = f"{mine[0]['model']}{', deterministic' if deterministic else ''}"
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def some(data: Imdb, n: int) -> Imdb:
    """So many training reviews and a third as many test reviews."""
    train = random.Random(0).sample(range(len(data.train)), n)
    test = random.Random(0).sample(range(len(data.test)), -(-n // 3))
    return Imdb(
        [data.train[i] for i in train],
        [data.train_labels[i] for i in train],
        [data.test[i] for i in test],
        [data.test_labels[i] for i in test],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dimension", type=int, default=100)
    parser.add_argument("--error", action="store_true", help="also the test error at the fewest and the most threads")
    parser.add_argument("--sample", type=int, help="so many training reviews instead of all")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scaling.json")
    chosen = parser.parse_args()
    if chosen.sample is not None and chosen.out == parser.get_default("out"):
        parser.error("--sample needs --out: results of some reviews are no results of all")
    data = imdb(chosen.archive)
    data = data if chosen.sample is None else some(data, chosen.sample)
    vocabulary, corpus = learn(data.train, Settings(n_jobs=max(chosen.threads)))
    results: dict[str, Any] = {"machine": described(), "reviews": len(corpus), "words": len(corpus.tokens)}
    results |= {"dimension": chosen.dimension, "speeds": [], "errors": []}
    print(f"| M words/s at threads | {' | '.join(map(str, chosen.threads))} |\n|{' --- |' * (len(chosen.threads) + 1)}")
    for model in chosen.models:
        rows = speeds(model, vocabulary, corpus, chosen)
        show(rows)
        results["speeds"] += rows
        chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    ends = sorted({min(chosen.threads), max(chosen.threads)}) if chosen.error else []
    for model in chosen.models:
        for deterministic in (False, True):
            for threads in ends:
                error = error_of(model, data, threads, deterministic, chosen)
                row = {"model": model, "deterministic": deterministic, "threads": threads, "error": error}
                results["errors"].append(row)
                print(f"{model}, deterministic={deterministic}, {threads} threads: error {error:.2f} %", flush=True)
                chosen.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
