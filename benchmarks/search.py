"""Search and growth of a model of a million documents, beside the plain matrix product of NumPy.

    python benchmarks/search.py aclImdb.tar.xz                       # minutes, and an hour for the index on two cores
    python benchmarks/search.py aclImdb.tar.xz --documents 50000     # quick

The documents are real: a model (dbow, 100 dimensions, 10 epochs) is fitted on the 75,000 training reviews of IMDB, all
100,000 reviews are cut into pieces of 23 words, and a million of these are inferred and searched; the others are the
queries. ``--folder`` keeps the model and the index, and finds them there again. Parts take turns, round by round;
medians are told. Results go to ``results/search.json``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import paravec
from paravec import ParagraphVector, fitted, search, store
from paravec.documents import Documents, Segment
from paravec.experiments.machine import described
from paravec.index import Index
from paravec.text import words

RESULTS = Path(__file__).parent / "results" / "search.json"
PIECE, REVIEW = 23, 230  # words
QUERIES = 200
PART = 40_000  # documents that two libraries are compared on


def seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def reviews(archive: str) -> dict[str, str]:
    blocks = paravec.read(archive, pattern="*/*/*/*.txt").blocks()
    pairs = (pair for block in blocks for pair in zip(block.ids or (), block.texts(), strict=True))
    return {str(id): text.replace("<br />", " ") for id, text in pairs}


def made(data: dict[str, str], n_documents: int, folder: Path, n_jobs: int) -> None:
    """The model with its documents, and vectors to ask for."""
    model = ParagraphVector(n_jobs=n_jobs, epochs=10).fit([text for id, text in data.items() if "/train/" in id])
    tokens = (words(text) for text in data.values())
    pieces = [some[i : i + PIECE] for some in tokens for i in range(0, max(1, len(some) - PIECE // 2), PIECE)]
    vectors = model.transform(pieces)
    names = [f"piece {i}" for i in range(n_documents)]
    whole = replace(model._fitted, documents=Documents((Segment((vectors[:n_documents],), names),)))
    store.save(whole, folder / "model")
    others = vectors[n_documents:]
    np.save(folder / "queries.npy", others[:: len(others) // QUERIES][:QUERIES])


def exact(model: ParagraphVector, matrix: NDArray[np.float32], queries: NDArray[np.float32], rounds: int) -> Any:
    """A batch of 100 queries, and one, beside the matrix product of the same data in memory, and nothing more."""
    batch = np.concatenate([queries] * (1 + 100 // len(queries)))[:100]
    times: dict[str, list[float]] = {name: [] for name in ("numpy_100", "similar_100", "numpy_1", "similar_1")}
    model.similar(batch)  # maps the pages, and finds the lengths
    for i in range(rounds):
        one = queries[i % len(queries)]
        times["numpy_100"].append(seconds(lambda: batch @ matrix.T))
        times["similar_100"].append(seconds(lambda: model.similar(batch)))
        times["numpy_1"].append(seconds(lambda one=one: matrix @ one))
        times["similar_1"].append(seconds(lambda one=one: model.similar(one)))
    return times


def approximate(model: ParagraphVector, queries: NDArray[np.float32], rounds: int) -> Any:
    """Single queries through the index beside the exact search of the same, in turn, and what part is found."""
    both = [model.similar(queries, approximate=way) for way in (False, True)]  # and has all that is mapped looked at
    shares = [len({id for id, _ in a} & {id for id, _ in b}) / len(a) for a, b in zip(*both, strict=True)]
    times: dict[str, list[float]] = {"exact": [], "approximate": []}
    for i, query in enumerate(queries):
        if i < rounds:
            times["exact"].append(seconds(lambda query=query: model.similar(query)))
        times["approximate"].append(seconds(lambda query=query: model.similar(query, approximate=True)))
    return {"times": times, "recall": statistics.mean(shares)}


def rivals(matrix: NDArray[np.float32], queries: NDArray[np.float32], n_jobs: int) -> list[dict[str, Any]]:
    """Our index beside graphs of usearch, all of the same part of the documents.

    Milliseconds are of the processor, which other programs on it do not disturb.
    """
    from usearch.index import Index as Graph

    true, _ = search.nearest([search.Rows((matrix,))], queries, 10)

    def asked(name: str, ask: Callable[[NDArray[np.float32]], NDArray[np.int64]]) -> dict[str, Any]:
        began = time.process_time()
        found = [ask(query) for query in queries]
        ms = 1000 * (time.process_time() - began) / len(queries)
        shares = [len(np.intersect1d(*both)) / 10 for both in zip(found, true, strict=True)]
        return {"name": name, "recall": statistics.mean(shares), "ms": ms}

    documents = Documents((Segment((matrix,), range(len(matrix))),))
    began, none = time.process_time(), np.zeros(0, dtype=np.int64)
    ours = Index.build(documents, 0.95, n_jobs)
    built = time.process_time() - began
    row = asked(
        "lists of Faiss, 4 bits, and exact scores (ours)", lambda q: ours.nearest(documents, q[None], 10, none)[0][0]
    )
    rows = [row | {"build_s": built, "width": ours.width}]
    unit = search.unit(matrix)
    for kind, degree in (("i8", 32), ("i8", 48), ("f16", 48)):
        graph = Graph(ndim=matrix.shape[1], metric="ip", dtype=kind, connectivity=degree, expansion_add=128)
        began = time.process_time()
        graph.add(np.arange(len(unit)), unit, threads=n_jobs)
        built = time.process_time() - began

        def ask(query: NDArray[np.float32], graph: Any = graph) -> NDArray[np.int64]:
            found = graph.search(search.unit(query), 60, threads=1).keys.astype(np.int64)
            best: NDArray[np.int64] = found[np.argsort(-(unit[found] @ query))[:10]]
            return best

        for width in (64, 96, 128, 192, 256, 384, 512):
            graph.expansion_search = width
            row = asked(f"usearch, {kind[1:]} bits, {degree} neighbours, and exact scores", ask)
            if row["recall"] >= 0.95:
                break
        rows.append(row | {"build_s": built, "width": width})
    return rows


def adding(
    folder: Path, data: dict[str, str], rounds: int, n_jobs: int, number: int = 10_000
) -> list[dict[str, float]]:
    """Adding reviews of 230 words to the saved model: what it takes beyond encoding and inferring them."""
    tokens = (words(text) for id, text in data.items() if "/test/" in id)
    texts = [" ".join(some[:REVIEW]) for some in tokens if len(some) >= REVIEW][:number]
    spent = [0.0, 0.0]

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.perf_counter(), time.process_time()
            answer = work(*arguments)
            spent[0] += time.perf_counter() - began[0]
            spent[1] += time.process_time() - began[1]
            return answer

        return call

    found = []
    with (
        mock.patch.object(fitted, "encode_known", timed(fitted.encode_known)),
        mock.patch.object(fitted.Fitted, "infer", timed(fitted.Fitted.infer)),
    ):
        for turn in range(rounds):
            ids = [f"added {turn} {i}" for i in range(len(texts))]
            spent[:] = 0.0, 0.0
            began = time.perf_counter(), time.process_time()
            paravec.add_documents(folder / "model", texts, ids, n_jobs=n_jobs)
            whole = time.perf_counter() - began[0], time.process_time() - began[1]
            times = {"add_s": whole[0], "beyond_s": whole[0] - spent[0], "beyond_processor_s": whole[1] - spent[1]}
            found.append({"documents": len(texts), **times})
            paravec.remove_documents(folder / "model", ids)
    return found


def grown(folder: Path, data: dict[str, str], given: argparse.Namespace) -> list[dict[str, float]]:
    """Documents are added to a copy."""
    shutil.rmtree(folder / "grown", ignore_errors=True)
    shutil.copytree(folder / "model", folder / "grown" / "model", ignore=shutil.ignore_patterns("index"))
    found = adding(folder / "grown", data, 3, given.n_jobs)
    shutil.rmtree(folder / "grown")
    return found


def indexed(folder: Path, queries: NDArray[np.float32], given: argparse.Namespace) -> dict[str, Any]:
    """Single queries through the index, which is built if it is not there."""
    built = None
    if not (folder / "model" / "index").exists():
        built = seconds(lambda: paravec.build_index(folder / "model", n_jobs=given.n_jobs))
    found = approximate(ParagraphVector.load(folder / "model"), queries, given.rounds)
    size = sum(path.stat().st_size for path in (folder / "model" / "index").iterdir())
    return found | {"build_s": built, "bytes": size}


def measured(folder: Path, data: dict[str, str], given: argparse.Namespace) -> dict[str, Any]:
    model = ParagraphVector.load(folder / "model")
    matrix, queries = np.array(model.document_vectors_), np.load(folder / "queries.npy")
    part = np.ascontiguousarray(matrix[:: max(1, len(matrix) // PART)][:PART])
    parts: dict[str, Callable[[], Any]] = {
        "exact": lambda: exact(model, matrix, queries, given.rounds),
        "adding": lambda: grown(folder, data, given),
        "rivals": lambda: rivals(part, queries, given.n_jobs),
        "approximate": lambda: indexed(folder, queries, given),
    }
    about = {"machine": described(), "documents": len(matrix), "dimensions": matrix.shape[1]}
    return about | {name: parts[name]() for name in given.only or parts}


def told(results: dict[str, Any]) -> str:
    lines = [
        f"{results['documents']:,} documents of {results['dimensions']} dimensions",
        "",
        "| | | |",
        "| --- | --- | --- |",
    ]
    if "exact" in results:
        times = {name: 1000 * statistics.median(values) for name, values in results["exact"].items()}
        for n in (100, 1):
            ours, theirs = times[f"similar_{n}"], times[f"numpy_{n}"]
            lines.append(
                f"| {n} queries, exact | {ours:.0f} ms | {theirs / ours:.2f} of NumPy's rate ({theirs:.0f} ms) |"
            )
    if "approximate" in results:
        found = results["approximate"]
        times = {name: 1000 * statistics.median(values) for name, values in found["times"].items()}
        ratio = f"{times['exact'] / times['approximate']:.0f} times as quick as exact ({times['exact']:.0f} ms)"
        lines.append(f"| one query, index | {times['approximate']:.2f} ms | {ratio}; recall@10 {found['recall']:.3f} |")
    if "adding" in results:
        names = ("add_s", "beyond_s", "beyond_processor_s")
        whole, beyond, cpu = (statistics.median(each[name] for each in results["adding"]) for name in names)
        number = results["adding"][0]["documents"]
        lines.append(
            f"| adding {number:,} documents | {whole:.2f} s | {beyond:.2f} s beyond inferring them, {cpu:.2f} s of the "
            f"processor |"
        )
    for x in results.get("rivals", []):
        figures = f"build {x['build_s']:.0f} s, width {x['width']}, recall@10 {x['recall']:.3f}"
        lines.append(f"| {x['name']}, {min(PART, results['documents']):,} documents | {x['ms']:.2f} ms | {figures} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", help="aclImdb.tar.xz")
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=["exact", "adding", "rivals", "approximate"])
    parser.add_argument("--folder", help="where the model and its index are, or are kept")
    given = parser.parse_args()
    data = reviews(given.archive)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(given.folder or place)
        if not (folder / "queries.npy").exists():
            made(data, given.documents, folder, given.n_jobs)
        results = measured(folder, data, given)
    print(told(results))
    if given.documents == parser.get_default("documents"):
        before = json.loads(RESULTS.read_text()) if given.only and RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(before | results, indent=1) + "\n")


if __name__ == "__main__":
    main()
