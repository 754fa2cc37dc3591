"""The GPU engine on IMDB: seconds, bytes and errors, beside the CPU engine of the same machine.

    python benchmarks/gpu.py aclImdb.tar.xz [--only speeds|errors] [--rows dbow-100 ...] [--rounds 1] [--share 1.0]

*speeds*: for each row, all epochs over the 75,000 training reviews (training alone; kernels are compiled before, on
some of the reviews, and that time is told apart), inference of the 25,000 test reviews to convergence (the second of
two calls; the first compiles), the largest cosine distance of some of the vectors to those of the CPU engine, and an
epoch of the CPU engine on all cores (of slow models, on a part of the reviews). Bytes are those of the rows of U that
steps read and add to, and of W around the target; the bandwidth they are compared with is that of a copy on the device,
read in the same run. *errors*: test error of logistic regression on inferred vectors, 10 epochs at 100 dimensions (dm:
window 10), three seeds, of both engines. It needs NumPy, scikit-learn, PyTorch and Triton only; from a checkout with a
built core, ``PYTHONPATH=src`` is enough.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from paravec import ParagraphVector
from paravec.corpus import Corpus
from paravec.corpus.encode import source_of
from paravec.corpus.encoder import encode, learn
from paravec.draws import document_order
from paravec.engines.base import Engine, Pass, Tables
from paravec.engines.cpu import CpuEngine
from paravec.engines.gpu import GpuEngine
from paravec.experiments.data import Imdb, imdb
from paravec.experiments.machine import described
from paravec.inference import how_to_infer
from paravec.initial import initial_model
from paravec.settings import Settings
from paravec.training import Run, Training, rates
from paravec.vocab import Vocabulary


@dataclass(frozen=True)
class Row:
    """A piece of work, and the seconds that it may take."""

    title: str
    settings: dict[str, Any]
    at_most: float
    cpu_share: float = 1.0


CONCAT = {"model": "dm", "combine": "concat", "window": 10, "output": "hs", "vector_size": 400}
ROWS = {
    "dbow-100": Row("DBOW negative 5, 100 d, 20 epochs", {"epochs": 20}, 4),
    "dbow-400": Row("DBOW negative 5, 400 d, 20 epochs", {"epochs": 20, "vector_size": 400}, 8),
    "hs-400": Row("DBOW hs, 400 d, 20 epochs", {"epochs": 20, "output": "hs", "vector_size": 400}, 20),
    "concat-400": Row("DM concat hs, 400 + 9 x 400, 20 epochs", CONCAT | {"epochs": 20}, 120, 0.05),
    "ngrams-500": Row(
        "n-grams to 3, cosine, 500 d, 120 epochs",
        {"epochs": 120, "ngrams": 3, "logit": "cosine", "vector_size": 500, "min_learning_rate": 0.001},
        100,
    ),
    "softmax-100": Row(
        "exact softmax, DBOW, 100 d, one epoch", {"epochs": 1, "output": "softmax", "batch_size": 1024}, 60, 0.001
    ),
}
ERRORS: dict[str, dict[str, Any]] = {
    "dbow-negative": {},
    "dbow-hs": {"output": "hs"},
    "mean-negative": {"model": "dm", "combine": "mean"},
    "concat-negative": {"model": "dm"},
}
ENGINES = ["gpu", "gpu-bfloat16", "cpu"]


def bandwidth() -> float:
    """Bytes read and written a second by a copy on the device, the median of ten."""
    source = torch.randn(1 << 29, device="cuda")
    target = torch.empty_like(source)
    times = []
    for _ in range(12):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) / 1e3)
    return 2 * source.nbytes / statistics.median(times[2:])


def bytes_of(settings: Settings, tables: Tables, corpus: Corpus) -> int:
    """What the steps of an epoch read and add to: rows of U, and of W around the target."""
    a = settings.architectures()[0]
    if a.output == "softmax":
        return 3 * 4 * a.width * tables.n_targets * -(-len(corpus.tokens) // a.batch_size)
    rows = 1 + a.negative
    if tables.paths is not None:
        counts = np.bincount(corpus.tokens, minlength=tables.n_targets)
        rows = float((np.diff(tables.paths.offsets) * counts).sum() / len(corpus.tokens))
    return int(2 * 4 * len(corpus.tokens) * (rows * a.width + a.slots * a.word_size))


def training_of(engine: Engine, settings: Settings, vocabulary: Vocabulary, corpus: Corpus) -> Training:
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, vocabulary, settings.sample)
    run = Run(initial_model(architecture, vocabulary, tables, len(corpus), 0))
    return Training(engine, run, corpus, tables, settings, 0)


def epoch_of_cpu(settings: Settings, vocabulary: Vocabulary, corpus: Corpus, share: float) -> float:
    """Seconds of an epoch on all cores, from those of a share of the documents."""
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, vocabulary, settings.sample)
    model = initial_model(architecture, vocabulary, tables, len(corpus), 0)
    order = document_order(0, 0, architecture.is_dm, len(corpus))[: max(1, int(share * len(corpus)))]
    lengths = corpus.lengths[order]
    began = time.perf_counter()
    CpuEngine(-1).train(model, corpus, tables, Pass(0, 0, order, rates(settings, architecture, 0, lengths)))
    return (time.perf_counter() - began) * len(corpus.tokens) / int(lengths.sum())


def speed(row: Row, data: Imdb, rounds: int, share: float) -> dict[str, Any]:
    """One row: training, inference, and what they are compared with. `share` of the epochs are run."""
    whole = Settings(**row.settings, n_jobs=-1)
    assert whole.epochs is not None
    settings = replace(whole, epochs=max(1, round(share * whole.epochs)))
    vocabulary, corpus = learn(data.train, settings)
    tests = encode(source_of(data.test), vocabulary, settings)
    before = time.perf_counter()
    training_of(GpuEngine(), replace(settings, epochs=1), vocabulary, corpus.between(0, 200)).train()
    compiled = time.perf_counter() - before
    times, training = [], None
    for _ in range(rounds):
        training = training_of(GpuEngine(), settings, vocabulary, corpus)
        began = time.perf_counter()
        training.train()
        times.append(time.perf_counter() - began)
    assert training is not None
    inferred = []
    how = how_to_infer(training.model, settings, 0)
    tables = Tables.of(training.model.architecture, vocabulary, settings.sample)
    words = tests.words_only(vocabulary) if training.model.architecture.is_dm else tests
    for _ in range(2):
        began = time.perf_counter()
        vectors = GpuEngine().infer(training.model, words, tables, how)
        inferred.append(time.perf_counter() - began)
    some = 100 if settings.output == "softmax" else 1000
    beside = CpuEngine(-1).infer(training.model, words.between(0, some), tables, how)
    median = statistics.median(times) * whole.epochs / settings.epochs
    return {
        "title": row.title,
        "at_most_s": row.at_most,
        "epochs_run": settings.epochs,
        "epochs": whole.epochs,
        "train_s": median,
        "rounds_s": times,
        "compile_s": compiled,
        "losses": training.state.losses,
        "infer_s": inferred[1],
        "distance": distance(vectors[:some], beside),
        "bytes": bytes_of(settings, tables, corpus) * whole.epochs,
        "cpu_epoch_s": epoch_of_cpu(settings, vocabulary, corpus, row.cpu_share),
    }


def distance(ours: NDArray[np.float32], theirs: NDArray[np.float32]) -> float:
    """The largest cosine distance of two vectors of a document."""
    lengths = np.linalg.norm(ours, axis=1) * np.linalg.norm(theirs, axis=1)
    return float((1 - (ours * theirs).sum(1)[lengths > 0] / lengths[lengths > 0]).max())


def vectors_of(data: Imdb, settings: dict[str, Any], engine: str, seed: int) -> tuple[Any, ...]:
    """What a classifier is trained on and asked about."""
    name, _, storage = engine.partition("-")
    chosen = settings | {"engine": name, "storage": storage or "float32"}
    if settings.get("model") == "dm":
        chosen["infer_context"] = True  # as in the tables of docs/gpu.md
    fitted = ParagraphVector(**chosen, epochs=10, n_jobs=-1, random_state=seed).fit(data.train)
    labelled = [i for i, label in enumerate(data.train_labels) if label is not None]
    labels = [data.train_labels[i] for i in labelled]
    return fitted.document_vectors_[labelled], labels, fitted.transform(data.test), data.test_labels


def error_of(train: Any, labels: list[int], test: Any, truth: list[int]) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(train, labels)
    return 100 * (1 - float(classifier.score(test, truth)))


def errors(data: Imdb, models: list[str], seeds: list[int], engines: list[str]) -> list[dict[str, Any]]:
    """Test errors of each model, engine and seed."""
    os.environ["OMP_NUM_THREADS"] = "1"  # of the classifiers, which run side by side
    with ProcessPoolExecutor(8) as pool:
        waiting = []
        for name in models:
            for engine in engines:
                for seed in seeds:
                    found = pool.submit(error_of, *vectors_of(data, ERRORS[name], engine, seed))
                    waiting.append(({"model": name, "engine": engine, "seed": seed}, found))
        return [key | {"error": found.result()} for key, found in waiting]


def show(row: dict[str, Any], limit: float) -> None:
    moved = row["bytes"] / row["train_s"]
    part = "" if row["epochs_run"] == row["epochs"] else f" ({row['epochs_run']} of {row['epochs']} epochs run)"
    print(
        f"| {row['title']}{part} | {row['at_most_s']:g} | {row['train_s']:.2f} | {row['compile_s']:.1f} | "
        f"{row['infer_s']:.2f} | {row['distance']:.0e} | "
        f"{row['bytes'] / 1e12:.2f} | {moved / 1e12:.2f} ({100 * moved / limit:.0f} %) | "
        f"{row['cpu_epoch_s'] * row['epochs'] / row['train_s']:.1f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", choices=("speeds", "errors"))
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the epochs; times are told for all of them")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--models", nargs="+", choices=ERRORS, default=list(ERRORS), help="whose errors are read")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    chosen = parser.parse_args()
    data = imdb(chosen.archive)
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {"speeds": [], "errors": []}
    if torch.cuda.is_available():
        results["machine"] = described() | {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    if chosen.only != "errors":
        limit = bandwidth()
        results["bandwidth"] = limit
        print(f"copy on the device: {limit / 1e12:.2f} TB/s, read and written")
        print(
            "| work | at most, s | s | compilation, s | inference, s | distance | TB moved | TB/s | times the cores |"
        )
        print("|" + " --- |" * 9)
        for name in chosen.rows:
            row = speed(ROWS[name], data, chosen.rounds, chosen.share)
            show(row, limit)
            results["speeds"] = [each for each in results["speeds"] if each["title"] != row["title"]] + [row]
            chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    if chosen.only != "speeds":
        found = errors(data, chosen.models, chosen.seeds, chosen.engines)
        for each in found:
            print(f"{each['model']}, {each['engine']}, seed {each['seed']}: error {each['error']:.2f} %")
        new = [(each["model"], each["engine"], each["seed"]) for each in found]
        kept = [each for each in results["errors"] if (each["model"], each["engine"], each["seed"]) not in new]
        results["errors"] = kept + found
        chosen.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
