"""Two classes: classifiers whose settings are chosen on labelled documents held out, and mixtures of them."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError

FOLDS = 5  # parts of the labelled training documents, each of which is held out in turn
LEAST_OF_A_CLASS = 20
STRENGTHS = (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1.0)  # of what is learned against what it costs (C), for vectors
NETWORKS, DECAYS = 3, (0.3, 1.0, 3.0, 10.0)  # whose mean is taken, and their weights' decay
_SHARES = np.linspace(0, 1, 21)  # of the first of two in a mixture

Classifier = Callable[[Any, NDArray[np.int64], Any], NDArray[np.float64]]
"""Learns from features and labels, and decides about other features: above 0 is class 1."""


@dataclass(frozen=True)
class Decisions:
    """What a method says of labelled documents it did not learn from, and of test documents: above 0 is class 1."""

    held_out: NDArray[np.float64]
    test: NDArray[np.float64]

    def as_json(self) -> dict[str, Any]:
        """Numbers of four digits, packed."""
        scale = max(float(np.abs(np.concatenate([self.held_out, self.test])).max()), 1e-9)
        return {"scale": scale} | {name: _packed(getattr(self, name) / scale) for name in ("held_out", "test")}

    @staticmethod
    def of_json(found: dict[str, Any]) -> Decisions:
        """What `as_json` gave."""
        return Decisions(*(found["scale"] * _unpacked(found[name]) for name in ("held_out", "test")))

    def __add__(self, other: Decisions) -> Decisions:
        return Decisions(self.held_out + other.held_out, self.test + other.test)

    def __rmul__(self, factor: float) -> Decisions:
        return Decisions(factor * self.held_out, factor * self.test)

    @property
    def spread(self) -> float:
        """How far decisions are from 0, by those that are held out."""
        return float(np.sqrt((self.held_out**2).mean())) or 1.0


def _packed(parts: NDArray[np.float64]) -> str:
    return base64.b64encode(parts.astype("<f2").tobytes()).decode()


def _unpacked(text: str) -> NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(text), "<f2").astype(np.float64)


class Judge:
    """The labels of a task with two classes. For what is chosen, every fifth of the labels is held out in turn.

    Documents of one group are held out together: the test's are of other groups.
    """

    def __init__(
        self,
        labels: Sequence[int],
        test_labels: Sequence[int],
        groups: Sequence[Hashable] | None = None,
        seed: int = 0,
        jobs: int = 1,
    ) -> None:
        self._jobs = jobs
        self.labels, self._truth = np.array(labels, dtype=np.int64), np.array(test_labels, dtype=np.int64)
        for name, some in (("training", self.labels), ("test", self._truth)):
            for label in (0, 1):
                if (count := int((some == label).sum())) < LEAST_OF_A_CLASS:
                    raise SourceError(
                        f"{count} {name} documents are of class {label}; a classifier needs {LEAST_OF_A_CLASS} of each"
                    )
        self.folds = folds(range(len(labels)) if groups is None else groups, seed)
        for fold in range(FOLDS):
            if len(set(self.labels[self.folds != fold])) < 2:
                raise SourceError("nearly all training documents of a class are of one group; no part can be held out")

    def decisions(self, train: Any, test: Any, classifiers: Sequence[Classifier]) -> Decisions:
        """Of the classifier that errs least on documents held out; for the test, it has learned from all of them."""
        tried = self._held_out(train, classifiers, range(FOLDS))
        best = int(np.argmin([_wrong(found, self.labels) for found in tried]))
        return Decisions(tried[best], classifiers[best](train, self.labels, test))

    def least_error(self, train: Any, classifiers: Sequence[Classifier]) -> float:
        """Of the classifier that errs least on the first part that is held out."""
        out, _ = self._of(0)
        return min(_wrong(found[out], self.labels[out]) for found in self._held_out(train, classifiers, [0]))

    def _held_out(
        self, train: Any, classifiers: Sequence[Classifier], which: Sequence[int]
    ) -> list[NDArray[np.float64]]:
        """What classifiers say of some parts, each held out in turn: one process for each at a time, if there are."""
        from joblib import Parallel, delayed, parallel_config

        parts = [self._of(fold) for fold in which]
        with parallel_config("loky", inner_max_num_threads=1 if self._jobs != 1 else None):
            said = Parallel(self._jobs)(
                delayed(_decided)(decide, train, self.labels, *part) for decide in classifiers for part in parts
            )
        found = np.zeros((len(classifiers), len(self.labels)))
        for i, some in enumerate(said):
            found[i // len(parts), parts[i % len(parts)][0]] = some
        return list(found)

    def _of(self, fold: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The documents that are held out, and the others."""
        return np.flatnonzero(self.folds == fold), np.flatnonzero(self.folds != fold)

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
        return _wrong(decisions.held_out, self.labels)

    def error(self, decisions: Decisions) -> float:
        """The part that is wrong, of test documents."""
        return _wrong(decisions.test, self._truth)


def _decided(
    decide: Classifier, train: Any, labels: NDArray[np.int64], out: NDArray[np.int64], rest: NDArray[np.int64]
) -> NDArray[np.float64]:
    return decide(train[rest], labels[rest], train[out])


def folds(groups: Sequence[Hashable], seed: int) -> NDArray[np.int64]:
    """The part of each document: of about one size, drawn at random, and the same for all of a group."""
    of_group: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        of_group.setdefault(group, []).append(i)
    found, sizes, members = np.empty(len(groups), dtype=np.int64), [0] * FOLDS, list(of_group.values())
    for place in np.random.default_rng(seed).permutation(len(members)):
        fold = sizes.index(min(sizes))
        found[members[place]] = fold
        sizes[fold] += len(members[place])
    return found


def _wrong(decisions: NDArray[np.float64], labels: NDArray[np.int64]) -> float:
    return float(((decisions > 0) != labels).mean())


def logistic(strength: float) -> Classifier:
    """Logistic regression on features of mean 0 and variance 1."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        regression = LogisticRegression(C=strength, solver="newton-cholesky", max_iter=100)
        exact = [np.asarray(rows, dtype=np.float64) for rows in (train, other)]  # Newton's steps need it
        found = make_pipeline(StandardScaler(), regression).fit(exact[0], labels).decision_function(exact[1])
        return np.asarray(found, dtype=np.float64)

    return decide


def network(decay: float, seed: int) -> Classifier:
    """The paper's: one hidden layer of 50 units; the mean of some, which begin anywhere and end elsewhere."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.neural_network import MLPClassifier
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        found = np.zeros(other.shape[0])
        for one in range(NETWORKS):
            units = MLPClassifier((50,), alpha=decay, max_iter=20, random_state=NETWORKS * seed + one)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # twenty passes are meant
                fitted = make_pipeline(StandardScaler(), units).fit(train, labels)
            chance = np.clip(fitted.predict_proba(other)[:, 1].astype(np.float64), 1e-9, 1 - 1e-9)
            found += np.log(chance / (1 - chance)) / NETWORKS
        return found

    return decide


def on_vectors() -> list[Classifier]:
    """Logistic regressions of several strengths."""
    return [logistic(strength) for strength in STRENGTHS]


def networks(seed: int) -> list[Classifier]:
    """Networks of several decays."""
    return [network(decay, seed) for decay in DECAYS]
