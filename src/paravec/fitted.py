"""A fitted model: what is saved and loaded, and what questions are asked of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import inference, search
from paravec.arguments import DocumentId, check_k
from paravec.corpus import Corpus, CorpusFacts
from paravec.corpus.encode import corpus_of, source_of
from paravec.corpus.encoder import encode, encode_blocks, in_ids_of
from paravec.engines import engine_for
from paravec.engines.base import Engine, Tables
from paravec.errors import ModelFormatError, TensorError
from paravec.model import Model
from paravec.settings import Settings
from paravec.sources import Source
from paravec.text import Token
from paravec.vocab import Vocabulary

Losses = dict[str, list[float]]  # of every epoch, by the model's name


@dataclass
class Fitted:
    """The models of a fit with all they need. `ids` is None, and documents are, if they were not saved."""

    settings: Settings
    seed: int
    vocabulary: Vocabulary
    corpus: CorpusFacts
    models: list[Model]
    ids: Sequence[DocumentId] | None
    losses: Losses = field(default_factory=dict)
    validation_losses: Losses = field(default_factory=dict)
    kept_epochs: dict[str, int] = field(default_factory=dict)  # from 1, by the model's name
    _engine: tuple[Settings, Engine] | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine, which may hold a part of a device."""
        return self.__dict__ | {"_engine": None}

    def release(self) -> None:
        """Gives back what an engine keeps for the next call."""
        self._engine = None

    @property
    def n_features(self) -> int:
        """The length of a document vector."""
        return self.settings.vector_size * len(self.models)

    @cached_property
    def tables(self) -> list[Tables]:
        """The tables of each model, made when they are first needed."""
        return [Tables.of(model.architecture, self.vocabulary, self.settings.sample) for model in self.models]

    def infer(self, corpus: Corpus, now: Settings | None = None) -> NDArray[np.float32]:
        """A vector for each document of a corpus in this model's ids."""
        settings = now or self.settings
        kept = self._engine
        if kept is None or kept[0] != settings:
            self._engine = kept = settings, engine_for(settings)
        engine = kept[1]  # which has the parameters in the next call, if it is a GPU
        return np.hstack(
            [
                inference.infer(engine, model, self.vocabulary, table, corpus, settings, self.seed)
                for model, table in zip(self.models, self.tables, strict=True)
            ]
        )

    def transform(self, X: Any, now: Settings | None = None) -> NDArray[np.float32]:
        """A vector for each document; one warning for all that have no known word."""
        settings, encoded = now or self.settings, corpus_of(X)
        if encoded is None:
            corpus = encode(source_of(X), self.vocabulary, settings)
        else:
            corpus = in_ids_of(encoded, self.vocabulary, settings)
        inference.warn_of_unknown(corpus)
        return self.infer(corpus, settings)

    def transform_blocks(
        self, source: Source, now: Settings | None = None
    ) -> Iterator[tuple[list[DocumentId] | None, NDArray[np.float32]]]:
        """The ids (None if they are just numbered) and vectors of a source's documents, block by block."""
        settings = now or self.settings
        for chunk, ids in encode_blocks(source, self.vocabulary, settings):
            yield ids, self.infer(Corpus(*chunk), settings)

    def similar(
        self, query: Any = None, k: int = 10, id: DocumentId | None = None, now: Settings | None = None
    ) -> list[tuple[DocumentId, float]]:
        """The `k` documents nearest to a text, a list of tokens, a vector, or the document with an `id`."""
        if (query is None) == (id is None):
            raise ValueError("similar needs a query or an id, and not both")
        check_k(k)
        parts = self.document_parts()
        leave_out: list[int] = []
        if id is not None:
            row = self.row(id)
            vector, leave_out = np.concatenate([part[row] for part in parts]), [row]
            if not vector.any():
                raise ValueError(f"the document with the id {id!r} has no word the model knows: nothing is near")
        else:
            vector = self._vector(query, now or self.settings)
        found = search.nearest(parts, np.split(vector, len(parts)), k, leave_out)
        return [(self._id(i), score) for i, score in found]

    def _vector(self, query: Any, settings: Settings) -> NDArray[np.floating]:
        if isinstance(query, np.ndarray) and query.dtype.kind == "f":
            if not np.isfinite(query).all():
                raise ValueError("the query vector holds NaN or infinity")
            if query.shape != (self.n_features,):
                raise ValueError(f"the query has shape {query.shape}; this model's vectors have ({self.n_features},)")
            return query
        if isinstance(query, int):
            raise TypeError(f"the query {query} is no text; for the document with this id give id={query}")
        corpus = encode([query], self.vocabulary, settings)
        if not len(corpus.tokens):
            raise ValueError("the query has no word the model knows, so nothing is similar to it")
        found: NDArray[np.floating] = self.infer(corpus, settings)[0]
        return found

    def analogy(self, positive: Sequence[Token], negative: Sequence[Token], k: int = 10) -> list[tuple[Token, float]]:
        """The `k` words nearest to the sum of `positive` minus the sum of `negative` word vectors (of length 1)."""
        check_k(k)
        for words in (positive, negative):
            if isinstance(words, str):
                raise TypeError(f"{words!r} would be taken letter by letter; give a list of words: [{words!r}]")
        vectors = self.word_vectors()
        rows = [self._word_row(word) for word in (*positive, *negative)]
        if not rows:
            raise ValueError("no word was given")
        signs = np.array([1.0] * len(positive) + [-1.0] * len(negative), dtype=np.float32)
        query = signs @ search.unit(vectors[rows])
        return [(self.vocabulary.words[i], score) for i, score in search.nearest([vectors], [query], k, rows)]

    def document_ids(self) -> Sequence[DocumentId]:
        """The ids of the training documents."""
        if self.ids is None:
            raise ValueError("this model was saved without its documents, so it has none of their ids and vectors")
        return self.ids

    @cached_property
    def listed_ids(self) -> Sequence[DocumentId]:
        """The ids as users know them: a list, or what is equal to one."""
        ids = self.document_ids()
        return list(ids) if isinstance(ids, range) else ids

    def document_parts(self) -> list[NDArray[np.float32]]:
        """The vectors of the training documents, of each half for ``dm+dbow``."""
        self.document_ids()
        return [model.documents for model in self.models if model.documents is not None]

    def word_vectors(self) -> NDArray[np.float32]:
        """The word vectors, read only."""
        for model in self.models:
            if model.words is not None:
                vectors: NDArray[np.float32] = model.words[:-1]  # the last row is NULL
                vectors.flags.writeable = False
                return vectors
        raise ValueError("model='dbow' has no word vectors; fit with train_words=True, or model='dm'")

    def row(self, id: DocumentId) -> int:
        """The row of the document with an id."""
        try:
            return self.document_ids().index(id)
        except TensorError as error:  # of a file, which is mapped and was not looked at before
            raise ModelFormatError(str(error)) from None
        except ValueError:
            raise KeyError(f"no document has the id {id!r}; there are {self.corpus.n_documents}") from None

    def _id(self, row: int) -> DocumentId:
        try:
            return self.document_ids()[row]
        except TensorError as error:
            raise ModelFormatError(f"document {row}: {error}") from None

    def _word_row(self, word: Token) -> int:
        try:
            return self.vocabulary.index[word]
        except KeyError:
            raise KeyError(
                f"the word {word!r} is not in the vocabulary of {len(self.vocabulary.words)} words"
            ) from None
