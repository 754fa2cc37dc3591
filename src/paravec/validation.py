"""Documents that training does not see, scored by how well one half of their words tells the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.corpus import Corpus
from paravec.engines.base import Engine, Part, Tables
from paravec.inference import how_to_infer
from paravec.model import Model
from paravec.settings import Settings


@dataclass(frozen=True)
class HeldOut:
    """The documents at some `rows` of a corpus, without their n-grams: an n-gram would tell the words beside it."""

    rows: NDArray[np.int64]
    documents: Corpus
    total: int  # documents of the whole corpus

    @staticmethod
    def of(words: Corpus, settings: Settings, seed: int) -> HeldOut:
        """A fraction of the documents that can be divided, drawn at random, and the same for both halves of dm+dbow."""
        assert settings.validation_fraction is not None
        least = max(architecture.shortest_divided for architecture in settings.architectures())
        order = draws.validation_order(seed, len(words))
        order = order[words.lengths[order] >= least]
        count = max(1, round(settings.validation_fraction * len(order)))
        if count >= len(order):
            raise ValueError(
                f"validation_fraction={settings.validation_fraction} leaves nothing to train on: {len(order)} of "
                f"{len(words)} documents have {least} words or more, as it takes; give more documents, or leave it out"
            )
        rows = np.sort(order[:count])
        return HeldOut(rows, words.taking(rows), len(words))

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Which documents of the corpus are held out."""
        mask = np.zeros(self.total, dtype=np.bool_)
        mask[self.rows] = True
        return mask

    def loss(self, engine: Engine, model: Model, tables: Tables, settings: Settings, seed: int) -> float:
        """Document completion: vectors from the even positions, minus the mean log-likelihood of the odd ones."""
        vectors = engine.infer(model, self.documents, tables, how_to_infer(model, settings, seed, Part.EVEN))
        tally = engine.score(model, self.documents, tables, how_to_infer(model, settings, seed, Part.ODD), vectors)
        return -tally.objective / tally.targets
