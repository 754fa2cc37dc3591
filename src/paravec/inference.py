"""New documents, with W, U and b frozen: a pure function of the model and the text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId
from paravec.corpus import Corpus
from paravec.engines.base import Engine, Inference, Part, Tables
from paravec.errors import UnknownWordsWarning
from paravec.model import Model
from paravec.settings import Settings
from paravec.vocab import Vocabulary


def how_to_infer(model: Model, settings: Settings, seed: int, part: Part = Part.ALL) -> Inference:
    """What the settings say of inference, for one model."""
    l2 = settings.infer_l2 * model.architecture.share**2
    common = settings.infer_noise == "common"
    return Inference(seed, settings.infer_tol, settings.infer_max_iter, l2, part, common)


def infer(
    engine: Engine,
    model: Model,
    vocabulary: Vocabulary,
    tables: Tables,
    corpus: Corpus,
    settings: Settings,
    seed: int,
    tell: Callable[[int], None] | None = None,
) -> NDArray[np.float32]:
    """A row for every document of the corpus; `tell` hears now and then how many are done."""
    how, share = how_to_infer(model, settings, seed), 1.0
    if settings.infers_alone(model.architecture):
        how, share = replace(how, l2=settings.infer_l2, context=False), model.architecture.share
    vectors = _inferred(engine, model, vocabulary, tables, corpus, how, tell)
    if share != 1.0:
        vectors /= np.float32(share)
    return vectors


def _inferred(
    engine: Engine,
    model: Model,
    vocabulary: Vocabulary,
    tables: Tables,
    corpus: Corpus,
    how: Inference,
    tell: Callable[[int], None] | None,
) -> NDArray[np.float32]:
    words = corpus.words_only(vocabulary) if model.architecture.is_dm else corpus
    if len(words.tokens) <= engine.words_at_once:
        return engine.infer(model, words, tables, how)
    vectors = np.empty((len(words), model.architecture.vector_size), dtype=np.float32)
    first = 0
    while first < len(words):
        end = int(np.searchsorted(words.offsets, words.offsets[first] + engine.words_at_once, side="right")) - 1
        end = min(max(end, first + 1), len(words))
        vectors[first:end] = engine.infer(model, words.between(first, end), tables, how)
        first = end
        if tell is not None:
            tell(first)
    return vectors


def warn_of_unknown(corpus: Corpus, ids: Sequence[DocumentId] | None = None) -> None:
    """One warning for all documents without a known word."""
    empty = np.flatnonzero(corpus.lengths == 0)
    if len(empty):
        first = empty[0] if ids is None else repr(ids[int(empty[0])])
        warnings.warn(
            f"{len(empty)} of {len(corpus)} documents have no word the model knows, and get the zero vector "
            f"(the first is document {first})",
            UnknownWordsWarning,
            stacklevel=3,
        )
