"""The measurements behind the defaults of docs/inference.md, on validation data alone.

    python benchmarks/validation.py aclImdb.tar.xz sst/trees [--documents 20000] [--models dbow ...] [--n-jobs 2]

5,000 of IMDB's labelled training reviews are held out; models are fitted on others of the training part. Long texts:
logistic regression on the standardised vectors of 10,000 labelled reviews, error on the 5,000. Short texts: the same
models infer SST's training and development sentences. All vectors are inferred, with several `infer_l2`.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paravec import DivergedError, ParagraphVector
from paravec.experiments.data import imdb, sst
from paravec.text import words

L2 = (1.0, 2.0, 5.0, 10.0, 20.0)
MODELS: dict[str, tuple[dict[str, Any], tuple[float, ...]]] = {
    "dbow negative": ({"model": "dbow"}, (0.05, 0.07, 0.1)),
    "dbow hs": ({"model": "dbow", "output": "hs"}, (0.05, 0.1, 0.2)),
    "dbow cosine": ({"model": "dbow", "logit": "cosine"}, (0.001, 0.005)),
    "dm mean negative": ({"model": "dm", "combine": "mean"}, (0.2, 0.3, 0.4)),
    "dm mean hs": ({"model": "dm", "combine": "mean", "output": "hs"}, (0.2, 0.3, 0.4)),
    "dm sum negative": ({"model": "dm", "combine": "sum"}, (0.025, 0.05)),
    "dm sum hs": ({"model": "dm", "combine": "sum", "output": "hs"}, (0.025, 0.05)),
    "dm concat negative": ({"model": "dm", "combine": "concat"}, (0.025, 0.035, 0.05, 0.1)),
    "dm concat hs": ({"model": "dm", "combine": "concat", "output": "hs"}, (0.025, 0.05, 0.1)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("imdb", type=Path)
    parser.add_argument("sst", type=Path)
    parser.add_argument("--documents", type=int, default=20_000, help="reviews to fit on")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "validation.json")
    chosen = parser.parse_args()

    data = imdb(chosen.imdb)
    labelled = [i for i, y in enumerate(data.train_labels) if y is not None]
    labelled = [labelled[i] for i in np.random.default_rng(0).permutation(len(labelled))]
    unlabelled = [i for i, y in enumerate(data.train_labels) if y is None]
    held_out, kept = labelled[:5000], (labelled[5000:] + unlabelled)[: chosen.documents]
    tokens = [words(text) for text in data.train]
    short = {}
    trees = sst(chosen.sst)
    for split, of_split in (("train", trees.train), ("dev", trees.dev)):
        told = [tree.sentence for tree in of_split if tree.sentence.label != 2]
        short[split] = [words(phrase.text) for phrase in told], [int(phrase.label > 2) for phrase in told]
    rows = []
    print("| model | rate | infer_l2 | IMDB | IMDB, SGD rows | SST |\n| --- | --- | --- | --- | --- | --- |")
    for name in chosen.models:
        settings, rates = MODELS[name]
        for rate in rates:
            estimator = ParagraphVector(
                **settings, learning_rate=rate, epochs=10, n_jobs=chosen.n_jobs, random_state=chosen.seed,
                refit_documents=False, infer_context=True if "dm" in settings["model"] else None,
            )  # fmt: skip
            began = time.perf_counter()
            try:
                estimator.fit([tokens[i] for i in kept])
            except DivergedError as error:
                print(f"| {name} | {rate} | {error} |", flush=True)
                continue
            seconds = time.perf_counter() - began
            train, test = kept[:10_000], held_out
            y_train, y_test = ([data.train_labels[i] for i in part] for part in (train, test))
            for l2 in L2 if settings.get("logit") != "cosine" else L2[:1]:
                estimator.set_params(infer_l2=l2)
                inferred = estimator.transform([tokens[i] for i in test])
                row = {
                    "model": name,
                    "rate": rate,
                    "infer_l2": l2,
                    "documents": len(kept),
                    "fit_s": round(seconds, 1),
                    "imdb": error_of(estimator.transform([tokens[i] for i in train]), y_train, inferred, y_test),
                    "imdb_sgd_rows": error_of(estimator.document_vectors_[:10_000], y_train, inferred, y_test),
                    "sst": error_of(
                        estimator.transform(short["train"][0]),
                        short["train"][1],
                        estimator.transform(short["dev"][0]),
                        short["dev"][1],
                    ),
                }
                rows.append(row)
                print(
                    f"| {name} | {rate} | {l2:g} | {row['imdb']:.2f} | {row['imdb_sgd_rows']:.2f} | {row['sst']:.2f} |",
                    flush=True,
                )
    chosen.out.parent.mkdir(exist_ok=True)
    chosen.out.write_text(json.dumps({"cores": os.cpu_count(), "rows": rows}, indent=1) + "\n")


def error_of(x: Any, y: Any, x_test: Any, y_test: Any) -> float:
    """Percent wrong of logistic regression."""
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300)).fit(x, y)
    return float(100 * (1 - classifier.score(x_test, y_test)))


if __name__ == "__main__":
    main()
