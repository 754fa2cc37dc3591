"""A model's life on disk: opening, saving, and the start of the command line.

    python benchmarks/life.py                      # 10 million documents of 100 dimensions: 4.4 GB of disk and memory
    python benchmarks/life.py --documents 100000   # quick

A model is made of random vectors (their values do not matter here) with a vocabulary of 100,000 words and string ids.
Saving and copying take turns; files are dropped from the page cache before they are opened. Results go to
``results/life.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from paravec import ParagraphVector, store
from paravec.corpus.labels import Labels
from paravec.documents import Documents, Segment
from paravec.experiments.machine import described
from paravec.fitted import Fitted

RESULTS = Path(__file__).parent / "results" / "life.json"
WORDS = 100_000

OPENED = """
import sys, time
began = time.perf_counter()
from paravec import store
imported = time.perf_counter()

def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) * 1024

before, start = anonymous(), time.perf_counter()
fitted = store.load(sys.argv[1])
opened, grown = time.perf_counter() - start, anonymous() - before
start = time.perf_counter()
row = fitted.known_documents().row(sys.argv[2])
found = time.perf_counter() - start
import json
print(json.dumps({"import_s": imported - began, "open_s": opened, "anonymous_mb": grown / 1e6, "look_up_s": found}))
"""


def made(n_documents: int, size: int) -> Fitted:
    """A model with real parts, but for its document vectors."""
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(WORDS)]
    fitted = ParagraphVector(vector_size=size, epochs=1, min_count=1).fit(
        [words[i : i + 100] for i in range(0, WORDS, 50)]
    )
    model = fitted._fitted
    documents = np.empty((n_documents, size), dtype=np.float32)
    for first in range(0, n_documents, 100_000):
        documents[first : first + 100_000] = rng.standard_normal((len(documents[first : first + 100_000]), size))
    names = "".join(f"document-{i:08}" for i in range(n_documents)).encode()
    ids = Labels(np.frombuffer(names, dtype=np.uint8), np.arange(n_documents + 1, dtype=np.int64) * 17)
    model.documents = Documents((Segment((documents,), ids),))
    model.corpus = type(model.corpus)(n_documents, model.corpus.n_tokens, model.corpus.crc32)
    return model


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def forget(folder: Path) -> None:
    """Drops the files of a folder from the page cache."""
    for path in folder.rglob("*.*"):
        handle = os.open(path, os.O_RDONLY)
        os.fsync(handle)
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(handle)


def copied(source: Path, target: Path, sync: bool) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    if sync:
        for path in target.rglob("*.*"):
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.close(handle)


def saving(model: Fitted, folder: Path, rounds: int) -> dict[str, list[float]]:
    """Saving to a new place, a plain copy, and a copy that waits for the disk, in turn."""
    times: dict[str, list[float]] = {"save_s": [], "copy_s": [], "copy_and_sync_s": []}
    for _ in range(rounds):
        shutil.rmtree(folder / "model", ignore_errors=True)
        os.sync()
        times["save_s"].append(seconds(lambda: store.save(model, folder / "model")))
        for name, sync in (("copy_s", False), ("copy_and_sync_s", True)):
            os.sync()
            times[name].append(seconds(partial(copied, folder / "model", folder / "copy", sync)))
    shutil.rmtree(folder / "copy")
    return times


def opening(folder: Path, id: str, rounds: int) -> list[dict[str, float]]:
    found = []
    for _ in range(rounds):
        forget(folder)
        done = subprocess.run([sys.executable, "-c", OPENED, folder, id], capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout))
    return found


def commands(folder: Path, rounds: int) -> dict[str, list[float]]:
    """The start of the command line, on a model of 75,000 documents."""
    store.save(made(75_000, 100), folder / "small")
    verbs = {
        "help": ["--help"],
        "similar": ["similar", str(folder / "small"), "word7 word8 word9"],
        "similar by id": ["similar", str(folder / "small"), "--id", "document-00000007"],
        "info": ["info", str(folder / "small")],
    }
    command = str(Path(sys.executable).parent / "paravec")
    times: dict[str, list[float]] = {name: [] for name in verbs}
    for _ in range(rounds):
        for name, arguments in verbs.items():
            run = partial(subprocess.run, [command, *arguments], stdout=subprocess.DEVNULL, check=True)
            times[name].append(seconds(run))
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where to write the model")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        model = made(given.documents, 100)
        times = saving(model, folder, given.rounds)
        size = sum(path.stat().st_size for path in (folder / "model").rglob("*.*"))
        del model
        opened = opening(folder / "model", f"document-{given.documents * 2 // 3:08}", given.rounds)
        started = commands(folder, 2 * given.rounds + 1)
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"{given.documents:,} documents of 100 dimensions, {size / 1e9:.2f} GB")
    print("| | median | each round |\n| --- | --- | --- |")
    for name, values in times.items():
        print(f"| {name} | {median[name]:.2f} s, {size / median[name] / 1e9:.2f} GB/s | {rounded(values)} |")
    for name in opened[0]:
        values = [each[name] for each in opened]
        print(f"| {name} | {statistics.median(values):.3g} | {rounded(values)} |")
    for name, values in started.items():
        print(f"| paravec {name} | {statistics.median(values):.2f} s | {rounded(values)} |")
    print(f"saving at {median['copy_s'] / median['save_s']:.2f} of the rate of a plain copy")
    result = {"machine": described(), "documents": given.documents, "bytes": size, "saving": times, "opening": opened}
    if given.documents == parser.get_default("documents"):
        RESULTS.write_text(json.dumps(result | {"commands": started}, indent=1) + "\n")


def rounded(values: list[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


if __name__ == "__main__":
    main()
