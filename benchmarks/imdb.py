"""What paravec does on IMDB: errors of three models, and whether documents and words are where they belong.

    python benchmarks/imdb.py aclImdb.tar.xz [--only errors|neighbours] [--seeds 0 1 2] [--n-jobs 2]

Documents are fitted on the 75,000 training reviews, the 25,000 test reviews are inferred, and logistic regression on
standardised vectors tells positive from negative. Settings are the library's defaults (chosen on held-out training
reviews, docs/inference.md) but for those named. ``rival.py`` measures speed.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paravec import ParagraphVector
from paravec.experiments.data import Imdb, imdb
from paravec.experiments.machine import described
from paravec.search import unit

COMMON = {"vector_size": 100, "epochs": 10}
MODELS = {
    "dbow, negative 5": {"model": "dbow"},
    "dbow, hs": {"model": "dbow", "output": "hs"},
    "dm mean, negative 5, window 10": {"model": "dm", "combine": "mean", "window": 10},
}


def errors(data: Imdb, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Test error of three models, test reviews inferred."""
    labelled = [i for i, y in enumerate(data.train_labels) if y is not None]
    y_train = [data.train_labels[i] for i in labelled]
    rows = []
    for name in chosen.models:
        settings = MODELS[name]
        for seed in chosen.seeds:
            began = time.perf_counter()
            fitted = ParagraphVector(
                **COMMON, **settings, batch_size=chosen.batch_size, n_jobs=chosen.n_jobs, random_state=seed
            ).fit(data.train)
            fit_seconds = time.perf_counter() - began
            began = time.perf_counter()
            test = fitted.transform(data.test)
            infer_seconds = time.perf_counter() - began
            classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            classifier.fit(fitted.document_vectors_[labelled], y_train)
            error = 100 * (1 - classifier.score(test, data.test_labels))
            rows.append({"model": name, "seed": seed, "error": error, "fit_s": fit_seconds, "infer_s": infer_seconds})
            print(
                f"{name}, seed {seed}: error {error:.2f} %, fit {fit_seconds:.0f} s, infer {infer_seconds:.1f} s",
                flush=True,
            )
    return rows


def neighbours(data: Imdb, chosen: argparse.Namespace) -> dict[str, Any]:
    """Do training documents find themselves, and are words where the paper puts them?"""
    result: dict[str, Any] = {}
    for refit in (True, False):
        fitted = ParagraphVector(**COMMON, n_jobs=chosen.n_jobs, refit_documents=refit).fit(data.train)
        ten_thousand = unit(fitted.document_vectors_[:10_000])
        rows = np.random.default_rng(0).choice(10_000, size=100, replace=False)
        cosine = unit(fitted.transform([data.train[i] for i in rows])) @ ten_thousand.T
        result[f"own nearest of 100, refit_documents={refit}"] = int((cosine.argmax(axis=1) == rows).sum())
    fitted = ParagraphVector(**COMMON, model="dm", combine="mean", n_jobs=chosen.n_jobs, refit_documents=False).fit(
        data.train
    )
    vectors, row = unit(fitted.word_vectors_), fitted.vocabulary_
    for other in ("strong", "paris"):
        result[f"cosine of powerful and {other}"] = float(vectors[row["powerful"]] @ vectors[row[other]])
    result["nearest to powerful"] = [word for word, _ in fitted.similar_words("powerful", 8)]
    print(json.dumps(result, indent=1), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", choices=("errors", "neighbours"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, help="documents side by side; the default of each model if left out")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "imdb.json")
    chosen = parser.parse_args()
    data = imdb(chosen.archive)
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    results["machine"] = described()
    for part in (errors, neighbours):
        if chosen.only in (None, part.__name__):
            found = part(data, chosen)
            if isinstance(found, list):  # rows of other models or seeds stay
                new = {(row["model"], row.get("seed")) for row in found}
                old = [row for row in results.get(part.__name__, []) if (row["model"], row.get("seed")) not in new]
                found = old + found
            results[part.__name__] = found
            chosen.out.parent.mkdir(exist_ok=True)
            chosen.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
