"""What the words around a target are worth in inference: dm with and without them (``infer_context``), on IMDB.

    python benchmarks/context.py aclImdb.tar.xz [--on validation|test] [--models ...] [--seeds 0 1 2] [--engine cpu|gpu]

validation  10,000 of the 25,000 labelled training reviews are held out; models are fitted on the other 65,000 training
            reviews, and logistic regression on standardised vectors of 15,000 is asked about the 10,000.
test        Fitted on all 75,000 training reviews; the 25,000 labelled ones are learned from, the test reviews asked.

All vectors are inferred. One fit serves both ways, since training is the same.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paravec import ParagraphVector
from paravec.experiments.data import Imdb, imdb
from paravec.experiments.machine import described

HELD = 10_000
_BOTH = {"model": "dm", "context": "both", "vector_size": 100}
_LEFT = {"model": "dm", "window": 10, "vector_size": 100}
MODELS: dict[str, dict[str, Any]] = {
    "mean, negative, 10 words on both sides": _BOTH | {"combine": "mean", "window": 11, "epochs": 10},
    "mean, hs, 10 words on both sides": _BOTH | {"combine": "mean", "window": 11, "output": "hs", "epochs": 10},
    "mean, negative, 9 words to the left": _LEFT | {"combine": "mean", "epochs": 10},
    "sum, negative, 9 words to the left": _LEFT | {"combine": "sum", "epochs": 10},
    "concat, negative, 5 words on both sides": _BOTH | {"window": 6, "epochs": 5},
    "concat, hs, 5 words on both sides": _BOTH | {"window": 6, "output": "hs", "epochs": 5},
    "concat, hs, 9 words to the left": _LEFT | {"output": "hs", "epochs": 5},
    "concat, hs, 9 words to the left, 400 dimensions, and dbow beside it": {
        "model": "dm+dbow", "window": 10, "output": "hs", "vector_size": 400, "epochs": 5
    },
}  # fmt: skip


def material(data: Imdb, on: str) -> tuple[list[str], list[str], list[int], list[str], list[int]]:
    """What models are fitted on, and what a classifier learns from and is asked about, with labels."""
    labelled = [i for i, label in enumerate(data.train_labels) if label is not None]
    random.Random(0).shuffle(labelled)
    held = labelled[:HELD] if on == "validation" else []
    rest = labelled[len(held) :]
    out = set(held)
    fitted = [text for i, text in enumerate(data.train) if i not in out]
    asked = [data.train[i] for i in held] if held else list(data.test)
    truth = [int(data.train_labels[i] or 0) for i in held] if held else [int(label) for label in data.test_labels]
    return fitted, [data.train[i] for i in rest], [int(data.train_labels[i] or 0) for i in rest], asked, truth


def parts(settings: dict[str, Any], vectors: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """The vectors, and those of the halves of a model that has two."""
    if settings["model"] == "dm":
        return {"": vectors}
    size = settings["vector_size"]
    return {" (dm alone)": vectors[:, :size], " (dbow alone)": vectors[:, size:], " (both)": vectors}


def readings(given: Any, name: str, seed: int, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Errors with and without context."""
    fitted, learned, labels, asked, truth = given
    settings = MODELS[name]
    model = ParagraphVector(
        **settings, n_jobs=chosen.n_jobs, engine=chosen.engine, random_state=seed, refit_documents=False
    ).fit(fitted)
    rows = []
    for context in (True, False):
        began = time.perf_counter()
        vectors = model.set_params(infer_context=context).transform([*learned, *asked])
        seconds = time.perf_counter() - began
        for part, these in parts(settings, vectors).items():
            classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            classifier.fit(these[: len(learned)], labels)
            error = 100 * (1 - float(classifier.score(these[len(learned) :], truth)))
            key = {"on": chosen.on, "model": name + part, "context": context, "seed": seed, "engine": chosen.engine}
            rows.append(key | {"error": error, "inferred": len(vectors), "seconds": seconds})
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Means of the seeds, side by side."""
    lines = ["| on | model | with context, % | document alone, % |", "| --- | --- | --- | --- |"]
    for on, name in dict.fromkeys((row["on"], row["model"]) for row in rows):
        cells = []
        for context in (True, False):
            found = [r["error"] for r in rows if (r["on"], r["model"], r["context"]) == (on, name, context)]
            cells.append(f"{statistics.mean(found):.2f} ({', '.join(f'{error:.2f}' for error in found)})")
        lines.append(f"| {on} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--on", choices=("validation", "test"), default="validation")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--engine", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "context.json")
    chosen = parser.parse_args()
    given = material(imdb(chosen.archive), chosen.on)
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {"rows": []}
    results.setdefault("machines", {})[chosen.engine] = described()
    for name in chosen.models:
        for seed in chosen.seeds:
            new = readings(given, name, seed, chosen)
            known = [{key: row[key] for key in ("on", "model", "context", "seed", "engine")} for row in new]
            old = [row for row in results["rows"] if not any(key.items() <= row.items() for key in known)]
            results["rows"] = old + new
            chosen.out.write_text(json.dumps(results, indent=1) + "\n")
            print(table(new), flush=True)
    print(table(results["rows"]))


if __name__ == "__main__":
    main()
