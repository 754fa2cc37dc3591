"""The parts of the benchmark: the programs take turns, and every round is kept."""

from __future__ import annotations

import json
import shutil
import statistics
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beside.material import Material
from beside.models import TIMED
from beside.readings import Results, Turns, reading, whole

MODES = ("iterable", "file")
THEIR_EPOCHS = 20  # of gensim's inference
WORDS_OF_A_CALL = 230


@dataclass(frozen=True)
class Bench:
    """What is measured, how, and where rows go."""

    material: Material
    chosen: Namespace
    results: Results

    @property
    def folder(self) -> Path:
        """Where files are made."""
        return self.material.folder

    @property
    def reviews(self) -> int:
        """How many reviews are trained on."""
        return len(self.material.train_labels)

    def key(self, model: str, dimension: int) -> dict[str, Any]:
        """What rows of a model have in common."""
        return {"model": model, "dimension": dimension, "reviews": self.reviews}


# --- Training -------------------------------------------------------------------------------------------------------


def training(bench: Bench) -> None:
    """Words a second of one epoch, and memory."""
    for model in bench.chosen.models:
        for dimension in bench.chosen.dimensions:
            if bench.chosen.quick and dimension > 100 and not model.startswith("dbow"):
                continue
            _train(bench, model, dimension)


def _train(bench: Bench, model: str, dimension: int) -> None:
    chosen = bench.chosen
    documents = chosen.documents or TIMED // (8 if chosen.quick else 1)
    documents = min(documents, bench.reviews)
    bench.material.first(documents)
    work = {"folder": bench.folder, "model": model, "dimension": dimension, "documents": documents}
    work["threads"] = chosen.threads
    turns = {"paravec": Turns("ours.train", **work)}
    turns |= {f"gensim {mode}": Turns("theirs.train", **work, mode=mode) for mode in MODES}
    for each in turns.values():
        each.take()  # is ready, and has read and written its memory once
    readings: dict[str, list[dict[str, Any]]] = {program: [] for program in turns}
    for _ in range(chosen.rounds):
        for program, each in turns.items():
            readings[program].append(each.take())
        row = _speeds(readings) | {"documents": documents, "threads": chosen.threads}
        bench.results.put("training", bench.key(model, dimension), row)
    for each in turns.values():
        each.end()
    rates = ", ".join(f"{program} {rate:.2f}" for program, rate in row["m_words_a_second"].items())
    print(f"{model}, {dimension} dimensions: {rates} M words/s; {row['ratio']:.1f} times", flush=True)


def _speeds(readings: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """Medians of the rounds there are, and all that they are made of."""
    vocabularies = {each["vocabulary"] for program in readings.values() for each in program}
    if len(vocabularies) != 1:
        raise RuntimeError(f"the programs have vocabularies of different sizes: {vocabularies}")
    words = readings["paravec"][0]["words"]
    rates = {
        program: [words * each.get("share", 1.0) / each["seconds"] / 1e6 for each in rounds]
        for program, rounds in readings.items()
    }
    medians = {program: statistics.median(values) for program, values in rates.items()}
    theirs = ("gensim iterable", "gensim file")
    quicker = max(theirs, key=lambda program: medians[program])
    # Round by round, because the machine may change its speed between two of them.
    best = [max(both) for both in zip(*(rates[program] for program in theirs), strict=True)]
    ratios = [ours / their for ours, their in zip(rates["paravec"], best, strict=True)]
    return {
        "words": words,
        "vocabulary": vocabularies.pop(),
        "m_words_a_second": medians,
        "ratio": statistics.median(ratios),
        "ratio_of_rounds": ratios,
        "quicker": quicker,
        "peak_mb": {program: max(each["peak_mb"] for each in rounds) for program, rounds in readings.items()},
        "beyond_mb": {program: max(each["beyond_mb"] for each in rounds) for program, rounds in readings.items()},
        "seconds": {program: [each["seconds"] for each in rounds] for program, rounds in readings.items()},
        "share": {mode: [each["share"] for each in readings[f"gensim {mode}"]] for mode in MODES},
    }


# --- Errors ---------------------------------------------------------------------------------------------------------


def errors(bench: Bench) -> None:
    """Test error of every model, test reviews inferred."""
    chosen = bench.chosen
    for model in chosen.models:
        if chosen.quick and not model.startswith("dbow"):
            continue
        for dimension in chosen.error_dimensions:
            for seed in chosen.seeds:
                _error(bench, "paravec", model, dimension, seed)
            for seed in chosen.gensim_seeds:
                _error(bench, "gensim", model, dimension, seed)


def _error(bench: Bench, program: str, model: str, dimension: int, seed: int) -> None:
    threads, values = bench.chosen.threads, {}
    if program == "paravec":
        fitted = _ours(bench, model, dimension, seed)
        found = reading("ours.judge", folder=bench.folder, model=fitted, threads=threads, source="text")
    else:
        values["alpha"] = _alpha(bench, model, dimension)
        fitted = _theirs(bench, model, dimension, seed, values["alpha"])
        found = reading("theirs.judge", folder=bench.folder, model=fitted, processes=threads, epochs=THEIR_EPOCHS)
    values |= {"error": found["error"], "infer_s": found["seconds"], "fit_s": _fit_seconds(fitted), "threads": threads}
    key = bench.key(model, dimension) | {"epochs": bench.chosen.epochs, "program": program, "seed": seed}
    bench.results.put("errors", key, values)
    print(f"{model}, {dimension} dimensions, {program}, seed {seed}: error {found['error']:.2f} %", flush=True)
    _forget(fitted, model)


def _alpha(bench: Bench, model: str, dimension: int) -> float:
    """The learning rate of gensim with the smallest validation error; looked for once, then known from the results."""
    alphas = bench.chosen.alphas
    if len(alphas) == 1:
        return float(alphas[0])
    key = bench.key(model, dimension) | {"epochs": bench.chosen.epochs}
    known = bench.results.get("alphas", key)
    found: dict[str, float] = known["validation_error"] if known else {}
    for alpha in alphas:
        if str(alpha) not in found:
            fitted = _theirs(bench, model, dimension, 0, alpha)
            work = {"folder": bench.folder, "processes": bench.chosen.threads, "epochs": THEIR_EPOCHS}
            found[str(alpha)] = reading("theirs.judge", model=fitted, on="validation", **work)["error"]
            print(f"{model}, {dimension} dimensions, gensim, alpha {alpha}: {found[str(alpha)]:.2f} % of validation")
    best = min(alphas, key=lambda alpha: found[str(alpha)])
    for alpha in alphas:
        if alpha != best:
            _forget(_their_place(bench, model, dimension, 0, alpha))
    bench.results.put("alphas", key, {"validation_error": found, "alpha": best})
    return float(best)


def _ours(bench: Bench, model: str, dimension: int, seed: int) -> Path:
    """A fitted model of paravec, made if it is not there."""
    return _fitted(bench, "ours.fit", bench.folder / f"ours-{model}-{dimension}-{seed}", model, dimension, seed)


def _theirs(bench: Bench, model: str, dimension: int, seed: int, alpha: float) -> Path:
    """A fitted model of gensim, made if it is not there."""
    place = _their_place(bench, model, dimension, seed, alpha)
    return _fitted(bench, "theirs.fit", place, model, dimension, seed, alpha=alpha)


def _their_place(bench: Bench, model: str, dimension: int, seed: int, alpha: float) -> Path:
    return bench.folder / f"theirs-{model}-{dimension}-{seed}-{alpha}"


def _fitted(bench: Bench, what: str, place: Path, model: str, dimension: int, seed: int, **more: Any) -> Path:
    if not place.exists():
        settings = {"dimension": dimension, "epochs": bench.chosen.epochs, "threads": bench.chosen.threads}
        told = reading(what, folder=bench.folder, model=model, seed=seed, out=place, **settings, **more)
        _facts_of(place).write_text(json.dumps(told))
    return place


def _facts_of(place: Path) -> Path:
    return place.with_name(f"{place.name}.json")


def _fit_seconds(place: Path) -> float:
    return float(json.loads(_facts_of(place).read_text())["fit_s"])


def _forget(place: Path, model: str = "") -> None:
    """Makes room, unless the model is the one whose inference is measured."""
    if model != "dbow-negative":
        shutil.rmtree(place, ignore_errors=True)


# --- Inference ------------------------------------------------------------------------------------------------------


def _both(bench: Bench) -> tuple[Path, Path, dict[str, Any]]:
    """The models whose inference is measured, dbow with negative sampling, and what their rows have in common."""
    model, dimension = "dbow-negative", min(bench.chosen.dimensions)
    alpha = _alpha(bench, model, dimension)
    key = bench.key(model, dimension) | {"epochs": bench.chosen.epochs}
    return _ours(bench, model, dimension, 0), _theirs(bench, model, dimension, 0, alpha), key


def inference(bench: Bench) -> None:
    """All test reviews at once; gensim may get the first of them only."""
    ours, theirs, key = _both(bench)
    chosen, found = bench.chosen, {}
    n = min(chosen.documents_inferred, len(bench.material.test_labels))
    readings: dict[str, list[dict[str, Any]]] = {}
    for _ in range(chosen.rounds):
        for source in ("text", "tokens"):
            work = {"folder": bench.folder, "model": ours, "threads": chosen.threads, "source": source}
            readings.setdefault(f"paravec, from {source}", []).append(reading("ours.judge", **work, documents=n))
        work = {"folder": bench.folder, "model": theirs, "processes": chosen.threads, "epochs": THEIR_EPOCHS}
        readings.setdefault("gensim, from tokens", []).append(reading("theirs.judge", **work, documents=n))
        for program, rounds in readings.items():
            rates = [each["documents"] / each["seconds"] for each in rounds]
            found[program] = {
                "documents": rounds[0]["documents"],
                "documents_a_second": statistics.median(rates),
                "error_of_first": rounds[0]["error"],
                "first": n,
                "seconds": [each["seconds"] for each in rounds],
                "threads": chosen.threads,
            }
            bench.results.put("inference", key | {"program": program}, found[program])
    for program, row in found.items():
        rate, error = row["documents_a_second"], row["error_of_first"]
        print(f"{program}: {rate:,.0f} documents/s, error {error:.2f} % of the first {n}", flush=True)


def latency(bench: Bench) -> None:
    """One document at a time, of about 230 words, on one thread."""
    ours, theirs, key = _both(bench)
    lengths = [len(tokens) for tokens in bench.material.tokens("test")]
    near = sorted(range(len(lengths)), key=lambda row: abs(lengths[row] - WORDS_OF_A_CALL))
    rows = [near[i % len(near)] for i in range(bench.chosen.calls)]
    times: dict[str, list[float]] = {"paravec, from text": [], "gensim, from tokens": []}
    for _ in range(bench.chosen.rounds):
        work = {"folder": bench.folder, "rows": rows}
        times["paravec, from text"] += reading("ours.latency", **work, model=ours)["seconds"]
        times["gensim, from tokens"] += reading("theirs.latency", **work, model=theirs, epochs=THEIR_EPOCHS)["seconds"]
        for program, seconds in times.items():
            row = {
                "calls": len(seconds),
                "words": [min(lengths[i] for i in rows), max(lengths[i] for i in rows)],
                "median_ms": 1000 * statistics.median(seconds),
                "p90_ms": 1000 * statistics.quantiles(seconds, n=10)[-1],
            }
            bench.results.put("latency", key | {"program": program}, row)
    for program, seconds in times.items():
        print(f"{program}: {1000 * statistics.median(seconds):.2f} ms, median of {len(seconds)} calls", flush=True)


# --- End to end -----------------------------------------------------------------------------------------------------


def end_to_end(bench: Bench) -> None:
    """From a file of raw reviews to a saved model, from the start of the process to its end."""
    chosen = bench.chosen
    programs = {
        "paravec": ("paravec", "refit"),
        "paravec, refit_documents=False": ("paravec", "no-refit"),
        "gensim iterable": ("gensim", "iterable"),
        "gensim file": ("gensim", "file"),
    }
    readings: dict[str, list[dict[str, float]]] = {title: [] for title in programs}
    out = bench.folder / "whole"
    for _ in range(chosen.rounds):
        for title, (program, how) in programs.items():
            shutil.rmtree(out, ignore_errors=True)
            texts = bench.folder / "train-raw.txt"
            readings[title].append(whole(program, texts, out, chosen.threads, chosen.epochs, how))
            row = {
                "median_s": statistics.median(each["seconds"] for each in readings[title]),
                "seconds": [each["seconds"] for each in readings[title]],
                "peak_mb": max(each["peak_mb"] for each in readings[title]),
                "threads": chosen.threads,
            }
            key = {"program": title, "reviews": bench.reviews, "epochs": chosen.epochs}
            bench.results.put("end_to_end", key, row)
    shutil.rmtree(out, ignore_errors=True)
    for title, rounds in readings.items():
        print(f"{title}: {statistics.median(each['seconds'] for each in rounds):.1f} s end to end", flush=True)


PARTS = {each.__name__: each for each in (training, inference, latency, end_to_end, errors)}
