"""Bags of words and n-grams: the baselines of the paper's table of IMDB that can be computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.experiments.judging import Classifier, Decisions, Judge, logistic

TOPICS, DICTIONARY, TOO_FREQUENT = 50, 5000, 50  # words, and those before them (Maas et al. 2011)
_BETWEEN = 0.25  # how much of its own weights an SVM on naive-Bayes features keeps (Wang & Manning 2012)


@dataclass(frozen=True)
class Method:
    """The n-grams that a method counts, the classifiers it is chosen from, and whether words are a dictionary's."""

    ngrams: int
    classifiers: Sequence[Classifier]
    dictionary: bool = False


@dataclass(frozen=True)
class Bags:
    """How often words and n-grams occur in labelled training documents, and in test documents."""

    train: Any
    test: Any


def bags(train: Sequence[list[str]], test: Sequence[list[str]], method: Method) -> Bags:
    """Of all n-grams up to a length that two training documents have, or of the words of a dictionary."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(
        tokenizer=as_they_are,
        preprocessor=as_they_are,
        token_pattern=None,
        ngram_range=(1, method.ngrams),
        min_df=2,
        dtype=np.float32,
    )
    found = Bags(vectorizer.fit_transform(train), vectorizer.transform(test))
    if not method.dictionary:
        return found
    kept = _dictionary(found.train)
    return Bags(found.train[:, kept], found.test[:, kept])


def _dictionary(counts: Any) -> NDArray[np.int64]:
    """The columns of frequent words, without the most frequent ones; of a small sample, less of these."""
    often = np.asarray(counts.sum(axis=0)).ravel()
    first = min(TOO_FREQUENT, len(often) // 100)
    return np.sort(np.argsort(-often, kind="stable")[first : first + DICTIONARY])


def as_they_are(tokens: Any) -> Any:
    """For scikit-learn's vectorizers: documents are words already."""
    return tokens


def there(counts: Any) -> Any:
    """1 where anything is, and 0."""
    return (counts > 0).astype(np.float32).tocsr()


def naive_bayes(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
    """Multinomial naive Bayes on what is there."""
    from sklearn.naive_bayes import MultinomialNB

    found = MultinomialNB().fit(there(train), labels).predict_log_proba(there(other))
    return np.asarray(found[:, 1] - found[:, 0], dtype=np.float64)


def machine(strength: float) -> Classifier:
    """A linear support vector machine on what is there."""
    return lambda train, labels, other: _svm(there(train), labels, strength).decision_function(there(other))


def of_one_length(strength: float, delta: bool) -> Classifier:
    """The same on rows of length 1 ("bnc"), weighed by how unlike classes are in a word ("b delta t' c")."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.preprocessing import normalize

        a, b = there(train), there(other)
        if delta:
            ratios = _deltas(a, labels)
            a, b = a.multiply(ratios).tocsr(), b.multiply(ratios).tocsr()
        return np.asarray(_svm(normalize(a), labels, strength).decision_function(normalize(b)), dtype=np.float64)

    return decide


def naive_bayes_machine(strength: float) -> Classifier:
    """NBSVM: features weighed by the logarithm of how much likelier they are in one class, and a linear machine."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        a = there(train)
        ratios = _ratios(a, labels)
        fitted = _svm(a.multiply(ratios).tocsr(), labels, strength)
        weights = np.asarray(fitted.coef_[0], dtype=np.float64)
        weights = (1 - _BETWEEN) * np.abs(weights).mean() + _BETWEEN * weights
        return np.asarray(there(other) @ (ratios * weights) + fitted.intercept_[0], dtype=np.float64)

    return decide


def naive_bayes_regression(strength: float) -> Classifier:
    """The same features and logistic regression, whose decisions mix well with others."""

    def decide(train: Any, labels: NDArray[np.int64], other: Any) -> NDArray[np.float64]:
        from sklearn.linear_model import LogisticRegression

        a = there(train)
        ratios = _ratios(a, labels)
        fitted = LogisticRegression(C=strength, solver="liblinear", dual=True, max_iter=1000)
        fitted.fit(a.multiply(ratios).tocsr(), labels)
        return np.asarray(fitted.decision_function(there(other).multiply(ratios).tocsr()), dtype=np.float64)

    return decide


def _ratios(rows: Any, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The logarithm of how much likelier a feature is in class 1 than in class 0, each counted once more."""
    sums = [np.asarray(rows[labels == label].sum(axis=0), dtype=np.float64).ravel() + 1 for label in (1, 0)]
    found: NDArray[np.float64] = np.log(sums[0] / sums[0].sum()) - np.log(sums[1] / sums[1].sum())
    return found


def _deltas(rows: Any, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """SMART's delta t': how much rarer documents with a word are in one class (Paltoglou & Thelwall 2010)."""
    sizes = [int((labels == label).sum()) for label in (1, 0)]
    with_it = [np.asarray(rows[labels == label].sum(axis=0), dtype=np.float64).ravel() for label in (1, 0)]
    found: NDArray[np.float64] = np.log2((sizes[0] * with_it[1] + 0.5) / (sizes[1] * with_it[0] + 0.5))
    return found


def _svm(rows: Any, labels: NDArray[np.int64], strength: float) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=strength, max_iter=5000, random_state=0).fit(rows, labels)


def topics(
    texts: Sequence[list[str]], labelled: NDArray[np.int64], test: Sequence[list[str]], judge: Judge
) -> Decisions:
    """LDA over all training documents, and logistic regression on the parts that topics have in a document."""
    from sklearn.decomposition import LatentDirichletAllocation
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(tokenizer=as_they_are, preprocessor=as_they_are, token_pattern=None, min_df=2)
    counts = vectorizer.fit_transform(texts)
    kept = _dictionary(counts)
    counts = counts[:, kept]
    model = LatentDirichletAllocation(
        TOPICS, learning_method="online", max_iter=3, batch_size=2048, random_state=0
    ).fit(counts)
    return judge.decisions(
        model.transform(counts[labelled]),
        model.transform(vectorizer.transform(test)[:, kept]),
        [logistic(strength) for strength in (0.1, 1.0, 10.0)],
    )


METHODS: dict[str, Method] = {
    "BoW (bnc)": Method(1, [of_one_length(strength, False) for strength in (0.01, 0.1, 1.0)], True),
    "BoW (bΔt'c)": Method(1, [of_one_length(strength, True) for strength in (0.01, 0.1, 1.0)], True),
    "MNB-uni": Method(1, [naive_bayes]),
    "MNB-bi": Method(2, [naive_bayes]),
    "SVM-uni": Method(1, [machine(strength) for strength in (0.0003, 0.001, 0.003)]),
    "SVM-bi": Method(2, [machine(strength) for strength in (0.0003, 0.001, 0.003)]),
    "NBSVM-uni": Method(1, [naive_bayes_machine(strength) for strength in (0.01, 0.1, 1.0)]),
    "NBSVM-bi": Method(2, [naive_bayes_machine(strength) for strength in (0.01, 0.1, 1.0)]),
    "naive-Bayes n-grams to 3": Method(3, [naive_bayes_regression(strength) for strength in (1.0, 10.0)]),
}
