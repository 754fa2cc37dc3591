"""What paravec does on IMDB, and how fast it trains beside gensim in the same run.

    python benchmarks/imdb.py aclImdb.tar.xz [--only errors|neighbours|speed] [--seeds 0 1 2] [--n-jobs 2]

Documents are fitted on the 75,000 training reviews, the 25,000 test reviews are inferred, and logistic regression on
standardised vectors tells positive from negative. Settings are the library's defaults (chosen on held-out training
reviews, docs/inference.md) but for those named. Speed is the median of interleaved runs.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paravec import ParagraphVector
from paravec.corpus.encoder import learn
from paravec.engines.base import Tables
from paravec.engines.cpu import CpuEngine
from paravec.initial import initial_model
from paravec.search import unit
from paravec.settings import Settings
from paravec.text import words
from paravec.training import Run, Training
from public_data import Imdb, imdb

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
            fitted = ParagraphVector(**COMMON, **settings, n_jobs=chosen.n_jobs, random_state=seed).fit(data.train)
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


def speed(data: Imdb, chosen: argparse.Namespace, epochs: int = 1, rounds: int = 3) -> list[dict[str, Any]]:
    """Training alone, words a second, both programs on the same tokens and settings, turn by turn."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    tokens = [words(text) for text in data.train]
    n_words = sum(map(len, tokens))
    tagged = [TaggedDocument(doc, [i]) for i, doc in enumerate(tokens)]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "corpus.txt")
        Path(path).write_text("".join(" ".join(doc) + "\n" for doc in tokens), encoding="utf-8")
        for name, ours, theirs in (
            ("dbow, negative 5", {"model": "dbow"}, {"dm": 0}),
            ("dbow, hs", {"model": "dbow", "output": "hs"}, {"dm": 0, "hs": 1, "negative": 0}),
            (
                "dm mean, negative 5, window 10",
                {"model": "dm", "combine": "mean", "context": "both"},
                {"dm": 1, "dm_mean": 1, "window": 9, "shrink_windows": False},
            ),
        ):
            if name not in chosen.models:
                continue
            settings = Settings(**{**COMMON, "epochs": epochs, **ours})
            vocabulary, corpus = learn(tokens, settings)
            architecture = settings.architectures()[0]
            tables = Tables.of(architecture, vocabulary, 0.0)
            seconds: dict[str, list[float]] = {"paravec": [], "gensim iterable": [], "gensim file": []}
            for _ in range(rounds):
                run = Run(initial_model(architecture, vocabulary, tables, len(corpus), 0))
                training = Training(CpuEngine(chosen.n_jobs), run, corpus, tables, settings, 0)
                began = time.perf_counter()
                training.train()
                seconds["paravec"].append(time.perf_counter() - began)
                for mode in ("iterable", "file"):
                    source: dict[str, Any] = {"corpus_file": path} if mode == "file" else {"corpus_iterable": tagged}
                    rival = Doc2Vec(
                        **{
                            "vector_size": 100,
                            "negative": 5,
                            "min_count": 2,
                            "sample": 0,
                            "workers": chosen.n_jobs,
                            **theirs,
                        }
                    )
                    rival.build_vocab(**source)
                    began = time.perf_counter()
                    rival.train(
                        **source, total_examples=rival.corpus_count, total_words=rival.corpus_total_words, epochs=epochs
                    )
                    seconds[f"gensim {mode}"].append(time.perf_counter() - began)
            rate = {who: n_words * epochs / statistics.median(times) / 1e6 for who, times in seconds.items()}
            best = max(rate["gensim iterable"], rate["gensim file"])
            rows.append({"model": name, "M words/s": rate, "ratio": rate["paravec"] / best, "seconds": seconds})
            print(f"{name}: {rate} ratio {rows[-1]['ratio']:.1f}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--only", choices=("errors", "neighbours", "speed"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "imdb.json")
    chosen = parser.parse_args()
    data = imdb(chosen.archive)
    results = json.loads(chosen.out.read_text()) if chosen.out.exists() else {}
    results["machine"] = {"processor": _processor(), "cores": os.cpu_count(), "python": platform.python_version()}
    for part in (errors, neighbours, speed):
        if chosen.only in (None, part.__name__):
            found = part(data, chosen)
            if isinstance(found, list):  # rows of other models or seeds stay
                new = {(row["model"], row.get("seed")) for row in found}
                old = [row for row in results.get(part.__name__, []) if (row["model"], row.get("seed")) not in new]
                found = old + found
            results[part.__name__] = found
            chosen.out.parent.mkdir(exist_ok=True)
            chosen.out.write_text(json.dumps(results, indent=1) + "\n")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


if __name__ == "__main__":
    main()
