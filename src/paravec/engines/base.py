"""What an engine is asked to do. It knows nothing of files, text or scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from paravec.corpus import Corpus
from paravec.huffman import Paths, huffman
from paravec.model import Model
from paravec.settings import Architecture
from paravec.vocab import Noise, Vocabulary, keep_thresholds

FULL_EVIDENCE = 50  # targets of a document after which `infer_l2` has doubled


@dataclass(frozen=True)
class Tables:
    """What the steps need to know of the vocabulary."""

    n_words: int
    keep: NDArray[np.uint32]
    noise: Noise | None
    paths: Paths | None

    @staticmethod
    def of(architecture: Architecture, vocabulary: Vocabulary, sample: float) -> Tables:
        """The tables of one model. A dm model predicts words only, whatever n-grams the vocabulary has."""
        size = len(vocabulary.words) if architecture.is_dm else vocabulary.size
        counts = vocabulary.counts[:size]
        return Tables(
            n_words=len(vocabulary.words),
            keep=keep_thresholds(counts, sample),
            noise=Noise.of(counts) if architecture.output == "negative" else None,
            paths=huffman(counts) if architecture.output == "hs" else None,
        )

    @property
    def n_targets(self) -> int:
        """How many words and n-grams can be predicted."""
        return len(self.keep)


@dataclass(frozen=True)
class Pass:
    """One pass over some documents: in which order, and the learning rate at each."""

    seed: int
    epoch: int
    order: NDArray[np.int64]
    rates: NDArray[np.float32]


@dataclass(frozen=True)
class Tally:
    """The sum of the objective (log-likelihood) over the targets of a pass, and their number."""

    objective: float
    targets: int


@dataclass(frozen=True)
class Inference:
    """How new documents are inferred: `l2` is that of an empty document, and grows with its targets (`l2_of`)."""

    seed: int
    tol: float
    max_iter: int
    l2: float

    def l2_of(self, n_targets: int) -> float:
        """The words of a text repeat each other, the more the longer it is, so the weight of |d|^2 grows with them."""
        return self.l2 * (1 + n_targets / FULL_EVIDENCE)


class Engine(Protocol):
    """Who does the arithmetic."""

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """Visits the documents of `work` once each and updates the model in place."""
        ...

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """A vector for every document of the corpus, with W, U and b frozen; zero where no word is known."""
        ...
