"""ParagraphVector: the scikit-learn face of the library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from paravec import inference, search, training
from paravec.arguments import DocumentId, check_k, seed_of
from paravec.corpus import Corpus, EncodedCorpus
from paravec.corpus.encode import checked, corpus_of, encode_source, source_of
from paravec.corpus.encoder import encode, encode_blocks, in_ids_of
from paravec.engines import engine_for
from paravec.fitting import Fitted, fit_models
from paravec.progress import Bars
from paravec.settings import Settings
from paravec.sources import Source
from paravec.text import Token, Tokenizer
from paravec.vocab import GivenVocabulary, Vocabulary


class ParagraphVector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Document vectors learned from a corpus: Paragraph Vector (Le & Mikolov 2014).

    Parameters
    ----------
    model : {"dbow", "dm", "dm+dbow"}
        Distributed bag of words, distributed memory, or both side by side (the paper's recommendation; the vectors are
        then twice `vector_size` long).
    vector_size : int
        Length of a document vector.
    word_size : int, optional
        Length of a word vector, with ``combine="concat"``; as `vector_size` if left out.
    window : int
        The predicted word and the words before it (and as many behind it with ``context="both"``): 10 means nine words
        of context.
    context : {"left", "both"}
        Where the context words of "dm", and of `train_words`, stand.
    combine : {"concat", "mean", "sum"}
        How "dm" puts document and context words together.
    pad : {"all", "short"}
        "all" predicts every word, with NULL for missing context; "short" only those with a full window, and one word
        of a document that has none.
    output : {"negative", "hs", "softmax"}
        Negative sampling, hierarchical softmax over a Huffman tree, or the exact softmax.
    negative : int
        Noise words for each target, with ``output="negative"``.
    logit : {"dot", "cosine"}
        What makes a word likely: the dot product, or `cosine_scale` times the cosine.
    cosine_scale : float
        What the cosine is multiplied by.
    batch_size : int
        Targets of one step with ``output="softmax"``.
    train_words : bool
        Train skip-gram word vectors beside "dbow".
    word_vectors : mapping or (words, matrix), optional
        Word vectors to start from.
    freeze_words : bool
        Keep the given `word_vectors` as they are; words without one are trained.
    min_count, max_vocab : int
        Words must occur so often; at most so many, the most frequent, are kept.
    ngrams, ngram_min_count : int
        "dbow" also predicts n-grams up to this length that occur so often (`min_count` if left out).
    sample : float
        Threshold of sub-sampling of frequent words; 0 for none. 1e-3 often helps; 1e-4 and less want many millions of
        words.
    tokenizer : {"words", "whitespace"} or callable
        Makes tokens of a string (see :func:`paravec.words`). Documents that are lists of tokens need none.
    lowercase, strip_tags : bool
        Whether text is lower-cased (if left out, "words" does and "whitespace" does not), and HTML tags left out.
    vocabulary : list of words, dict of words and counts, or an encoded corpus, optional
        The words to know, instead of those that occur `min_count` times.
    max_unique : int
        How many different words (and four times as many n-grams) are held while counting. If there are more, the
        rarest are forgotten on the way, and a warning says so.
    epochs : int, optional
        Passes over the corpus. If left out 10, and for a small corpus as many as visit 5 million tokens, 50 at most.
    learning_rate, min_learning_rate : float, optional
        At the first and at the last step, a straight line between them. None takes the default of the combination, and
        0.0001 at most.
    deterministic : bool
        Bit-identical results at any `n_jobs`. Training then uses one thread.
    engine : {"cpu", "reference"}
        The C++ core, or the slow definition in NumPy.
    n_jobs : int, optional
        Threads; -1 for all cores.
    random_state : int, RandomState or None
        Seed of all draws.
    verbose : int
        1 prints a line an epoch on standard error.
    infer_tol, infer_max_iter, infer_l2
        Inference maximises the objective minus ``infer_l2 (1 + n / 50) |s d|^2 / 2`` for a document of n targets, until
        the gradient has fallen to `infer_tol` of what it is at zero, in at most `infer_max_iter` steps. s is the
        document's share in h: 1, but for "mean" with c context words 1 / (c + 1).
    refit_documents : bool
        After training, infer the training documents too, so that `document_vectors_` and `transform` are one map.

    Attributes
    ----------
    document_vectors_, document_ids_, n_documents_
        The training documents.
    vocabulary_ : mapping
        The row of each word in `word_vectors_`.
    word_vectors_
        The word vectors; "dbow" has them only with `train_words`.
    loss_history_ : dict
        For "dm" and "dbow", the loss of every epoch: minus the mean log-likelihood of a target.

    Examples
    --------
    >>> from paravec import ParagraphVector
    >>> texts = ["the cat sat on the mat", "the dog sat on the rug", "stocks fell on monday", "stocks rose on friday"]
    >>> vectors = ParagraphVector(vector_size=8, min_count=1).fit_transform(texts)
    >>> vectors.shape
    (4, 8)

    """

    def __init__(
        self,
        model: str = "dbow",
        vector_size: int = 100,
        *,
        word_size: int | None = None,
        window: int = 10,
        context: str = "left",
        combine: str = "concat",
        pad: str = "all",
        output: str = "negative",
        negative: int = 5,
        logit: str = "dot",
        cosine_scale: float = 6.0,
        batch_size: int = 16,
        train_words: bool = False,
        word_vectors: Any = None,
        freeze_words: bool = False,
        min_count: int = 2,
        max_vocab: int | None = None,
        ngrams: int = 1,
        ngram_min_count: int | None = None,
        sample: float = 0.0,
        tokenizer: str | Tokenizer = "words",
        lowercase: bool | None = None,
        strip_tags: bool = False,
        vocabulary: Any = None,
        max_unique: int = 10_000_000,
        epochs: int | None = None,
        learning_rate: float | None = None,
        min_learning_rate: float | None = None,
        deterministic: bool = False,
        engine: str = "cpu",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        infer_tol: float = 0.001,
        infer_max_iter: int = 100,
        infer_l2: float = 5.0,
        refit_documents: bool = True,
    ) -> None:
        self.model = model
        self.vector_size = vector_size
        self.word_size = word_size
        self.window = window
        self.context = context
        self.combine = combine
        self.pad = pad
        self.output = output
        self.negative = negative
        self.logit = logit
        self.cosine_scale = cosine_scale
        self.batch_size = batch_size
        self.train_words = train_words
        self.word_vectors = word_vectors
        self.freeze_words = freeze_words
        self.min_count = min_count
        self.max_vocab = max_vocab
        self.ngrams = ngrams
        self.ngram_min_count = ngram_min_count
        self.sample = sample
        self.tokenizer = tokenizer
        self.lowercase = lowercase
        self.strip_tags = strip_tags
        self.vocabulary = vocabulary
        self.max_unique = max_unique
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.min_learning_rate = min_learning_rate
        self.deterministic = deterministic
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.infer_tol = infer_tol
        self.infer_max_iter = infer_max_iter
        self.infer_l2 = infer_l2
        self.refit_documents = refit_documents

    def fit(self, X: Any, y: Any = None, ids: Sequence[DocumentId] | None = None) -> ParagraphVector:
        """Learns from documents: strings, or lists of tokens (strings or integers). `ids` are their labels.

        X may also be what :func:`paravec.read` gives, a ``pathlib.Path`` to be read, or an encoded corpus
        (:func:`paravec.encode`) or its path; these have ids of their own.
        """
        self._fit(X, ids)
        return self

    def fit_transform(self, X: Any, y: Any = None, ids: Sequence[DocumentId] | None = None) -> NDArray[np.float32]:
        """Learns from documents and returns their vectors: the same as ``fit(X).transform(X)``."""
        corpus = self._fit(X, ids)
        if self.settings_.refit_documents:
            return self.document_vectors_.copy()
        return self._infer(corpus)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """A vector for each document: a pure function of the fitted model and the document's tokens."""
        check_is_fitted(self)
        encoded = corpus_of(X)
        if encoded is None:
            corpus = encode(source_of(X), self._vocabulary, self._current())
        else:
            corpus = in_ids_of(encoded, self._vocabulary, self._current())
        inference.warn_of_unknown(corpus)
        return self._infer(corpus)

    def transform_blocks(self, source: Source) -> Iterator[tuple[list[DocumentId] | None, NDArray[np.float32]]]:
        """The ids (None if they are just numbered) and vectors of a source's documents, block by block."""
        check_is_fitted(self)
        for chunk, ids in encode_blocks(source, self._vocabulary, self._current()):
            yield ids, self._infer(Corpus(*chunk))

    def similar(
        self, query: Any = None, k: int = 10, *, id: DocumentId | None = None
    ) -> list[tuple[DocumentId, float]]:
        """The `k` training documents nearest to a text, a list of tokens, a vector, or the document with an `id`."""
        check_is_fitted(self)
        if (query is None) == (id is None):
            raise ValueError("similar needs a query or an id, and not both")
        check_k(k)
        parts = [model.documents for model in self._models if model.documents is not None]
        if not parts:
            raise ValueError("this model was saved without its documents, so it has none to search")
        leave_out: list[int] = []
        if id is not None:
            row = self._row(id)
            vector, leave_out = np.concatenate([part[row] for part in parts]), [row]
        elif isinstance(query, np.ndarray) and query.dtype.kind == "f":
            vector = query
            if not np.isfinite(vector).all():
                raise ValueError("the query vector holds NaN or infinity")
            if vector.shape != (self._n_features_out,):
                raise ValueError(
                    f"the query has shape {vector.shape}; this model's vectors have ({self._n_features_out},)"
                )
        else:
            if isinstance(query, int):
                raise TypeError(f"the query {query} is no text; for the document with this id give id={query}")
            corpus = encode([query], self._vocabulary, self._current())
            if not len(corpus.tokens):
                raise ValueError("the query has no word the model knows, so nothing is similar to it")
            vector = self._infer(corpus)[0]
        found = search.nearest(parts, np.split(vector, len(parts)), k, leave_out)
        return [(self.document_ids_[i], score) for i, score in found]

    def similar_words(self, word: Token, k: int = 10) -> list[tuple[Token, float]]:
        """The `k` words nearest to a word."""
        return self.analogy([word], [], k)

    def analogy(self, positive: Sequence[Token], negative: Sequence[Token], k: int = 10) -> list[tuple[Token, float]]:
        """The `k` words nearest to the sum of `positive` minus the sum of `negative` word vectors (of length 1)."""
        check_is_fitted(self)
        check_k(k)
        for words in (positive, negative):
            if isinstance(words, str):
                raise TypeError(f"{words!r} would be taken letter by letter; give a list of words: [{words!r}]")
        vectors = self.word_vectors_
        rows = [self._word_row(word) for word in (*positive, *negative)]
        if not rows:
            raise ValueError("no word was given")
        signs = np.array([1.0] * len(positive) + [-1.0] * len(negative), dtype=np.float32)
        query = signs @ search.unit(vectors[rows])
        return [(self._vocabulary.words[i], score) for i, score in search.nearest([vectors], [query], k, rows)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the fitted model to a folder."""
        from paravec import store

        check_is_fitted(self)
        store.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> ParagraphVector:
        """Reads a folder written by :meth:`save`. A tokenizer of one's own is not saved: give it again."""
        from paravec import store

        return store.load(cls, path, tokenizer)

    @property
    def document_vectors_(self) -> NDArray[np.float32]:
        """The vectors of the training documents, a row each."""
        self._need_fit("document_vectors_")
        parts: list[Any] = [model.documents for model in self._models]
        if any(part is None for part in parts):
            raise AttributeError("this model was saved without its documents, so it has no document_vectors_")
        whole: NDArray[np.float32] = parts[0].view() if len(parts) == 1 else np.hstack(parts)
        whole.flags.writeable = False  # the model's own
        return whole

    @property
    def word_vectors_(self) -> NDArray[np.float32]:
        """The word vectors, a row for each entry of `vocabulary_`."""
        self._need_fit("word_vectors_")
        for model in self._models:
            if model.words is not None:
                vectors = model.words[:-1]  # the last row is NULL
                vectors.flags.writeable = False
                return vectors
        raise AttributeError("model='dbow' has no word vectors; fit with train_words=True, or model='dm'")

    @property
    def vocabulary_(self) -> Mapping[Token, int]:
        """The row of each word in `word_vectors_`; read only."""
        self._need_fit("vocabulary_")
        return MappingProxyType(self._vocabulary.index)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_models")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.non_deterministic = self.n_jobs not in (None, 1) and not self.deterministic
        return tags

    def _need_fit(self, name: str) -> None:
        if not hasattr(self, "_models"):
            raise AttributeError(f"{name} is there after fit; this {type(self).__name__} is not fitted")

    def _settings(self) -> Settings:
        return Settings(**{field.name: getattr(self, field.name) for field in fields(Settings)})

    def _current(self) -> Settings:
        """The settings of the fit, with those of inference and of the machine as they are now."""
        names = ["engine", "n_jobs", "infer_tol", "infer_max_iter", "infer_l2"]
        if callable(self.tokenizer):  # which a model's folder and a corpus cannot keep
            names.append("tokenizer")
        now = {field.name: getattr(self.settings_, field.name) for field in fields(Settings)}
        return Settings(**{**now, **{name: getattr(self, name) for name in names}})

    def _fit(self, X: Any, ids: Sequence[DocumentId] | None) -> Corpus:
        settings = self._settings()
        seed = seed_of(self.random_state)
        given = self._given_words(settings)
        settings, encoded = self._encoded(X, ids, settings)
        vocabulary, corpus = encoded.vocabulary, encoded.documents
        settings = settings.with_epochs(len(corpus.tokens))

        fitted = fit_models(settings, vocabulary, corpus, seed, given, bool(self.verbose))
        inference.warn_of_unknown(corpus)
        labels = encoded.ids if encoded.path is not None else list(encoded.ids)
        self._adopt(settings, seed, vocabulary, fitted, labels)
        return corpus

    def _encoded(self, X: Any, ids: Sequence[DocumentId] | None, settings: Settings) -> tuple[Settings, EncodedCorpus]:
        """The corpus to learn from, and the settings with what it decides."""
        corpus = corpus_of(X)
        if corpus is None:
            given = None if self.vocabulary is None else GivenVocabulary(self.vocabulary)
            source = source_of(X)
            with Bars(bool(self.verbose)) as bars:
                return settings, encode_source(source, settings.encoding, None, given, checked(ids, X), bars)
        for name, value in (("ids", ids), ("vocabulary", self.vocabulary)):
            if value is not None:
                raise ValueError(f"{name} are given, but an encoded corpus has its own; leave {name} out")
        return settings.adopting(corpus.encoding), corpus

    def _adopt(
        self,
        settings: Settings,
        seed: int,
        vocabulary: Vocabulary,
        fitted: Fitted,
        ids: Sequence[DocumentId],
    ) -> None:
        """Takes over a whole fit at once, so that nothing is ever half-fitted."""
        self.settings_, self.seed_ = settings, seed
        self.loss_history_ = fitted.losses
        self.document_ids_ = ids
        self.n_documents_ = len(ids)
        self._n_features_out = settings.vector_size * len(fitted.models)
        self._vocabulary = vocabulary
        self._tables = fitted.tables
        self._models = fitted.models

    def _infer(self, corpus: Corpus) -> NDArray[np.float32]:
        settings = self._current()
        engine = engine_for(settings)
        return np.hstack(
            [
                inference.infer(engine, model, self._vocabulary, table, corpus, settings, self.seed_)
                for model, table in zip(self._models, self._tables, strict=True)
            ]
        )

    def _given_words(self, settings: Settings) -> training.GivenWords | None:
        if self.word_vectors is None:
            if settings.freeze_words:
                raise ValueError(
                    "freeze_words=True, but no word_vectors are given to freeze; give them, or leave it out"
                )
            return None
        if not settings.uses_words:
            raise ValueError("word_vectors are given, but model='dbow' has no word vectors; use train_words=True")
        given = training.GivenWords.of(self.word_vectors)
        for architecture in settings.architectures():
            given.check(architecture)
        return given

    def _row(self, id: DocumentId) -> int:
        try:
            return self.document_ids_.index(id)
        except ValueError:
            raise KeyError(f"no document has the id {id!r}; there are {self.n_documents_}") from None

    def _word_row(self, word: Token) -> int:
        try:
            return self._vocabulary.index[word]
        except KeyError:
            raise KeyError(
                f"the word {word!r} is not in the vocabulary of {len(self._vocabulary.words)} words"
            ) from None
