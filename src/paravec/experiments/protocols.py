"""Vectors of labelled and of test documents, by the three ways in which they were got in the literature."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.corpus.encoder import learn
from paravec.engines import engine_for
from paravec.engines.base import Pass, Tables
from paravec.estimator import ParagraphVector
from paravec.initial import initial_model
from paravec.settings import Settings
from paravec.training import rates


class Protocol(str, Enum):
    """What of the test documents a model may know, and the order in which it sees documents."""

    inductive = "inductive"  # it is fitted without them, and they are inferred: the paper's
    transductive = "transductive"  # it is fitted on their texts, too
    unshuffled = "unshuffled"  # the same, class by class, and vectors are those of training


@dataclass(frozen=True)
class Vectors:
    """What classifiers learn from and are asked about, and how it was got."""

    train: NDArray[np.float32]
    test: NDArray[np.float32]
    losses: dict[str, list[float]]
    fit_seconds: float
    infer_seconds: float | None  # of the test documents, where they are inferred alone


def vectors(
    train: Sequence[str], labelled: Sequence[int], test: Sequence[str], protocol: Protocol, settings: dict[str, Any]
) -> Vectors:
    """Of the labelled among the training documents, and of test documents."""
    began = time.perf_counter()
    if protocol is Protocol.unshuffled:
        with_label = set(labelled)
        rest = [i for i in range(len(train)) if i not in with_label]
        texts = [*(train[i] for i in labelled), *test, *(train[i] for i in rest)]
        found, losses = in_order(texts, settings)
        seconds = time.perf_counter() - began
        return Vectors(found[: len(labelled)], found[len(labelled) : len(labelled) + len(test)], losses, seconds, None)
    estimator = ParagraphVector(**settings)
    inductive = protocol is Protocol.inductive
    estimator.fit(train if inductive else [*train, *test])
    seconds, began = time.perf_counter() - began, time.perf_counter()
    rows = estimator.document_vectors_
    inferred = estimator.transform(test) if inductive else rows[len(train) :]
    took = time.perf_counter() - began if inductive else None
    return Vectors(rows[list(labelled)], inferred, estimator.loss_history_, seconds, took)


def in_order(texts: Sequence[str], settings: dict[str, Any]) -> tuple[NDArray[np.float32], dict[str, list[float]]]:
    """Document vectors of training in the order of the texts, every epoch the same: what one should not do.

    The weights learn class by class, and vectors of training keep what the weights were when they were visited.
    """
    chosen = Settings(**{name: value for name, value in settings.items() if name not in ("random_state", "verbose")})
    assert chosen.epochs is not None
    vocabulary, corpus = learn(texts, chosen)
    seed, halves, losses = settings["random_state"], [], {}
    for architecture in chosen.architectures():
        engine = engine_for(chosen, training=True)
        tables = Tables.of(architecture, vocabulary, chosen.sample)
        model = initial_model(architecture, vocabulary, tables, len(corpus), seed)
        words = corpus.words_only(vocabulary) if architecture.is_dm else corpus
        order = np.arange(len(words))
        tallies = [
            engine.train(
                model, words, tables, Pass(seed, epoch, order, rates(chosen, architecture, epoch, words.lengths))
            )
            for epoch in range(chosen.epochs)
        ]
        engine.settle(model)
        engine.release()
        halves.append(np.array(model.documents))
        losses[architecture.model] = [-tally.objective / tally.targets for tally in tallies]
    return np.hstack(halves), losses
