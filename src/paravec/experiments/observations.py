"""The paper's further observations, on IMDB: each a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paravec.experiments.measure import Figure, figure
from paravec.experiments.plots import Plot
from paravec.experiments.protocols import Protocol
from paravec.experiments.reviews import ALL, Seen, Task
from paravec.experiments.tables import Listing, Row, table

WINDOWS = (5, 6, 7, 8, 9, 10, 11, 12)
_QUICK_WINDOWS = (5, 8, 12)
COMBINED = {"concat": 7.63, "sum": 8.06, "mean": None}  # with the paper's errors
DM: dict[str, Any] = {
    "model": "dm", "output": "hs", "vector_size": 100, "window": 10, "epochs": 5, "infer_context": True
}  # fmt: skip


def listings(task: Task, paper: Sequence[Seen], past: Sequence[Seen]) -> list[Listing]:
    """All of them."""
    return [
        _halves(task, paper),
        _combined(task),
        _windows(task),
        *([_few(task, past)] if task.counts else []),
        _times(task, paper, past),
        _map(task, past),
    ]


def _halves(task: Task, paper: Sequence[Seen]) -> Listing:
    errors = {"dm": 7.63, "dbow": None, ALL: 7.42}
    names = {"dm": "Paragraph Vector, dm alone", "dbow": "Paragraph Vector, dbow alone", ALL: "Paragraph Vector, both"}
    curves = {half: list(enumerate(losses, 1)) for half, losses in paper[0].losses.items()}
    found = {each: task.figure([one.decisions[each] for one in paper]) for each in names}
    return table(
        "DM, DBOW, and both",
        ["Halves of the same vectors, inductive, logistic regression (the paper's figures: a neural network)."],
        [Row(names[each], errors[each], figure) for each, figure in found.items()],
        plots=[
            _bars("Halves and both", {"dm": found["dm"], "dbow": found["dbow"], "both": found[ALL]}),
            Plot("Objective of the paper's model", "epoch", "loss of a word, nats", curves),
        ],
    )


def _bars(title: str, figures: dict[str, Figure]) -> Plot:
    bars = {name: [(i, figure.mean)] for i, (name, figure) in enumerate(figures.items())}
    return Plot(title, "", "test error, %", bars, kind="bars")


def _combined(task: Task) -> Listing:
    found = {each: _figure(task, DM | {"combine": each}) for each in COMBINED}
    return table(
        "How dm puts vectors together",
        [f"dm alone, {_sizes(task)}, window 10, inductive."],
        [Row(f"Paragraph Vector, {each}", error, found[each]) for each, error in COMBINED.items()],
        plots=[_bars("Concatenated, summed, averaged", found)],
    )


def _windows(task: Task) -> Listing:
    windows = _QUICK_WINDOWS if task.options.quick else WINDOWS
    found = {window: _figure(task, DM | {"combine": "concat", "window": window}) for window in windows}
    means = [each.mean for each in found.values()]
    return table(
        "The window of dm",
        [
            f"dm concat alone, {_sizes(task)}, inductive. The paper: windows from 5 to 12 "
            f"change the error by 0.7 points. Here: by {max(means) - min(means):.2f}.",
        ],
        [Row(f"Paragraph Vector, window {window}", None, each) for window, each in found.items()],
        plots=[
            Plot("Error by window", "window", "test error, %", {"dm concat": [(w, f.mean) for w, f in found.items()]})
        ],
    )


def _few(task: Task, past: Sequence[Seen]) -> Listing:
    bag = [task.few_of_bags(seed) for seed in task.options.seeds]
    counts = [str(count) for count in task.counts]
    found = {
        "Paragraph Vector of n-grams": [_of_seeds(task, [one.few[count] for one in past]) for count in counts],
        "bag of words (bnc)": [_of_seeds(task, [one[count] for one in bag]) for count in counts],
    }
    return Listing(
        "Few labels",
        [
            "Test errors, %, after so many labels, means of all seeds and intervals of 95 %. Classifiers are chosen by "
            "cross-validation over those labels; the settings of n-grams are those that were chosen with more.",
        ],
        ["method", *(f"{int(count):,} labels" for count in counts)],
        [[name, *map(str, figures)] for name, figures in found.items()],
        plots=[
            Plot(
                "Error by labels",
                "labels",
                "test error, %",
                {
                    name: [(count, one.mean) for count, one in zip(task.counts, figures, strict=True)]
                    for name, figures in found.items()
                },
                logarithmic=True,
            )
        ],
        ours=frozenset([0]),
    )


def _times(task: Task, paper: Sequence[Seen], past: Sequence[Seen]) -> Listing:
    rows, bars = [], {}
    for i, (name, seen) in enumerate((("the paper's model", paper), ("n-grams", past))):
        fit, infer = min(one.fit_seconds for one in seen), min(one.infer_seconds or 0.0 for one in seen)
        bars[name] = [(i, infer)]
        rows.append([name, f"{fit:,.0f} s", f"{infer:,.1f} s", f"{1e3 * infer / len(task.data.test):.2f} ms"])
    return Listing(
        "Time of inference",
        [
            f"All {len(task.data.test):,} test reviews, to convergence, engine {task.options.engine}; of all "
            "seeds the one that was least disturbed. The paper: 30 minutes on 16 cores.",
        ],
        ["model", "fit, with all training reviews inferred again", "inference of the test set", "a review"],
        rows,
        plots=[Plot("Inference of the test set", "", "seconds", bars, kind="bars")],
    )


def _map(task: Task, past: Sequence[Seen]) -> Listing:
    places = past[0].map
    labels = task.labels_of_map(len(places))
    series = {
        name: [place for place, label in zip(places, labels, strict=True) if label == kind]
        for kind, name in ((1, "positive"), (0, "negative"))
    }
    return Listing(
        "A map of test reviews",
        [f"{len(places):,} test reviews by their vectors of n-grams, inductive (principal components, then t-SNE)."],
        ["reviews", "on the map"],
        [[name, f"{len(points):,}"] for name, points in series.items()],
        plots=[Plot("Test reviews", "", "", series, kind="points")],
    )


def _sizes(task: Task) -> str:
    settings = task.small(DM)
    return f"hierarchical softmax, {settings['vector_size']} dimensions, {settings['epochs']} epochs"


def compared(quick: bool) -> list[dict[str, Any]]:
    """The settings of all models that are compared."""
    windows = _QUICK_WINDOWS if quick else WINDOWS
    return [DM | {"combine": each} for each in COMBINED] + [
        DM | {"combine": "concat", "window": window} for window in windows if window != DM["window"]
    ]


def of_dm(task: Task, settings: dict[str, Any], seed: int) -> Seen:
    """One of the models that are compared."""
    return task.seen_once("dm", task.small(settings), Protocol.inductive, seed, network=False)


def _figure(task: Task, settings: dict[str, Any]) -> Figure:
    seen = [of_dm(task, settings, seed) for seed in task.options.seeds]
    return task.figure([one.decisions[ALL] for one in seen])


def _of_seeds(task: Task, errors: Sequence[float]) -> Figure:
    return figure(errors, len(task.data.test))
