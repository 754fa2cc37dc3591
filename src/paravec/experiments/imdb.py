"""Is a review positive? The paper's second experiment, its baselines, and what is past it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from paravec.experiments import observations
from paravec.experiments.data import Imdb
from paravec.experiments.judging import Decisions
from paravec.experiments.options import Options
from paravec.experiments.protocols import Protocol
from paravec.experiments.reviews import ALL, NETWORK, Seen, Task
from paravec.experiments.steps import Steps
from paravec.experiments.tables import Listing, Row, in_words, table

PAPERS: dict[str, Any] = {  # inferred as in the paper, too
    "model": "dm+dbow", "combine": "concat", "window": 10, "output": "hs", "vector_size": 400, "epochs": 5,
    "infer_context": True,
}  # fmt: skip
_BY_COSINE: dict[str, Any] = {
    "ngrams": 3, "logit": "cosine", "vector_size": 500, "epochs": 120, "min_learning_rate": 0.001
}  # fmt: skip
COSINES: list[dict[str, Any]] = [_BY_COSINE, _BY_COSINE | {"cosine_scale": 8.0}]
DOT: dict[str, Any] = {"ngrams": 3, "vector_size": 500, "epochs": 20}
BAGS = {
    "BoW (bnc)": 12.20,
    "BoW (bΔt'c)": 11.77,
    "LDA": 32.58,
    "MNB-uni": 16.45,
    "MNB-bi": 13.41,
    "SVM-uni": 13.05,
    "SVM-bi": 10.84,
    "NBSVM-uni": 11.71,
    "NBSVM-bi": 8.78,
}
_PUBLISHED = {
    "Full + BoW (Maas et al. 2011)": 11.67,
    "Full + unlabelled + BoW (Maas et al. 2011)": 11.11,
    "WRRBM (Dahl et al. 2012)": 12.58,
    "WRRBM + BoW (bnc) (Dahl et al. 2012)": 10.77,
}
NGRAMS = "naive-Bayes n-grams to 3"
_MIXED = "a mixture of decisions"
_PAPERS, COSINE, _DOT = "the paper's model", "n-grams by cosine", "n-grams by dot product"
_SHUFFLED = (Protocol.inductive, Protocol.transductive)
MODELS = {_PAPERS: tuple(Protocol), COSINE: _SHUFFLED, _DOT: _SHUFFLED}  # and how they are looked at


def run(data: Imdb, steps: Steps, options: Options) -> list[Listing]:
    """The paper's table under three protocols, what is past it, and the further observations."""
    task = Task(data, steps, options)
    chosen = {name: settings_of(task, name) for name in MODELS}
    seen = {
        name: {protocol: task.seen(name, chosen[name], protocol) for protocol in protocols}
        for name, protocols in MODELS.items()
    }
    return [
        _main(task, seen[_PAPERS], chosen[_PAPERS]),
        _past(task, seen, chosen),
        *observations.listings(task, seen[_PAPERS][Protocol.inductive], seen[COSINE][Protocol.inductive]),
    ]


def settings_of(task: Task, model: str) -> dict[str, Any]:
    """What is left open is chosen on labels held out."""
    if model == COSINE:
        return task.chosen(model, [task.small(each) for each in COSINES])
    return task.penalised(model, task.small(PAPERS if model == _PAPERS else DOT))


def _main(task: Task, paper: dict[Protocol, list[Seen]], settings: dict[str, Any]) -> Listing:
    rows = [Row(name, error, task.figure([task.bag(name)])) for name, error in BAGS.items()]
    rows += [Row(name, error, None, "published; not computed here") for name, error in _PUBLISHED.items()]
    notes = {
        Protocol.inductive: "the paper's protocol",
        Protocol.transductive: "texts of test reviews are trained, too",
        Protocol.unshuffled: "the same, class by class; vectors of training",
    }
    for protocol, seen in paper.items():
        for classifier in (ALL, NETWORK):
            found = task.figure(_of(seen, classifier))
            error = 7.42 if protocol is Protocol.inductive and classifier != ALL else None
            rows.append(Row(f"Paragraph Vector, {protocol.value}, {classifier}", error, found, notes[protocol]))
    bag = task.bag("BoW (bnc)")
    mixed = [task.judge.mixed(each, bag) for each in _of(paper[Protocol.inductive], ALL)]
    rows.append(Row("Paragraph Vector and BoW (bnc), inductive", None, task.figure(mixed), _MIXED))
    return table(
        "IMDB: is a review positive?",
        [
            f"{len(task.data.train):,} training reviews, {len(task.labelled):,} of them with a label, and "
            f"{len(task.data.test):,} test reviews{'' if task.data.complete else ', which are not all'}. "
            "What has to be chosen is chosen on training labels, every fifth held out in turn, film by film. The "
            "paper's model: dm with nine words of context concatenated, and dbow, side by side.",
        ],
        rows,
        {_PAPERS: in_words(settings)},
    )


def _past(task: Task, seen: dict[str, dict[Protocol, list[Seen]]], settings: dict[str, dict[str, Any]]) -> Listing:
    bag, rows = task.bag(NGRAMS), []
    rows.append(Row(NGRAMS, None, task.figure([bag]), "no Paragraph Vector"))
    for protocol in _SHUFFLED:
        found = {
            f"{name}, {classifier}": _of(seen[name][protocol], classifier)
            for name in (COSINE, _DOT)
            for classifier in (ALL, NETWORK)
        }
        alone = len(found)
        cosine, cosine_network, dot, dot_network = found.values()
        both = _mixed(task, _mixed(task, cosine, cosine_network), _mixed(task, dot, dot_network))
        found |= {
            "n-grams by both": both,
            "n-grams by both, and the paper's model": _mixed(task, both, _of(seen[_PAPERS][protocol], ALL)),
            "n-grams by both, and naive-Bayes n-grams": _mixed(task, both, [bag] * len(both)),
        }
        rows += [
            Row(f"Paragraph Vector of {name}, {protocol.value}", None, task.figure(each), note)
            for (name, each), note in zip(found.items(), [*[""] * alone, *[_MIXED] * 3], strict=True)
        ]
    return table(
        "IMDB, past the paper",
        [
            "dbow that predicts n-grams up to three words, and mixtures of the decisions of two methods, in shares "
            "that were chosen on labels held out.",
        ],
        rows,
        {name: in_words(settings[name]) for name in (COSINE, _DOT)},
    )


def _mixed(task: Task, first: Sequence[Decisions], second: Sequence[Decisions]) -> list[Decisions]:
    return [task.judge.mixed(a, b) for a, b in zip(first, second, strict=True)]


def _of(seen: Sequence[Seen], classifier: str) -> list[Decisions]:
    return [each.decisions[classifier] for each in seen]
