"""IMDB's reviews, and what methods say of them: steps that are kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError
from paravec.estimator import ParagraphVector
from paravec.experiments import bags, judging, protocols
from paravec.experiments.data import Imdb
from paravec.experiments.judging import Decisions, Judge
from paravec.experiments.measure import Figure, figure
from paravec.experiments.options import Options, whole
from paravec.experiments.protocols import Protocol, Vectors
from paravec.experiments.steps import Steps, fingerprint
from paravec.settings import Settings
from paravec.text import words

ALL, NETWORK = "logistic regression", "neural network"  # on whole vectors
FEW = (100, 1000, 10_000)  # labels
QUICK = 500  # reviews of each kind: training and test, positive and negative, and without a label
_SMALL = {"vector_size": 30, "epochs": 10}
_PENALTIES = (5.0, 20.0, 60.0, 150.0)  # of inference
_MAP = 2000  # documents on the map


@dataclass(frozen=True)
class Seen:
    """What was found out about one model, one protocol and one seed."""

    decisions: dict[str, Decisions]  # by classifier, or by half of the vectors
    few: dict[str, float]  # test errors by the number of labels
    losses: dict[str, list[float]]
    fit_seconds: float
    infer_seconds: float | None
    map: list[tuple[float, float]]


def sampled(data: Imdb, each: int) -> Imdb:
    """So many reviews of each kind."""

    def some(texts: Sequence[Any], labels: Sequence[int | None]) -> tuple[list[Any], list[Any]]:
        rows = [i for kind in (1, 0, None) for i in [i for i, y in enumerate(labels) if y == kind][:each]]
        return [texts[i] for i in rows], [labels[i] for i in rows]

    films = some(data.films, data.train_labels)[0] if data.films else []
    return Imdb(*some(data.train, data.train_labels), *some(data.test, data.test_labels), complete=False, films=films)


def judge_of(data: Imdb, jobs: int = 1) -> Judge:
    """Of the labels that there are; refuses data that have too few."""
    if not data.labelled:
        raise SourceError("no training review has a label")
    films = dict(enumerate(data.films))
    groups = [films.get(i) or i for i in data.labelled]  # a review of no known film is alone
    return Judge([data.train_labels[i] or 0 for i in data.labelled], data.test_labels, groups, jobs=jobs)


class Task:
    """The reviews, and what methods say of them. Who has a turn may use the engine."""

    def __init__(
        self, data: Imdb, steps: Steps, options: Options, turn: AbstractContextManager[object] | None = None
    ) -> None:
        self.data = sampled(data, QUICK) if options.quick else data
        self.steps, self.options, self._turn = steps, options, turn or nullcontext()
        self.labelled, self.judge = self.data.labelled, judge_of(self.data, 1 if options.quick else options.n_jobs)
        parts = self.data.train, self.data.train_labels, self.data.test, self.data.test_labels, self.data.films
        self._told = {
            "documents": len(parts[0]) + len(parts[2]),
            "data": fingerprint(*parts),
            "folds": judging.FOLDS,
            "strengths": judging.STRENGTHS,
        }
        self._tokens: tuple[list[list[str]], list[list[str]]] | None = None

    def small(self, settings: dict[str, Any]) -> dict[str, Any]:
        """The same, or much less of it in a quick run."""
        return settings | _SMALL if self.options.quick else settings

    @property
    def tokens(self) -> tuple[list[list[str]], list[list[str]]]:
        """The words of training and test reviews."""
        if self._tokens is None:
            self._tokens = [words(text) for text in self.data.train], [words(text) for text in self.data.test]
        return self._tokens

    def bag(self, name: str) -> Decisions:
        """What a bag of words says."""
        return Decisions.of_json(self.steps.step(f"imdb, {name}", self._told, lambda: self._bag(name).as_json()))

    def _bag(self, name: str) -> Decisions:
        train, test = self.tokens
        if name == "LDA":
            return bags.topics(train, np.array(self.labelled), test, self.judge)
        method = bags.METHODS[name]
        found = bags.bags([train[i] for i in self.labelled], test, method)
        return self.judge.decisions(found.train, found.test, method.classifiers)

    def few_of_bags(self, seed: int) -> dict[str, float]:
        """Test errors of a bag of words after few labels."""

        def work() -> dict[str, float]:
            train, test = self.tokens
            method = bags.METHODS["BoW (bnc)"]
            found = bags.bags([train[i] for i in self.labelled], test, method)
            return {
                str(count): self.judge.few(found.train, found.test, method.classifiers, count, seed)
                for count in self.counts
            }

        found: dict[str, float] = self.steps.step(f"imdb, bag of words, few labels, seed {seed}", self._told, work)
        return found

    @property
    def counts(self) -> list[int]:
        """The numbers of labels that are few."""
        return [count for count in FEW if count <= len(self.labelled)]

    def chosen(self, name: str, candidates: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The settings that err least on labelled reviews held out; their texts are known, as all training texts."""
        if len(candidates) == 1 or self.options.quick:
            return candidates[0]
        errors = [
            self.judge.error_held_out(self.seen_once(name, each, Protocol.inductive, 0).decisions[ALL])
            for each in candidates
        ]
        return candidates[int(np.argmin(errors))]

    def penalised(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The settings with the `infer_l2` that errs least on reviews that a model of its own has never seen."""
        if self.options.quick:
            return settings
        of_model = whole(settings | {"engine": self.options.engine})
        found: dict[str, float] = self.steps.step(
            f"imdb, {name}, validation of infer_l2",
            {**self._told, **of_model, "penalties": _PENALTIES},
            lambda: self._errors_of_unseen(settings),
        )
        return settings | {"infer_l2": float(min(found, key=lambda penalty: found[penalty]))}

    def _errors_of_unseen(self, settings: dict[str, Any]) -> dict[str, float]:
        unseen = {self.labelled[i] for i in np.flatnonzero(self.judge.folds == 0)}
        texts = self.data.train
        chosen = settings | self.options.of_models | {"random_state": 0, "refit_documents": False}
        asked = [texts[i] for i in self.labelled]
        with self._turn:
            estimator = ParagraphVector(**chosen).fit([text for i, text in enumerate(texts) if i not in unseen])
            vectors = [estimator.set_params(infer_l2=penalty).transform(asked) for penalty in _PENALTIES]
        errors = [self.judge.least_error(each, judging.on_vectors()) for each in vectors]
        return {str(penalty): error for penalty, error in zip(_PENALTIES, errors, strict=True)}

    def seen(self, name: str, settings: dict[str, Any], protocol: Protocol) -> list[Seen]:
        """All seeds of a model under a protocol."""
        return [self.seen_once(name, settings, protocol, seed) for seed in self.options.seeds]

    def seen_once(
        self, name: str, settings: dict[str, Any], protocol: Protocol, seed: int, *, network: bool = True
    ) -> Seen:
        """One seed; the paper's classifier, a network, takes long."""
        of_model = whole(settings | {"engine": self.options.engine})
        told = {**self._told, **of_model, "protocol": protocol.value, "seed": seed}
        told["network"] = (judging.NETWORKS, judging.DECAYS) if network else ()
        what = ", ".join(f"{key} {value}" for key, value in settings.items())
        found = self.steps.step(
            f"imdb, {name}, {what}, {protocol.value}, seed {seed}",
            told,
            lambda: self._looked_at(settings, protocol, seed, network),
        )
        decisions = {each: Decisions.of_json(numbers) for each, numbers in found.pop("decisions").items()}
        return Seen(decisions=decisions, **found)

    def _looked_at(self, settings: dict[str, Any], protocol: Protocol, seed: int, network: bool) -> dict[str, Any]:
        chosen = settings | self.options.of_models | {"random_state": seed}
        with self._turn:
            found = protocols.vectors(self.data.train, self.labelled, self.data.test, protocol, chosen)
        decisions = {
            name: self.judge.decisions(found.train[:, part], found.test[:, part], judging.on_vectors())
            for name, part in _parts(Settings(**settings)).items()
        }
        if network:
            decisions[NETWORK] = self.judge.decisions(found.train, found.test, judging.networks(seed))
        few = {
            str(count): self.judge.few(found.train, found.test, judging.on_vectors(), count, seed)
            for count in self.counts
            if protocol is Protocol.inductive
        }
        return {
            "decisions": {name: each.as_json() for name, each in decisions.items()},
            "few": few,
            "losses": found.losses,
            "fit_seconds": found.fit_seconds,
            "infer_seconds": found.infer_seconds,
            "map": _map(found, self.options.quick) if seed == 0 else [],
        }

    def labels_of_map(self, count: int) -> list[int]:
        """Of the test documents that are on the map."""
        return [self.data.test_labels[i] for i in _of_map(len(self.data.test), self.options.quick)][:count]

    def figure(self, of: Sequence[Decisions]) -> Figure:
        """The test error of all seeds."""
        return figure([self.judge.error(each) for each in of], len(self.data.test))


def _parts(settings: Settings) -> dict[str, slice]:
    """All columns, and those of each half."""
    halves = settings.architectures()
    parts = {ALL: slice(None)}
    if len(halves) > 1:
        begin = 0
        for half in halves:
            parts[half.model] = slice(begin, begin + half.vector_size)
            begin += half.vector_size
    return parts


def _of_map(count: int, quick: bool) -> NDArray[np.int64]:
    """The test documents that are on the map."""
    return np.sort(np.random.default_rng(0).permutation(count)[: _MAP // 4 if quick else _MAP])


def _map(found: Vectors, quick: bool) -> list[tuple[float, float]]:
    """Some of the test documents in a plane."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    some = found.test[_of_map(len(found.test), quick)]
    few = PCA(min(50, *some.shape), random_state=0).fit_transform(some)
    places = TSNE(2, init="pca", perplexity=min(30, len(some) / 4), random_state=0).fit_transform(few)
    return [(round(float(x), 2), round(float(y), 2)) for x, y in places]
