"""How well vectors tell positive reviews from negative ones: logistic regression on standardised vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from beside.material import Material

Vectors = NDArray[np.float32]


def _labelled(material: Material) -> tuple[list[int], list[int]]:
    """Rows of the labelled training reviews: those to learn from, and a fifth (5,000 of 25,000) for validation."""
    rows = [i for i, label in enumerate(material.train_labels) if label is not None]
    held = len(rows) // 5
    return rows[held:], rows[:held]


def validation_rows(material: Material) -> list[int]:
    """The training reviews that are held out from the classifier to choose a learning rate."""
    return _labelled(material)[1]


def validation_error(material: Material, documents: Vectors, inferred: Vectors) -> float:
    """Per cent of the held-out reviews, inferred, that a classifier of the others gets wrong."""
    rows, held = _labelled(material)
    return _error(material, documents, rows, inferred, [material.train_labels[i] for i in held])


def test_error(material: Material, documents: Vectors, inferred: Vectors) -> float:
    """Per cent of the test reviews, the first so many, that a classifier of all labelled reviews gets wrong."""
    rows = [row for part in _labelled(material) for row in part]
    return _error(material, documents, rows, inferred, material.test_labels[: len(inferred)])


def _error(
    material: Material, documents: Vectors, rows: list[int], inferred: Vectors, truth: list[int] | list[int | None]
) -> float:
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(documents[rows], [material.train_labels[i] for i in rows])
    return 100 * (1 - float(classifier.score(inferred, truth)))
