"""Classes that have an order, as worse and better have."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class Ordered(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A logistic regression for each step from a class to the next: is it above?

    >>> import numpy as np
    >>> found = Ordered(C=100.0).fit(np.arange(9.0)[:, None], [0, 0, 0, 1, 1, 1, 2, 2, 2])
    >>> found.predict([[0.5], [4.0], [8.5]]).tolist()
    [0, 1, 2]
    """

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, features: Any, labels: Any) -> Ordered:
        """Learns from labels, the greater the better."""
        self.classes_, ranks = np.unique(labels, return_inverse=True)
        self.above_ = [
            LogisticRegression(C=self.C, max_iter=3000).fit(features, ranks > k) for k in range(len(self.classes_) - 1)
        ]
        return self

    def predict(self, features: Any) -> NDArray[Any]:
        """The class that is likeliest: what is above the step below it, and not above its own."""
        above = np.array([step.predict_proba(features)[:, 1] for step in self.above_])
        ends = np.ones((1, above.shape[1]))
        chances = -np.diff(np.concatenate([ends, above, 0 * ends]), axis=0)
        found: NDArray[Any] = self.classes_[chances.argmax(axis=0)]
        return found
