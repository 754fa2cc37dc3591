"""How near training is to what the machine allows: two limits for each model, beside its speed.

    python benchmarks/roofline.py aclImdb.tar.xz [--threads 2] [--rounds 3]

memory      The rows of U that training visits are read in the same order, those that learn are written, and nothing
            else is done (roofline.cpp; noise words once a round, nodes of the tree once a step, or once for all steps
            of a document that are taken together; threads have copies of the busiest rows, as in training).
arithmetic  A multiply-add for every number of every row of a step, and two more if the row learns, at the rate that the
            processor reaches on numbers in registers. Of rows of 16 bits, the first takes half as long, where the
            processor has instructions for it.

All rows learn, but where errors are drawn: there it is a part of them, found in steps of the trained model.

Speeds of training are those of the same run, turn by turn; medians of the rounds count. It needs g++. The plot goes
beside the results.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from beside.models import MODELS, TIMED
from paravec import _core
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.corpus.encoder import learn
from paravec.engines import steps as definition
from paravec.engines.base import Pass, Tables
from paravec.engines.cpu import CpuEngine, stride
from paravec.engines.side_by_side import WAYS
from paravec.experiments.data import imdb
from paravec.experiments.machine import described
from paravec.initial import initial_model
from paravec.model import Model
from paravec.settings import Settings
from paravec.training import rates


def visits(architecture: Architecture, tables: Tables, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """The rows of U that training visits for these targets, in about its order."""
    if tables.paths is not None:
        offsets = tables.paths.offsets
        ways = [tables.paths.nodes[offsets[t] : offsets[t + 1]] for t in targets.tolist()]
        if architecture.by_ways:
            ways = [np.unique(np.concatenate(ways[i : i + WAYS])) for i in range(0, len(ways), WAYS)]
        return np.concatenate(ways)
    assert tables.noise is not None
    rounds = len(targets) // architecture.batch_size
    drawn = np.random.default_rng(0).integers(0, 2**32, size=(rounds * architecture.negative, 2), dtype=np.uint32)
    columns = (drawn[:, 0].astype(np.int64) * tables.n_targets) >> 32
    noise = tables.noise.pick(columns, drawn[:, 1]).reshape(rounds, -1)
    own = targets[: rounds * architecture.batch_size].reshape(rounds, -1)
    return np.concatenate([noise, own], axis=1).astype(np.int32).ravel()


def learning(model: Model, tables: Tables, corpus: Corpus, rate: float) -> float:
    """The part of the rows of a step that learn from it."""
    if not model.architecture.draw_errors:
        return 1.0
    found = []
    for document in range(20):
        steps = list(definition.document_steps(model.architecture, tables, corpus[document], document))
        for step in steps[:: max(1, len(steps) // 20)]:
            noise = definition.noise_words(model.architecture, tables, (1, 2), document, step.turn)
            now = replace(step, noise=noise)
            h = definition.hidden(model, now)
            least = definition.least_error(rate, h @ h + (model.bias is not None))
            found.append(np.minimum(1.0, np.abs(definition.pulls(model, tables, now, h).error) / least).mean())
    return float(np.mean(found))


def read(name: str, dimension: int, corpus: Corpus, vocabulary: Any, program: Path, chosen: argparse.Namespace) -> Any:
    """The speed of a model and its limits."""
    settings = Settings(**MODELS[name].ours, vector_size=dimension, epochs=1)
    architecture = settings.architectures()[0]
    tables = Tables.of(architecture, vocabulary, 0.0)
    model = initial_model(architecture, vocabulary, tables, len(corpus), 0)
    order = np.arange(min(TIMED, len(corpus)))
    work = Pass(0, 0, order, rates(settings, architecture, 0, corpus.lengths[order]))
    n_words = int(corpus.lengths[order].sum())
    targets = corpus.tokens[:n_words]
    if not architecture.by_ways:  # where targets of one document are neighbours
        targets = np.random.default_rng(0).permutation(targets)
    targets = targets[:400_000]
    rows = visits(architecture, tables, targets)
    rows_of_a_step = 1 + architecture.negative if tables.paths is None else len(rows) / len(targets)
    row = stride(architecture.width)
    floats = -(-row // _core.HALF_MULTIPLE) * _core.HALF_MULTIPLE // 2 if architecture.half else row  # of memory
    first = 0.5 if architecture.half and _core.available_kernels()[0] == "avx512bf16" else 1.0
    engine = CpuEngine(chosen.threads)
    engine.train(model, corpus, tables, work)
    engine.settle(model)
    learns = learning(model, tables, corpus, float(work.rates.mean()))
    engine.train(model, corpus, tables, Pass(0, 0, order[:1], work.rates[:1]))  # numbers of 16 bits are made of U now
    found: dict[str, list[float]] = {"training": [], "memory": [], "arithmetic": []}
    with tempfile.NamedTemporaryFile() as file:
        rows.tofile(file.name)
        for _ in range(chosen.rounds):
            began = time.perf_counter()
            engine.train(model, corpus, tables, work)
            found["training"].append(n_words / (time.perf_counter() - began) / 1e6)
            command = [program, "rows", floats, len(model.outputs), chosen.threads, learns, file.name]
            found["memory"].append(len(targets) / told(command) / 1e6)
            products = (first + 2 * learns) * row * rows_of_a_step
            found["arithmetic"].append(chosen.threads * told([program, "fma"]) * 1e3 / products)
    told_once = {"model": name, "dimension": dimension, "learning": learns}
    return {**told_once, **{what: statistics.median(each) for what, each in found.items()}}


def told(command: list[Any]) -> float:
    """The number that a program prints."""
    return float(subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Speed and limits of every model, on one logarithmic axis."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.rcParams["svg.hashsalt"] = "paravec"  # the same picture is the same file
    figure, axes = plt.subplots(figsize=(8, 0.9 + 0.34 * len(rows)), layout="constrained")
    places = range(len(rows))
    for place, row in enumerate(rows):
        axes.plot([row["training"], min(row["memory"], row["arithmetic"])], [place, place], color="#bbbbbb", zorder=0)
        axes.annotate(
            f"{100 * row['part']:.0f} %",
            (row["training"], place),
            textcoords="offset points",
            xytext=(-8, 0),
            ha="right",
            va="center",
            fontsize=8,
        )
    for what, marker, colour in (
        ("training", "o", "#1f5fa8"),
        ("memory", "s", "#c8641e"),
        ("arithmetic", "D", "#5a8f3c"),
    ):
        label = what if what == "training" else f"{what} alone"
        axes.scatter([row[what] for row in rows], places, marker=marker, color=colour, label=label)
    axes.set_xscale("log")
    axes.set_xlim(left=0.6 * min(row["training"] for row in rows))  # room for its number
    axes.set_yticks(places, [f"{MODELS[row['model']].title}, {row['dimension']}" for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel("million words a second; per cent of the nearer limit")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--dimensions", type=int, nargs="+", default=[100, 400])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "roofline.json")
    chosen = parser.parse_args()
    vocabulary, corpus = learn(imdb(chosen.archive).train, Settings(n_jobs=chosen.threads))
    results: dict[str, Any] = {"machine": described(), "threads": chosen.threads, "rows": []}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "roofline"
        source = Path(__file__).with_suffix(".cpp")
        subprocess.run(["g++", "-O3", "-march=native", "-pthread", source, "-o", program], check=True)
        print("| model | dimensions | M words/s | memory alone | arithmetic alone | of the nearer limit |")
        print("| --- | --- | --- | --- | --- | --- |")
        for name in chosen.models:
            for dimension in chosen.dimensions:
                row = read(name, dimension, corpus, vocabulary, program, chosen)
                limit = min(row["memory"], row["arithmetic"])
                row["part"] = row["training"] / limit
                cells = " | ".join(f"{row[what]:.2f}" for what in ("training", "memory", "arithmetic"))
                print(f"| {name} | {dimension} | {cells} | {100 * row['part']:.0f} % |", flush=True)
                results["rows"].append(row)
                chosen.out.write_text(json.dumps(results, indent=1) + "\n")
    draw(results["rows"], chosen.out.with_suffix(".svg"))


if __name__ == "__main__":
    main()
