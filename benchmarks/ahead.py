"""The long steps of the paper's experiments ahead of their report, side by side: a GPU fits, many cores judge.

    python benchmarks/ahead.py DATA REPORT [--only imdb sst retrieval] [--engine gpu] [--seeds 3] [--threads 2]

One after another, ``paravec reproduce all --data DATA -o REPORT --engine gpu`` does the same; what is done here is
found there (each experiment with the engine that it was done with). Every seed of an experiment has a process of its
own, and they share the folder of steps. Neither matplotlib nor the libraries of the command line are needed; from a
checkout with a built core, ``PYTHONPATH=src`` is enough.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from pathlib import Path

from paravec.experiments.catalogue import Run, prepared
from paravec.experiments.options import Options
from paravec.experiments.steps import Steps


def done(run: Run, folder: Path, options: Options) -> None:
    began = time.perf_counter()

    def tell(line: str) -> None:
        if not line.endswith("found before"):
            print(f"{time.perf_counter() - began:5.0f} s  {line}", flush=True)

    run(Steps(folder, tell), options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("report", type=Path)
    parser.add_argument("--only", nargs="+", choices=("imdb", "sst", "retrieval"), default=["imdb", "sst", "retrieval"])
    parser.add_argument("--engine", default="gpu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a sample and small models")
    parser.add_argument("--threads", type=int, default=2, help="of each process")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(given.threads)
    fork = multiprocessing.get_context("fork")  # the data are read once
    runs = prepared(given.only, [given.data])
    running = [
        fork.Process(target=done, args=(run, given.report, Options((seed,), given.quick, given.engine, given.threads)))
        for seed in range(given.seeds)
        for run in runs
    ]
    for each in running:
        each.start()
    for each in running:
        each.join()
    if any(each.exitcode for each in running):
        raise SystemExit("not all of them ended well")


if __name__ == "__main__":
    main()
