"""Initial parameters, epochs, the learning-rate schedule and the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Engine, Pass, Tables
from paravec.engines.cpu import fill_uniform, zeros
from paravec.errors import DivergedError
from paravec.model import Model
from paravec.settings import Architecture, Settings
from paravec.text import Token
from paravec.vocab import Vocabulary


@dataclass(frozen=True)
class GivenWords:
    """Word vectors to start from."""

    index: dict[Token, int]
    vectors: NDArray[np.float32]

    @staticmethod
    def of(given: Any) -> GivenWords:
        """From a mapping of words to vectors, a pair (words, matrix), or gensim's KeyedVectors."""
        if hasattr(given, "index_to_key") and hasattr(given, "vectors"):
            words, rows = list(given.index_to_key), given.vectors
        elif isinstance(given, Mapping):
            words, rows = list(given), list(given.values())
        elif isinstance(given, tuple) and len(given) == 2:
            words, rows = list(given[0]), given[1]
        else:
            raise TypeError(
                f"word_vectors is a {type(given).__name__}; give a dict of words to vectors, or a pair (words, matrix)"
            )
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"word_vectors are not numbers of one length: {error}") from None
        if vectors.ndim != 2 or len(words) != len(vectors):
            raise ValueError(
                f"word_vectors has {len(words)} words, but vectors of shape {vectors.shape}; give one row a word"
            )
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(
                f"word_vectors has NaN or infinity in the vector of {words[bad[0]]!r}; remove or repair it"
            )
        return GivenWords({word: i for i, word in enumerate(words)}, vectors)

    def check(self, architecture: Architecture) -> None:
        """Refuses vectors of another length than the model's."""
        if architecture.has_words and self.vectors.shape[1] != architecture.word_size:
            name = "word_size" if architecture.combine == "concat" and architecture.is_dm else "vector_size"
            raise ValueError(
                f"word_vectors have {self.vectors.shape[1]} dimensions, but {name}={architecture.word_size} "
                f"for model={architecture.model!r}; use {name}={self.vectors.shape[1]}"
            )


def initial_model(
    architecture: Architecture,
    vocabulary: Vocabulary,
    tables: Tables,
    n_documents: int,
    seed: int,
    given: GivenWords | None = None,
    freeze_words: bool = False,
) -> Model:
    """Small random vectors; U and b at zero, but for cosine, which needs a direction."""
    is_dm, width = architecture.is_dm, architecture.width
    n_outputs = tables.n_targets - (architecture.output == "hs")
    model = Model(
        architecture,
        documents=fill_uniform(
            seed,
            Purpose.DOCUMENT_VECTORS,
            is_dm,
            np.empty((n_documents, architecture.vector_size), dtype=np.float32),
        ),
        words=None,
        outputs=zeros(n_outputs, width),
        bias=np.zeros(n_outputs, dtype=np.float32) if architecture.has_bias else None,
    )
    if architecture.logit == "cosine":
        fill_uniform(seed, Purpose.OUTPUT_WEIGHTS, is_dm, model.outputs)
    if architecture.has_words:
        room = zeros(len(vocabulary.words) + 1, architecture.word_size)
        model.words = fill_uniform(seed, Purpose.WORD_VECTORS, is_dm, room)
        if given is not None:
            theirs = np.array([given.index.get(word, -1) for word in vocabulary.words])
            ours = np.flatnonzero(theirs >= 0)
            if not len(ours):
                raise ValueError(
                    f"none of the {len(given.index)} words of word_vectors is among the {len(vocabulary.words)} words "
                    f"of the corpus; are they spelt alike (lower case, say)?"
                )
            model.words[ours] = given.vectors[theirs[ours]]
            if freeze_words:
                model.trainable = np.ones(len(model.words), dtype=np.uint8)
                model.trainable[ours] = 0
    return model


def _loss_of_zero(architecture: Architecture, tables: Tables) -> float:
    """The most a model that knows nothing can lose a target: coins, or all words alike."""
    if architecture.output == "softmax":
        return math.log(tables.n_targets)
    if tables.paths is not None:
        return math.log(2) * int(np.diff(tables.paths.offsets).max())
    return math.log(2) * (1 + architecture.negative)


def rates(
    settings: Settings, architecture: Architecture, epoch: int, lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The learning rate at each document, from the tokens before it in the epoch's order: a straight line down."""
    before = np.cumsum(lengths) - lengths
    assert settings.epochs is not None
    done = (epoch + before / max(1, int(lengths.sum()))) / settings.epochs
    first, last = settings.rate(architecture), settings.last_rate(architecture)
    return (first + (last - first) * done).astype(np.float32)


def train(
    engine: Engine,
    model: Model,
    corpus: Corpus,
    tables: Tables,
    settings: Settings,
    seed: int,
    report: Callable[[int, float, int], None] | None = None,
) -> list[float]:
    """Trains in place; returns the loss of every epoch: minus the mean log-likelihood of a target."""
    assert settings.epochs is not None
    architecture = model.architecture
    hopeless = 10 * _loss_of_zero(architecture, tables)
    losses: list[float] = []
    for epoch in range(settings.epochs):
        order = draws.document_order(seed, epoch, architecture.is_dm, len(corpus))
        schedule = rates(settings, architecture, epoch, corpus.lengths[order])
        tally = engine.train(model, corpus, tables, Pass(seed, epoch, order, schedule))
        if not tally.targets:
            raise ValueError(f"sample={settings.sample} left no word to predict in epoch {epoch + 1}; raise it")
        losses.append(-tally.objective / tally.targets)
        # `not <` holds for NaN too
        if not losses[-1] < hopeless or not np.isfinite(model.outputs).all():
            raise DivergedError(
                f"training of model={architecture.model!r} diverged: the loss is {losses[-1]:.4g} after epoch "
                f"{epoch + 1} of {settings.epochs}, at learning_rate={settings.rate(architecture)}; lower it"
            )
        if report is not None:
            report(epoch, losses[-1], tally.targets)
    if model.documents is not None:
        model.documents[corpus.lengths == 0] = 0  # what no word has moved means nothing
    return losses
