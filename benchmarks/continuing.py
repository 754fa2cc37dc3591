"""What becomes of documents when training goes on: classifiers of one half of IMDB's reviews, asked about the other.

    python benchmarks/continuing.py aclImdb.tar.xz [--n-jobs 2]

A model is fitted on half of the 25,000 labelled training reviews (the first half), and then learns from the second
(`continue_fit`) at several learning rates. Logistic regression on the vectors of the first half is asked about the
second: % error, with the vectors of the first half as they were, and inferred again by the weights that went on.
Results go to ``results/continuing.json``.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paravec import ParagraphVector
from paravec.experiments.data import imdb
from paravec.experiments.machine import described
from paravec.search import unit

RESULTS = Path(__file__).parent / "results" / "continuing.json"


def error(known: Any, labels: Any, asked: Any, answers: Any) -> float:
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(known, labels)
    return 100 * (1 - float(classifier.score(asked, answers)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", help="aclImdb.tar.xz")
    parser.add_argument("--n-jobs", type=int, default=2)
    given = parser.parse_args()
    data = imdb(given.archive)
    rows = [i for i, label in enumerate(data.train_labels) if label is not None]
    random.Random(0).shuffle(rows)
    first, second = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    texts = [[data.train[i] for i in some] for some in (first, second)]
    labels = [[data.train_labels[i] for i in some] for some in (first, second)]
    begun = ParagraphVector(epochs=10, n_jobs=given.n_jobs).fit(texts[0])
    former = begun.document_vectors_.copy()
    alone = error(former, labels[0], begun.transform(texts[1]), labels[1])
    found = [{"learning_rate": 0.0, "as_they_were": alone, "inferred_again": alone, "cosine": 1.0}]
    for rate in (0.07, 0.02, 0.007):
        model = ParagraphVector(epochs=10, n_jobs=given.n_jobs).fit(texts[0])
        former = model.document_vectors_.copy()
        model.set_params(learning_rate=rate).continue_fit(texts[1], grow_vocabulary=True)
        again = model.transform(texts[0])
        asked = model.document_vectors_
        found.append(
            {
                "learning_rate": rate,
                "as_they_were": error(former, labels[0], asked, labels[1]),
                "inferred_again": error(again, labels[0], asked, labels[1]),
                "cosine": float(np.mean(np.sum(unit(former) * unit(again), axis=1))),
            }
        )
        print(found[-1], flush=True)
    whole = ParagraphVector(epochs=10, n_jobs=given.n_jobs).fit([*texts[0], *texts[1]]).document_vectors_
    together = error(whole[: len(first)], labels[0], whole[len(first) :], labels[1])
    print("| learning rate | first half as it was | inferred again | cosine of the two |\n| --- | --- | --- | --- |")
    for each in found:
        figures = f"{each['as_they_were']:.1f} | {each['inferred_again']:.1f} | {each['cosine']:.2f}"
        print(f"| {each['learning_rate']} | {figures} |")
    print(f"fitted on both halves at once: {together:.1f} %")
    RESULTS.write_text(json.dumps({"machine": described(), "rows": found, "together": together}, indent=1) + "\n")


if __name__ == "__main__":
    main()
