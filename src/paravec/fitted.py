"""A fitted model: what is saved and loaded, and what questions are asked of."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import inference, search
from paravec.arguments import DocumentId, checked_k
from paravec.corpus import Corpus, CorpusFacts
from paravec.corpus.encode import corpus_of, encode_known, source_of
from paravec.corpus.encoder import encode, encode_blocks, in_ids_of
from paravec.documents import Documents, Segment
from paravec.engines import engine_for
from paravec.engines.base import Engine, Tables
from paravec.errors import WithoutDocumentsError
from paravec.index import Index
from paravec.model import Model
from paravec.settings import Settings, threads
from paravec.sources import Source
from paravec.text import Token
from paravec.vocab import Vocabulary

Losses = dict[str, list[float]]  # of every epoch, by the model's name


def known(documents: Documents | None) -> Documents:
    """Documents, if they were saved."""
    if documents is None:
        raise WithoutDocumentsError(
            "this model was saved without its documents, so it has none of their ids and vectors"
        )
    return documents


@dataclass
class Fitted:
    """The models of a fit with all they need. `documents` is None if they were not saved."""

    settings: Settings
    seed: int
    vocabulary: Vocabulary
    corpus: CorpusFacts
    models: list[Model]
    documents: Documents | None
    losses: Losses = field(default_factory=dict)
    validation_losses: Losses = field(default_factory=dict)
    kept_epochs: dict[str, int] = field(default_factory=dict)  # from 1, by the model's name
    origin: tuple[Path, str] | None = None  # the folder it was opened from, and the identity it has there
    continued: int = 0  # how often it was trained further
    given_words: str | None = None  # the checksum of word vectors that training started from
    _index: Index | None = field(default=None, init=False, repr=False, compare=False)
    _engine: tuple[Settings, Engine] | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the engine, which may hold a part of a device, and the index, which is no Python object."""
        return self.__dict__ | {"_engine": None, "_index": None}

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

    def inferred(self, X: Any, ids: Sequence[DocumentId] | None = None, now: Settings | None = None) -> Segment:
        """New documents to be added, with their vectors."""
        settings, documents = now or self.settings, self.known_documents()
        corpus, own = encode_known(X, ids, self.vocabulary, settings)
        labels = documents.numbers(len(corpus)) if own is None else own
        documents.refuse(labels)
        inference.warn_of_unknown(corpus, labels)
        vectors = self.infer(corpus, settings)
        return Segment(tuple(np.ascontiguousarray(part) for part in self._halves(vectors)), labels)

    def _halves(self, vectors: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        return np.split(vectors, len(self.models), axis=1)

    def similar(
        self,
        query: Any = None,
        k: int | None = None,
        id: DocumentId | None = None,
        among: Iterable[DocumentId] | None = None,
        approximate: bool = False,
        now: Settings | None = None,
    ) -> Any:
        """The `k` documents nearest to a text, a list of tokens, a vector, or the document with an `id`.

        For a matrix of vectors, a list for each.
        """
        if (query is None) == (id is None):
            raise ValueError("similar needs a query or an id, and not both")
        documents, query = self.known_documents(), self._as_vector(query)
        k = checked_k(k, len(documents), "documents")
        leave_out: list[int] = []
        if id is not None:
            leave_out = [documents.row(id)]
            queries = np.hstack(documents.halves(np.array(leave_out)))
            if not queries.any():
                raise ValueError(f"the document with the id {id!r} has no word the model knows: nothing is near")
        else:
            queries = self._vectors(query, now or self.settings)
            if not len(queries):
                return []
        rows, scores = self._nearest(queries, k, np.array(leave_out, dtype=np.int64), among, approximate)
        found = [
            [(documents.id(row), score) for row, score in zip(*each, strict=True)]
            for each in zip(rows.tolist(), scores.tolist(), strict=True)
        ]
        return found if isinstance(query, np.ndarray) and query.ndim == 2 else found[0]

    def _nearest(
        self,
        queries: NDArray[np.floating],
        k: int,
        leave_out: NDArray[np.int64],
        among: Iterable[DocumentId] | None,
        approximate: bool,
    ) -> search.Found:
        documents = self.known_documents()
        if among is not None:
            rows = np.setdiff1d(documents.rows_of(among, "among"), leave_out)
            places, scores = search.nearest(documents.among(rows), queries, k)
            return rows[places], scores
        if approximate:
            return self.index.nearest(documents, queries, k, leave_out)
        return search.nearest(documents.segments, queries, k, documents.without(leave_out))

    @property
    def index(self) -> Index:
        """The index that was built, or that lies beside the model."""
        if self._index is None:
            if self.origin is None:
                raise ValueError("there is no index to search approximately; call build_index() first")
            self._index = Index.open(*self.origin, self.known_documents())
        return self._index

    def build_index(self, recall: float = 0.95, now: Settings | None = None) -> Index:
        """An index of all documents that finds `recall` of the ten nearest."""
        documents = self.known_documents()
        self._index = Index.build(documents, recall, threads((now or self.settings).n_jobs))
        return self._index

    def save_index(self, folder: Path, identity: str) -> None:
        """Writes the index, one that was built or that lies beside the model, into the folder of a model saved anew."""
        has_one = self._index is not None or (self.origin is not None and Index.is_beside(self.origin[0]))
        if not has_one:
            return
        try:
            if len(self.known_documents().removed):
                raise ValueError("documents were removed, so rows are others now; build it again")
            self.index.save(folder, identity)
        except (ValueError, ImportError) as error:
            warnings.warn(f"the index is not saved with the model: {error}", stacklevel=4)

    def _vectors(self, query: Any, settings: Settings) -> NDArray[np.floating]:
        if isinstance(query, np.ndarray) and query.dtype.kind == "f":
            return self._checked_vectors(query)
        if isinstance(query, int):
            raise TypeError(f"the query {query} is no text; for the document with this id give id={query}")
        corpus = encode([query], self.vocabulary, settings)
        if not len(corpus.tokens):
            raise ValueError("the query has no word the model knows, so nothing is similar to it")
        return self.infer(corpus, settings)

    def _checked_vectors(self, query: NDArray[np.floating]) -> NDArray[np.floating]:
        if query.ndim not in (1, 2) or query.shape[-1] != self.n_features:
            raise ValueError(f"the query has shape {query.shape}; this model's vectors have ({self.n_features},)")
        if not np.isfinite(query).all():
            raise ValueError("the query vector holds NaN or infinity")
        queries = np.atleast_2d(query)
        known = queries.any(axis=1)
        if not known.all():
            which = "query vector" if query.ndim == 1 else f"query in row {int(np.argmin(known))}"
            raise ValueError(f"the {which} is zero, as of a text without known words: nothing is near")
        return queries

    def _as_vector(self, query: Any) -> Any:
        """A query that is a vector as an array of floats; a text or tokens as they are."""
        if isinstance(query, (list, tuple)) and len(query) and isinstance(query[0], (float, np.floating)):
            try:
                return np.array(query, dtype=np.float64)
            except (TypeError, ValueError):
                raise TypeError(
                    f"the query begins with the number {query[0]!r}, but not all of it are numbers"
                ) from None
        if isinstance(query, np.ndarray) and query.dtype.kind in "iu" and isinstance(self.vocabulary.words[0], str):
            return query.astype(np.float64)
        return query

    def analogy(
        self, positive: Sequence[Token], negative: Sequence[Token], k: int | None = None
    ) -> list[tuple[Token, float]]:
        """The `k` words nearest to the sum of `positive` minus the sum of `negative` word vectors (of length 1)."""
        k = checked_k(k, len(self.vocabulary.words), "words")
        for words in (positive, negative):
            if isinstance(words, str):
                raise TypeError(f"{words!r} would be taken letter by letter; give a list of words: [{words!r}]")
        vectors = self.word_vectors()
        rows = [self._word_row(word) for word in (*positive, *negative)]
        if not rows:
            raise ValueError("no word was given")
        signs = np.array([1.0] * len(positive) + [-1.0] * len(negative), dtype=np.float32)
        query = signs @ search.unit(vectors[rows])
        if not query.any():
            raise ValueError("the words given cancel each other out: nothing is near")
        found, scores = search.nearest([search.Rows((vectors,))], query[None], k, np.unique(rows))
        return [
            (self.vocabulary.words[i], score) for i, score in zip(found[0].tolist(), scores[0].tolist(), strict=True)
        ]

    def known_documents(self) -> Documents:
        """The documents, if they were saved."""
        return known(self.documents)

    @property
    def n_documents(self) -> int:
        """The number of documents; of a model that has none, of those it was trained on."""
        return self.corpus.n_documents if self.documents is None else len(self.documents)

    def document_vectors(self) -> NDArray[np.float32]:
        """The vectors of all documents, read only."""
        return self.known_documents().whole

    def word_vectors(self) -> NDArray[np.float32]:
        """The word vectors, read only."""
        for model in self.models:
            if model.words is not None:
                vectors: NDArray[np.float32] = model.words[:-1]  # the last row is NULL
                vectors.flags.writeable = False
                return vectors
        raise ValueError("model='dbow' has no word vectors; fit with train_words=True, or model='dm'")

    def _word_row(self, word: Token) -> int:
        try:
            return self.vocabulary.index[word]
        except KeyError:
            raise KeyError(
                f"the word {word!r} is not in the vocabulary of {len(self.vocabulary.words)} words"
            ) from None
