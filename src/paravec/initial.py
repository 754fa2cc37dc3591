"""The parameters that training starts from."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.architecture import Architecture
from paravec.draws import Purpose
from paravec.engines.base import Tables
from paravec.engines.cpu import fill_uniform
from paravec.engines.room import zeros
from paravec.model import Model
from paravec.settings import Settings
from paravec.text import Token
from paravec.vocab import Vocabulary


@dataclass(frozen=True)
class GivenWords:
    """Word vectors to start from."""

    index: dict[Token, int]
    vectors: NDArray[np.float32]

    @staticmethod
    def check_settings(given: bool, settings: Settings) -> None:
        """Refuses word vectors where there is no place for them, and settings that need some."""
        if settings.freeze_words and not given:
            raise ValueError("freeze_words=True, but no word_vectors are given to freeze; give them, or leave it out")
        if given and not settings.uses_words:
            raise ValueError("word_vectors are given, but model='dbow' has no word vectors; use train_words=True")

    @staticmethod
    def for_settings(given: Any, settings: Settings) -> GivenWords | None:
        """The vectors that a user gives, or None, if they go with the settings."""
        GivenWords.check_settings(given is not None, settings)
        if given is None:
            return None
        words = GivenWords.of(given)
        for architecture in settings.architectures():
            words.check(architecture)
        return words

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
        index = {word: i for i, word in enumerate(words)}
        if len(index) < len(words):
            twice = next(word for i, word in enumerate(words) if index[word] != i)
            raise ValueError(f"word_vectors has the word {twice!r} twice; remove one of them")
        return GivenWords(index, vectors)

    @property
    def crc32(self) -> str:
        """What these vectors can be told from others by."""
        words = "\0".join(map(repr, self.index)).encode()
        return f"{zlib.crc32(np.ascontiguousarray(self.vectors).data, zlib.crc32(words)):08x}"

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
    n_outputs = architecture.n_outputs(tables.n_targets)
    model = Model(
        architecture,
        documents=fill_uniform(
            seed,
            Purpose.DOCUMENT_VECTORS,
            is_dm,
            np.empty((n_documents, architecture.vector_size), dtype=np.float32),
        ),
        words=None,
        outputs=zeros(n_outputs, width, spare=int(architecture.has_bias)),
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
