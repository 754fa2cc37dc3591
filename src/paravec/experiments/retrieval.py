"""Which of two snippets was found by the same query as a third? The paper's third experiment, and its baselines."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError
from paravec.estimator import ParagraphVector
from paravec.experiments.bags import as_they_are
from paravec.experiments.data import Query
from paravec.experiments.measure import Figure, figure
from paravec.experiments.options import Options, whole
from paravec.experiments.plots import Plot
from paravec.experiments.steps import Steps, fingerprint
from paravec.experiments.tables import Listing, Row, in_words, table
from paravec.text import words

LEAST_QUERIES = 30
QUICK_QUERIES = 1500
TRAINING_TRIPLETS = 4  # of each query, for what learns from them
CLUSTERS, DRAWS = 20, 50
MEAN_OF = 20_000  # training snippets that the mean vector is of
_PARTS = (0.8, 0.9)  # where validation begins, and test
WEIGHTS: list[dict[str, Any]] = [{"steep": steep, "stay": stay} for steep in (20.0, 60.0) for stay in (10.0, 100.0)]
AVERAGES: list[dict[str, Any]] = [
    {"model": "dbow", "train_words": True, "vector_size": 300, "epochs": 5},
    {"model": "dm", "combine": "mean", "vector_size": 300, "epochs": 10},
]
VECTORS: list[dict[str, Any]] = [
    {"vector_size": size, "epochs": epochs, "infer_l2": l2, **more}
    for size, epochs, more in (
        (300, 20, {}),
        (600, 10, {}),
        (600, 20, {}),
        (600, 20, {"negative": 20}),
        (600, 20, {"output": "hs"}),
        (600, 20, {"ngrams": 2}),
        (1000, 20, {}),
        (1000, 20, {"output": "hs"}),
    )
    for l2 in (20.0, 60.0, 150.0)
]
_LEARNED = ("Paragraph Vector", "averaging of word vectors")  # from a model of ours
QUICK_VECTORS: list[dict[str, Any]] = [{"vector_size": 50, "epochs": 20, "infer_l2": 20.0}]


@dataclass(frozen=True)
class Split:
    """Queries for training, validation and test."""

    train: list[Query]
    validation: list[Query]
    test: list[Query]


@dataclass(frozen=True)
class Triplets:
    """Snippets, as their words, and triplets of them: two of one query, and one of another."""

    documents: list[list[str]]
    rows: NDArray[np.int64]
    queries: NDArray[np.int64]  # whose the first two are


def split(queries: Sequence[Query], seed: int = 0) -> Split:
    """By query: 80, 10 and 10 %. Queries of the same words stay together."""
    alike: dict[tuple[str, ...], list[Query]] = {}
    for query in queries:
        alike.setdefault(tuple(tokens_of(query.text)), []).append(query)
    if len(alike) < LEAST_QUERIES:
        raise SourceError(f"{len(alike)} queries are too few to divide them; {LEAST_QUERIES} are needed")
    together = list(alike.values())
    order = np.random.default_rng(seed).permutation(len(together))
    first, second = (round(part * len(together)) for part in _PARTS)
    train, validation, test = (
        [query for i in some for query in together[i]] for some in (order[:first], order[first:second], order[second:])
    )
    if not any(len(query.snippets) > 1 for query in test):
        raise SourceError("no query for the test has two snippets, so there are no triplets")
    return Split(train, validation, test)


def tokens_of(text: str) -> list[str]:
    """Words and numbers, without punctuation: snippets are full of dots."""
    return [word for word in words(text) if any(character.isalnum() for character in word)]


def documents_of(queries: Sequence[Query]) -> list[list[str]]:
    """All snippets, query by query."""
    return [tokens_of(text) for query in queries for text in query.snippets]


def triplets(queries: Sequence[Query], each: int = 10, seed: int = 0) -> Triplets:
    """`each` triplets of every query that has two snippets or more."""
    generator = np.random.default_rng(seed)
    counts = [len(query.snippets) for query in queries]
    begins = [0, *accumulate(counts)]
    rows, owners = [], []
    for i, count in enumerate(counts):
        if count < 2:
            continue
        for _ in range(each):
            a, b = generator.choice(count, 2, replace=False)
            other = int(generator.integers(len(queries) - 1))
            other += other >= i
            rows.append((begins[i] + a, begins[i] + b, begins[other] + generator.integers(counts[other])))
            owners.append(i)
    if not rows:
        raise SourceError("no query has two snippets, so there are no triplets")
    return Triplets(documents_of(queries), np.array(rows, dtype=np.int64), np.array(owners, dtype=np.int64))


@dataclass(frozen=True)
class Found:
    """The part of the triplets that a method has wrong, and of how many independent ones that would be as certain."""

    error: float
    certain: float


def error(features: Any, of: Triplets) -> Found:
    """A triplet is wrong if its first two snippets are no nearer, by cosine, than the first and the third.

    Triplets of one query are wrong together, so the error is as certain as that of fewer independent ones.
    """
    from sklearn.preprocessing import normalize

    unit = normalize(features)
    first, second, third = (unit[of.rows[:, k]] for k in range(3))
    wrong = (_products(first, second) <= _products(first, third)).astype(np.float64)
    counts = np.bincount(of.queries)
    part = float(wrong.mean())
    away = np.bincount(of.queries, wrong - part)[counts > 0]  # of all triplets of a query together
    variance = float((away**2).sum()) / len(wrong) ** 2
    return Found(part, part * (1 - part) / variance if variance > 0 else float(np.count_nonzero(counts)))


def _products(a: Any, b: Any) -> NDArray[np.float64]:
    """Of the rows of two matrices, dense or sparse."""
    product = a.multiply(b) if hasattr(a, "multiply") else a * b
    return np.asarray(product.sum(axis=1)).ravel()


def tfidf(train: list[list[str]], n_grams: int) -> Any:
    """A bag of words, or of n-grams up to some length, weighed by how rare they are among training snippets."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        tokenizer=as_they_are, preprocessor=as_they_are, token_pattern=None, ngram_range=(1, n_grams), min_df=2
    )
    return vectorizer.fit(train)


class LearnedWeights:
    """The paper's weighted bag of bigrams: a weight for every n-gram, learned from training triplets.

    The product of two snippets is the weighed sum of the products of their n-grams. Weights start from 1 and are drawn
    back there by `stay`; they grow and fall until the product of a snippet with one of its own query is larger than
    that with another's (logistic loss of `steep` times the difference).
    """

    def __init__(self, vectorizer: Any, of: Triplets, steep: float, stay: float) -> None:
        from scipy.optimize import minimize

        self._vectorizer = vectorizer
        features = vectorizer.transform(of.documents)
        first, second, third = (features[of.rows[:, k]] for k in range(3))
        pairs = (first.multiply(second) - first.multiply(third)).tocsr()

        def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            margins, away = steep * (pairs @ weights), weights - 1
            value = np.logaddexp(0, -margins).sum() + stay * float(away @ away) / 2
            gradient = -steep * (pairs.T @ (1 / (1 + np.exp(np.clip(margins, -500, 500)))))
            return value, gradient + stay * away

        start = np.ones(pairs.shape[1])
        found = minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(start), options={"maxiter": 50}
        )
        self._weights = np.sqrt(found.x)

    def transform(self, documents: list[list[str]]) -> Any:
        """Features whose products are weighed."""
        return self._vectorizer.transform(documents).multiply(self._weights).tocsr()


def run(queries: Sequence[Query], steps: Steps, options: Options) -> list[Listing]:
    """All methods: what they have to choose is chosen on validation triplets, and the table is of test triplets."""
    if options.quick:
        queries = queries[:QUICK_QUERIES]
    task = _Task(queries, steps, options)
    weights = task.chosen("weighted bag of bigrams", WEIGHTS)
    averaged = task.chosen("averaging of word vectors", AVERAGES)
    vectors = task.chosen("Paragraph Vector", QUICK_VECTORS if options.quick else VECTORS)
    rows = [
        Row("averaging of word vectors", 10.25, task.tested("averaging of word vectors", averaged)),
        Row("bag of words, tf-idf", 8.10, task.tested("bag of words", {})),
        Row("bag of bigrams, tf-idf", 7.28, task.tested("bag of bigrams", {})),
        Row("weighted bag of bigrams", 5.67, task.tested("weighted bag of bigrams", weights)),
        Row("Paragraph Vector", 3.82, task.tested("Paragraph Vector", vectors)),
    ]
    told = {"Paragraph Vector": vectors, "weighted bag of bigrams": weights, "averaging of word vectors": averaged}
    errors = table(
        "Retrieval: which snippet is of the same query?",
        [
            f"{len(queries):,} queries, divided 80 / 10 / 10 by query; everything is fitted on training queries alone. "
            f"{len(task.test.rows):,} test triplets, cosine of words and numbers without punctuation. The paper's "
            "figures are of another, private collection.",
        ],
        rows,
        {name: in_words(found) for name, found in told.items()},
    )
    return [errors, task.clusters(vectors)]


class _Task:
    """One division of the queries, and the errors of methods on it."""

    def __init__(self, queries: Sequence[Query], steps: Steps, options: Options) -> None:
        self._steps, self._options = steps, options
        self._fitted: tuple[dict[str, Any], ParagraphVector] | None = (
            None  # with what it was fitted, and the last model
        )
        self._data = {"queries": len(queries), "data": fingerprint([(each.text, each.snippets) for each in queries])}
        self._parts = parts = split(queries)
        self._begins = [0, *accumulate(len(query.snippets) for query in parts.test)]
        self._train = triplets(parts.train, TRAINING_TRIPLETS, seed=1)
        self._validation, self.test = triplets(parts.validation, seed=2), triplets(parts.test, seed=3)

    def chosen(self, method: str, candidates: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """The settings with the smallest validation error."""
        errors = [
            self._found(method, settings, 0, self._validation, f"validation, {in_words(settings)}").error
            for settings in candidates
        ]
        return candidates[int(np.argmin(errors))]

    def tested(self, method: str, settings: dict[str, Any]) -> Figure:
        """The test error, of all seeds where a method has any."""
        seeds = self._options.seeds if method in _LEARNED else (0,)
        found = [self._found(method, settings, seed, self.test, f"test, seed {seed}") for seed in seeds]
        return figure([each.error for each in found], min(each.certain for each in found))

    def clusters(self, settings: dict[str, Any]) -> Listing:
        """How well K-means finds the queries that test snippets are of, twenty at a time."""
        rows, bars = [], {}
        for i, (method, chosen) in enumerate((("bag of words", {}), ("Paragraph Vector", settings))):
            seeds = self._options.seeds if chosen else (0,)
            found = [self._clustered(method, chosen, seed) for seed in seeds]
            each = ", ".join(f"{one:.3f}" for one in found)
            bars[method] = [(i, statistics.fmean(found))]
            rows.append([method, f"{statistics.fmean(found):.3f}", each if len(found) > 1 else ""])
        return Listing(
            f"K-means on {CLUSTERS} clusters of snippets",
            [
                f"Adjusted mutual information of clusters and queries (1: the same, 0: chance), {CLUSTERS} test "
                f"queries at a time, mean of {DRAWS} draws; rows of length 1.",
            ],
            ["method", "adjusted mutual information", "each seed"],
            rows,
            plots=[Plot("Clusters and queries", "", "adjusted mutual information", bars, kind="bars")],
            ours=frozenset([1]),
        )

    def _clustered(self, method: str, settings: dict[str, Any], seed: int) -> float:
        documents, begins = documents_of(self._parts.test), self._begins
        found = self._steps.step(
            f"retrieval, {method}, K-means, seed {seed}",
            self._told(method, settings, seed) | {"draws": DRAWS},
            lambda: clustered(self._features(method, settings, seed, documents), begins),
        )
        return float(found)

    def _found(self, method: str, settings: dict[str, Any], seed: int, of: Triplets, what: str) -> Found:
        found = self._steps.step(
            f"retrieval, {method}, {what}",
            self._told(method, settings, seed),
            lambda: asdict(error(self._features(method, settings, seed, of.documents), of)),
        )
        return Found(**found)

    def _told(self, method: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
        """What a step is of."""
        of_method = whole(settings | {"engine": self._options.engine}) if method in _LEARNED else settings
        return {"method": method, "seed": seed, **self._data, **of_method}

    def _features(self, method: str, settings: dict[str, Any], seed: int, documents: list[list[str]]) -> Any:
        train = self._train.documents
        if method == "bag of words":
            return tfidf(train, 1).transform(documents)
        if method == "bag of bigrams":
            return tfidf(train, 2).transform(documents)
        if method == "weighted bag of bigrams":
            return LearnedWeights(tfidf(train, 2), self._train, **settings).transform(documents)
        estimator = self._model(settings, seed)
        if method == "averaging of word vectors":
            return averages(estimator, documents)
        middle = estimator.transform(train[:MEAN_OF]).mean(axis=0)  # common to all documents, and tells nothing
        found = estimator.transform(documents)
        found[found.any(axis=1)] -= middle
        return found

    def _model(self, settings: dict[str, Any], seed: int) -> ParagraphVector:
        """Fitted on the training snippets; once for settings that only differ in inference."""
        wanted = {**settings, "random_state": seed}
        now = {name: wanted.pop(name) for name in ("infer_l2",) if name in wanted}
        if self._fitted is None or self._fitted[0] != wanted:
            estimator = ParagraphVector(**wanted, **self._options.of_models, refit_documents=False)
            self._fitted = wanted, estimator.fit(self._train.documents)
        self._fitted[1].set_params(**now)
        return self._fitted[1]


def clustered(features: Any, begins: Sequence[int]) -> float:
    """How well K-means finds which rows are of one query: `begins` tells where those of each begin, and the end."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_mutual_info_score
    from sklearn.preprocessing import normalize

    unit, generator, found = normalize(features), np.random.default_rng(0), []
    many = [i for i in range(len(begins) - 1) if begins[i + 1] - begins[i] > 1]
    for draw in range(DRAWS):
        chosen = generator.choice(many, min(CLUSTERS, len(many)), replace=False)
        rows = np.concatenate([np.arange(begins[i], begins[i + 1]) for i in chosen])
        owners = np.repeat(chosen, [begins[i + 1] - begins[i] for i in chosen])
        labels = KMeans(len(chosen), n_init=3, random_state=draw).fit_predict(unit[rows])
        found.append(float(adjusted_mutual_info_score(owners, labels)))
    return statistics.fmean(found)


def averages(estimator: ParagraphVector, documents: list[list[str]]) -> NDArray[np.float32]:
    """The mean of the vectors of the words that a document has."""
    row, vectors = estimator.vocabulary_, estimator.word_vectors_
    out = np.zeros((len(documents), vectors.shape[1]), dtype=np.float32)
    for i, document in enumerate(documents):
        known = [row[word] for word in document if word in row]
        if known:
            out[i] = vectors[known].mean(axis=0)
    return out
