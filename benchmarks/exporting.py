"""Vectors for other programs: writing and reading, beside gensim's KeyedVectors.

    python benchmarks/exporting.py                      # 50,000 documents of 100 dimensions
    python benchmarks/exporting.py --documents 5000000  # more than some machines have memory for

A saved model of random vectors is opened (mapped) and exported to every format; gensim has the same vectors in memory.
Each reading is of a process of its own, after imports; paravec and gensim take turns. Results go to
``results/exporting.json``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from life import made
from paravec import store
from paravec.experiments.machine import described

RESULTS = Path(__file__).parent / "results" / "exporting.json"
FORMATS = (".txt", ".bin", ".npy", ".npz", ".parquet")

COMMON = """
import sys, time
from pathlib import Path
folder, ending = Path(sys.argv[1]), sys.argv[2]
binary = ending == ".bin"
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1e3
def reset():
    Path("/proc/self/clear_refs").write_text("5")
"""
OURS = """
from paravec import read_word_vectors, store
from paravec.interchange.export import export
import pyarrow.parquet
fitted = store.load(folder / "model")
path = folder / f"ours{ending}"
path.unlink(missing_ok=True)
reset()
before, began = peak(), time.perf_counter()
export(fitted, path)
wrote, grown = time.perf_counter() - began, peak() - before
began = time.perf_counter()
if ending in (".txt", ".bin"):
    read_word_vectors(path)
print(wrote, time.perf_counter() - began, grown)
"""
THEIRS = """
from gensim.models import KeyedVectors
from paravec import ParagraphVector
model = ParagraphVector.load(folder / "model")
keyed = KeyedVectors(model.vector_size)
keyed.add_vectors(list(model.document_ids_), model.document_vectors_)
path = folder / f"theirs{ending}"
reset()
before, began = peak(), time.perf_counter()
keyed.save_word2vec_format(str(path), binary=binary)
wrote, grown = time.perf_counter() - began, peak() - before
began = time.perf_counter()
KeyedVectors.load_word2vec_format(str(path), binary=binary)
print(wrote, time.perf_counter() - began, grown)
"""


def reading(folder: Path, ending: str, script: str) -> list[float]:
    """Seconds of writing and of reading, and MB that writing took, pages of the mapped model among them."""
    command = [sys.executable, "-c", COMMON + script, str(folder), ending]
    return [float(x) for x in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", help="where to write")
    given = parser.parse_args()
    found: dict[str, list[list[float]]] = {}
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder = Path(place)
        store.save(made(given.documents, 100), folder / "model")
        for _ in range(given.rounds):
            for ending in FORMATS:
                found.setdefault(f"paravec {ending}", []).append(reading(folder, ending, OURS))
                if ending in (".txt", ".bin"):
                    found.setdefault(f"gensim {ending}", []).append(reading(folder, ending, THEIRS))
        sizes = {ending: (folder / f"ours{ending}").stat().st_size for ending in FORMATS}
    print(f"{given.documents:,} documents of 100 dimensions, medians of {given.rounds}")
    print("| | written, s | read, s | memory while writing, MB | file, MB |\n| --- | --- | --- | --- | --- |")
    for name, rounds in found.items():
        wrote, read, memory = (statistics.median(values) for values in zip(*rounds, strict=True))
        ending = name.split()[1]
        told = f"{read:.2f}" if ending in (".txt", ".bin") else ""
        print(f"| {name} | {wrote:.2f} | {told} | {memory:.0f} | {sizes[ending] / 1e6:.0f} |")
    if given.documents == parser.get_default("documents"):
        RESULTS.write_text(json.dumps({"machine": described(), "rounds": found, "bytes": sizes}, indent=1) + "\n")


if __name__ == "__main__":
    main()
