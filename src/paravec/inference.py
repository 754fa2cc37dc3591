"""New documents, with W, U and b frozen: a pure function of the model and the text."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from paravec.corpus import Corpus
from paravec.engines.base import Engine, Inference, Tables
from paravec.errors import UnknownWordsWarning
from paravec.model import Model
from paravec.settings import Settings
from paravec.vocab import Vocabulary


def infer(
    engine: Engine,
    model: Model,
    vocabulary: Vocabulary,
    tables: Tables,
    corpus: Corpus,
    settings: Settings,
    seed: int,
) -> NDArray[np.float32]:
    """A row for every document of the corpus."""
    l2 = settings.infer_l2 * model.architecture.share**2
    how = Inference(seed, settings.infer_tol, settings.infer_max_iter, l2)
    words = corpus.words_only(vocabulary) if model.architecture.is_dm else corpus
    return engine.infer(model, words, tables, how)


def warn_of_unknown(corpus: Corpus) -> None:
    """One warning for all documents without a known word."""
    empty = np.flatnonzero(corpus.lengths == 0)
    if len(empty):
        warnings.warn(
            f"{len(empty)} of {len(corpus)} documents have no word the model knows, and get the zero vector "
            f"(the first is document {empty[0]})",
            UnknownWordsWarning,
            stacklevel=3,
        )
