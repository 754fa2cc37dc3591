"""The long steps of the paper's experiments ahead of their report, side by side: a GPU fits, many cores judge.

    python benchmarks/ahead.py DATA REPORT [--only imdb sst] [--engine gpu] [--workers 4] [--turns 2]

One after another, ``paravec reproduce all --data DATA -o REPORT --engine gpu`` does the same; what is done here is
found there (each experiment with the engine that it was done with). Workers share the folder of steps, and take one
piece of work after the other; who needs what another is at waits for it, and who fits a model of IMDB for a turn at
the GPU. No piece is begun after ``--until`` seconds. Neither matplotlib nor the libraries of the command line are
needed; from a checkout with a built core, ``PYTHONPATH=src`` is enough.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from joblib.externals.loky import get_reusable_executor

from paravec.experiments import data as read
from paravec.experiments import imdb, observations, reviews, sst
from paravec.experiments.data.places import place
from paravec.experiments.options import Options
from paravec.experiments.protocols import Protocol
from paravec.experiments.steps import Steps

Piece = tuple[str, Callable[[], object]]
_began = time.perf_counter()


def tell(line: str) -> None:
    if not line.endswith("found before"):
        print(f"{time.perf_counter() - _began:5.0f} s  {line}", flush=True)


class Turn:
    """So many processes at a time; who leaves keeps nothing of the GPU's memory."""

    def __init__(self, at_a_time: int) -> None:
        self._free = multiprocessing.get_context("fork").Semaphore(at_a_time)

    def __enter__(self) -> None:
        self._free.acquire()

    def __exit__(self, *error: object) -> None:
        gc.collect()
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        self._free.release()


def of_imdb(texts: read.Imdb, steps: Steps, options: Options, turn: AbstractContextManager[object]) -> list[Piece]:
    """What others wait for comes first, then what takes long."""
    task = reviews.Task(texts, steps, options, turn)

    def seen(model: str, protocol: Protocol, seed: int) -> object:
        return task.seen_once(model, imdb.settings_of(task, model), protocol, seed)

    pieces: list[Piece] = [
        (f"imdb: {imdb.COSINE}", partial(task.seen_once, imdb.COSINE, task.small(each), Protocol.inductive, 0))
        for each in imdb.COSINES
    ]
    pieces += [
        (f"imdb: settings of {each}", partial(imdb.settings_of, task, each))
        for each in imdb.MODELS
        if each != imdb.COSINE
    ]
    pieces += [(f"imdb: {each}", partial(task.bag, each)) for each in (imdb.NGRAMS, *imdb.BAGS)]
    pieces += [
        (f"imdb: {model}, {protocol.value} {seed}", partial(seen, model, protocol, seed))
        for model in sorted(imdb.MODELS, key=lambda model: model != imdb.COSINE)
        for protocol in imdb.MODELS[model]
        for seed in options.seeds
    ]
    pieces += [(f"imdb: bag of words, few labels {seed}", partial(task.few_of_bags, seed)) for seed in options.seeds]
    return pieces + [
        (f"imdb: dm {seed}", partial(observations.of_dm, task, settings, seed))
        for seed in options.seeds
        for settings in observations.compared(options.quick)
    ]


def of_sst(trees: read.Sst, texts: Sequence[str], steps: Steps, options: Options) -> list[Piece]:
    """What is tried, a method and a seed a piece; then a method a piece."""
    data = sst.split(trees)

    def task() -> sst.Task:
        return sst.Task(data, texts, steps, options)

    pieces: list[Piece] = [
        (
            f"sst: {method} {seed}, development",
            partial(task().tried, method, sst.candidates(method, options.quick), seed),
        )
        for method in reversed(sst.SEEDED)
        for seed in options.seeds
    ]
    return pieces + [(f"sst: {method}", partial(task().found, method)) for method in reversed(sst.METHODS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--only", nargs="+", choices=("imdb", "sst"), default=["imdb", "sst"])
    parser.add_argument("--engine", default="gpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a sample and small models")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=2, help="of each worker")
    parser.add_argument("--turns", type=int, default=2, help="models of IMDB that are fitted at a time")
    parser.add_argument("--until", type=float, default=float("inf"), help="seconds after which nothing is begun")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    options = Options(tuple(range(given.seeds)), given.quick, given.engine, given.threads)
    steps = Steps(given.report, tell)
    of_reviews = read.imdb(place("imdb", [given.data]))
    pieces: list[Piece] = []
    if "sst" in given.only:
        pieces += of_sst(read.sst(place("sst", [given.data])), of_reviews.train, steps, options)
    if "imdb" in given.only:
        pieces += of_imdb(of_reviews, steps, options, Turn(given.turns))
    gc.freeze()  # what is read is shared
    failed = multiprocessing.get_context("fork").Value("i", 0)

    def work(piece: Piece) -> None:
        name, do = piece
        if time.perf_counter() - _began > given.until:
            tell(f"{name}: not begun")
            return
        try:
            do()
        except Exception:
            traceback.print_exc()
            failed.value += 1
        else:
            tell(f"{name}: done")

    lost = side_by_side(pieces, work, given.workers)
    if failed.value or lost:
        raise SystemExit(f"{failed.value} pieces failed, and {lost} workers ended too soon")


def side_by_side(pieces: Sequence[Piece], work: Callable[[Piece], None], workers: int) -> int:
    """Each worker, a process, takes the next piece that nobody has taken. Tells how many were killed."""
    fork = multiprocessing.get_context("fork")
    next_one = fork.Value("i", 0)

    def take() -> None:
        while True:
            with next_one.get_lock():
                mine, next_one.value = next_one.value, next_one.value + 1
            if mine >= len(pieces):
                get_reusable_executor().shutdown()  # joblib's own processes: a worker would wait for them
                return
            work(pieces[mine])

    running = [fork.Process(target=take) for _ in range(workers)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    return sum(bool(each.exitcode) for each in running)


if __name__ == "__main__":
    main()
