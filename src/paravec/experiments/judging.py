"""Two classes: classifiers whose settings are chosen on labelled documents held out, and mixtures of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError

HELD_OUT = 0.2  # of the labelled training documents
LEAST_OF_A_CLASS = 20
STRENGTHS = (0.001, 0.01, 0.1, 1.0)  # of what is learned against what it costs (C), for vectors
_SHARES = np.linspace(0, 1, 21)  # of the first of two in a mixture

Classifier = Callable[[Any, NDArray[np.int64], Any], NDArray[np.float64]]
"""Learns from features and labels, and decides about other features: above 0 is class 1."""


@dataclass(frozen=True)
class Decisions:
    """What a method says of labelled documents held out, and of test documents: above 0 is class 1."""

    held_out: NDArray[np.float64]
    test: NDArray[np.float64]

    def as_json(self) -> dict[str, list[float]]:
        """Lists of numbers of five digits."""
        return {name: [float(f"{x:.5g}") for x in getattr(self, name)] for name in ("held_out", "test")}

    @staticmethod
    def of_json(found: dict[str, list[float]]) -> Decisions:
        """What `as_json` gave."""
        return Decisions(np.array(found["held_out"]), np.array(found["test"]))

    def __add__(self, other: Decisions) -> Decisions:
        return Decisions(self.held_out + other.held_out, self.test + other.test)

    def __rmul__(self, factor: float) -> Decisions:
        return Decisions(factor * self.held_out, factor * self.test)

    @property
    def spread(self) -> float:
        """How far decisions are from 0, by those that are held out."""
        return float(np.sqrt((self.held_out**2).mean())) or 1.0


class Judge:
    """The labels of a task with two classes. A fifth of the training labels is held out for choices."""

    def __init__(self, labels: Sequence[int], test_labels: Sequence[int], seed: int = 0) -> None:
        self.labels, self._truth = np.array(labels, dtype=np.int64), np.array(test_labels, dtype=np.int64)
        for name, some in (("training", self.labels), ("test", self._truth)):
            for label in (0, 1):
                if (count := int((some == label).sum())) < LEAST_OF_A_CLASS:
                    raise SourceError(
                        f"{count} {name} documents are of class {label}; a classifier needs {LEAST_OF_A_CLASS} of each"
                    )
        order = np.random.default_rng(seed).permutation(len(self.labels))
        count = int(HELD_OUT * len(order))
        self.held_out, self.kept = np.sort(order[:count]), np.sort(order[count:])

    def decisions(self, train: Any, test: Any, classifiers: Sequence[Classifier]) -> Decisions:
        """Of the classifier that errs least on documents held out; for the test, it has learned from them, too."""
        tried = [decide(train[self.kept], self.labels[self.kept], train[self.held_out]) for decide in classifiers]
        best = int(np.argmin([_wrong(found, self.labels[self.held_out]) for found in tried]))
        return Decisions(tried[best], classifiers[best](train, self.labels, test))

    def few(self, train: Any, test: Any, classifiers: Sequence[Classifier], count: int, seed: int) -> float:
        """The test error after `count` labels; the classifier is chosen by cross-validation over them."""
        chosen = self._some(count, np.random.default_rng(seed))
        folds = [chosen[fold::5] for fold in range(5)]  # of both classes, one after the other
        errors = np.zeros(len(classifiers))
        for fold in folds:
            rest = np.setdiff1d(chosen, fold)
            errors += [_wrong(c(train[rest], self.labels[rest], train[fold]), self.labels[fold]) for c in classifiers]
        best = classifiers[int(np.argmin(errors))]
        return _wrong(best(train[chosen], self.labels[chosen], test), self._truth)

    def _some(self, count: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """So many labelled documents, class by class as often as there are of them, and five of each at least."""
        rows = [generator.permutation(np.flatnonzero(self.labels == label)) for label in (0, 1)]
        rare = min(max(5, round(count * min(map(len, rows)) / len(self.labels))), *map(len, rows))
        less = int(len(rows[1]) < len(rows[0]))
        return np.concatenate([rows[less][:rare], rows[1 - less][: count - rare]])

    def mixed(self, first: Decisions, second: Decisions) -> Decisions:
        """Both, each by its spread, in the shares that err least on documents held out."""
        a, b = (1 / each.spread * each for each in (first, second))
        errors = [self.error_held_out(share * a + (1 - share) * b) for share in _SHARES]
        best = np.flatnonzero(np.array(errors) == min(errors))
        share = float(_SHARES[best[len(best) // 2]])
        return share * a + (1 - share) * b

    def error_held_out(self, decisions: Decisions) -> float:
        """The part that is wrong, of documents held out."""
        return _wrong(decisions.held_out, self.labels[self.held_out])

    def error(self, decisions: Decisions) -> float:
        """The part that is wrong, of test documents."""
        return _wrong(decisions.test, self._truth)


def _wrong(decisions: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float(((decisions > 0) != labels).mean())


def logistic(strength: float) -> Classifier:
    """Logistic regression on features of mean 0 and variance 1."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        regression = LogisticRegression(C=strength, solver="newton-cholesky", max_iter=100)
        found = make_pipeline(StandardScaler(), regression).fit(train, labels).decision_function(other)
        return np.asarray(found, dtype=np.float64)

    return decide


def network(decay: float, seed: int) -> Classifier:
    """The paper's: one hidden layer of 50 units."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        units = MLPClassifier((50,), alpha=decay, max_iter=20, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # twenty passes are meant
            fitted = make_pipeline(StandardScaler(), units).fit(train, labels)
        chance = np.clip(fitted.predict_proba(other)[:, 1], 1e-9, 1 - 1e-9)
        return np.asarray(np.log(chance / (1 - chance)), dtype=np.float64)

    return decide


def on_vectors() -> list[Classifier]:
    """Logistic regressions of several strengths."""
    return [logistic(strength) for strength in STRENGTHS]


def networks(seed: int) -> list[Classifier]:
    """Networks of several decays."""
    return [network(decay, seed) for decay in (1.0, 10.0, 30.0)]
