"""ParagraphVector: the scikit-learn face of the library."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from paravec.arguments import DocumentId, checked_callbacks, seed_of
from paravec.corpus import Corpus
from paravec.fitted import Fitted
from paravec.fitting import Job, fit, go_on, place_of
from paravec.initial import GivenWords
from paravec.progress import Sight
from paravec.questions import Questions
from paravec.settings import Settings
from paravec.sources import Source
from paravec.text import Tokenizer
from paravec.training import Callback

_OF_TRAINING = (  # settings that may be others when a fit is continued
    "storage", "deterministic", "learning_rate", "min_learning_rate", "refit_documents", "validation_fraction",
    "patience", "stop_tol",
)  # fmt: skip


_OF_NOW = (  # of inference and the machine
    "engine", "n_jobs", "infer_tol", "infer_max_iter", "infer_l2", "infer_noise", "infer_context",
)  # fmt: skip
_OF_CORPUS = ("tokenizer", "lowercase", "strip_tags")


class ParagraphVector(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Questions, BaseEstimator):  # type: ignore[misc]
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
    batch_size : int, optional
        How many documents are trained side by side: their steps take turns, and with ``output="negative"`` each round
        of them has common noise words, which makes training much quicker. 16 if left out; for "dm" 2 with "hs", where
        more would be slower, and for its mean and sum 4 with "negative", where more would cost accuracy. 1 draws noise
        words for every target. With ``output="softmax"``, the targets of one step.
    train_words : bool
        Train skip-gram word vectors beside "dbow".
    word_vectors : mapping or (words, matrix), optional
        Word vectors to start from; :func:`paravec.read_word_vectors` reads them from a file.
    freeze_words : bool
        Keep the given `word_vectors` as they are; words without one are trained.
    draw_errors : bool, optional
        Whether "dm" rounds small errors at random before it learns from them: one of 0.1 counts as one of 0.5, one time
        in five (as one of 1, one time in ten, where a step bears it), and else not at all: in the mean the same.
        If left out, it does with ``combine="concat"``, and with ``output="hs"`` and vectors of 256 numbers or more,
        which gain by it. A GPU, which would not, never does.
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
        Bit-identical results at any `n_jobs`.
    engine : {"cpu", "gpu", "auto", "reference"}
        The C++ core; PyTorch and Triton on a GPU (``pip install 'paravec[gpu]'``); the GPU if there is one, else the
        core, and a warning says why; or the slow definition in NumPy.
    storage : {"float32", "bfloat16"}, optional
        How output weights lie in memory while they are trained, and on a GPU word vectors too. bfloat16 takes half the
        room, so that they come and go in half the time; sums are rounded up or down by chance. Models are float32
        afterwards. On the processor it is for, and the default of, models that draw errors if that is left to them.
    n_jobs : int, optional
        Threads; -1 for all cores.
    random_state : int, RandomState or None
        Seed of all draws.
    verbose : int
        1 shows progress on standard error: bars on a terminal, a line an epoch elsewhere.
    infer_tol, infer_max_iter, infer_l2
        Inference maximises the objective minus ``infer_l2 (1 + n / 50) |s d|^2 / 2`` for a document of n targets, until
        the gradient has fallen to `infer_tol` of what it is at zero, in at most `infer_max_iter` steps. s is the
        document's share in h: 1, but for "mean" with c context words 1 / (c + 1).
    infer_noise : {"common", "own"}
        With "negative", whether all documents are inferred against the same noise words (those of a position are the
        same in every document), or each against its own, by a hash of its words. What is common to all vectors tells
        nothing and does no harm; what each has of its own is noise.
    infer_context : bool, optional
        "dm": whether the words around a target help to predict it in inference, too, as in the paper. If not, the
        vector has to tell all words by itself, and is far better. None is False, but for ``logit="cosine"``.
    refit_documents : bool
        After training, infer the training documents too, so that `document_vectors_` and `transform` are one map.
    validation_fraction : float, optional
        Hold so many of the documents out of training, and score them after every epoch: their vectors are inferred
        from the words at even positions, and the loss of those at odd positions is told. Their vocabulary is known,
        and in the end they get vectors like all others.
    patience : int, optional
        Stop after so many epochs in which that score was no better, and keep the words and output weights of the best.
    stop_tol : float
        A score is better if it is lower by this part of it.
    checkpoint_every : int or str, optional
        Epochs, or time ("10min", "2h"), after which `fit` writes a checkpoint to the place it is given.

    Attributes
    ----------
    document_vectors_, document_ids_, n_documents_
        The training documents, with those that were added and without those that were removed.
    vocabulary_ : mapping
        The row of each word in `word_vectors_`.
    word_vectors_
        The word vectors; "dbow" has them only with `train_words`.
    loss_history_ : dict
        For "dm" and "dbow", the loss of every epoch: minus the mean log-likelihood of a target.
    validation_history_ : dict
        The same of the documents that were held out; empty lists if none were.
    kept_epoch_ : dict
        The epoch, from 1, whose weights are kept: the best one with `patience`, else the last.

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
        batch_size: int | None = None,
        train_words: bool = False,
        word_vectors: Any = None,
        freeze_words: bool = False,
        draw_errors: bool | None = None,
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
        storage: str | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
        infer_tol: float = 0.001,
        infer_max_iter: int = 100,
        infer_l2: float = 5.0,
        infer_noise: str = "common",
        infer_context: bool | None = None,
        refit_documents: bool = True,
        validation_fraction: float | None = None,
        patience: int | None = None,
        stop_tol: float = 0.0001,
        checkpoint_every: int | str | None = None,
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
        self.draw_errors = draw_errors
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
        self.storage = storage
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.infer_tol = infer_tol
        self.infer_max_iter = infer_max_iter
        self.infer_l2 = infer_l2
        self.infer_noise = infer_noise
        self.infer_context = infer_context
        self.refit_documents = refit_documents
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.stop_tol = stop_tol
        self.checkpoint_every = checkpoint_every

    def fit(
        self,
        X: Any,
        y: Any = None,
        ids: Sequence[DocumentId] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        callbacks: Iterable[Callback] = (),
    ) -> ParagraphVector:
        """Learns from documents: strings, or lists of tokens (strings or integers). `ids` are their labels.

        X may also be what :func:`paravec.read` gives, a ``pathlib.Path`` to be read, or an encoded corpus
        (:func:`paravec.encode`) or its path; these have ids of their own.

        `checkpoint` is a folder for the checkpoints that `checkpoint_every` asks for. It stays when the fit is done.
        With `resume` a fit that was stopped goes on from there, and one of which nothing is there begins. Each of
        `callbacks` is called after every epoch with an :class:`paravec.Epoch`; one that returns True stops training.
        """
        self._fit(X, ids, checkpoint, resume, callbacks)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        ids: Sequence[DocumentId] | None = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        callbacks: Iterable[Callback] = (),
    ) -> NDArray[np.float32]:
        """Learns from documents and returns their vectors: the same as ``fit(X).transform(X)``."""
        corpus = self._fit(X, ids, checkpoint, resume, callbacks)
        if self.settings_.refit_documents:
            return self.document_vectors_.copy()
        return self._fitted.infer(corpus, self._now())

    def transform(self, X: Any) -> NDArray[np.float32]:
        """A vector for each document: a pure function of the fitted model and the document's tokens."""
        check_is_fitted(self)
        return self._fitted.transform(X, self._now())

    def transform_blocks(self, source: Source) -> Iterator[tuple[list[DocumentId] | None, NDArray[np.float32]]]:
        """The ids (None if they are just numbered) and vectors of a source's documents, block by block."""
        check_is_fitted(self)
        return self._fitted.transform_blocks(source, self._now())

    def add_documents(self, X: Any, ids: Sequence[DocumentId] | None = None) -> ParagraphVector:
        """Infers further documents and puts them behind those that are there, which stay as they are to the bit.

        The model learns nothing from them: their vectors are what `transform` gives. Without `ids`, if those of the
        model are numbers, the numbers go on. :func:`paravec.add_documents` does this to a saved model in place.

        >>> model = ParagraphVector(vector_size=4, min_count=1).fit(["a b", "b c"])
        >>> model.add_documents(["c a"]).document_ids_
        [0, 1, 2]
        """
        check_is_fitted(self)
        segment = self._fitted.inferred(X, ids, self._now())
        self._fitted.documents = self._fitted.known_documents().adding(segment)
        return self

    def continue_fit(
        self,
        X: Any,
        ids: Sequence[DocumentId] | None = None,
        *,
        grow_vocabulary: bool = False,
        callbacks: Iterable[Callback] = (),
    ) -> ParagraphVector:
        """Learns further, from other documents than those of the fit: they become the documents of the model.

        Word vectors and output weights go on from where they are. Vectors of the former documents belong to the former
        weights and are let go: give these documents in X too, or add them again (:meth:`add_documents`) afterwards.
        With `grow_vocabulary` the model learns the words and n-grams of X that are frequent enough, too. Epochs (as
        many as in the fit, if left out), learning rates and validation are taken from the parameters as they are now,
        and others must be what they were; there are no checkpoints. ``docs/life.md`` tells more.
        """
        check_is_fitted(self)
        self._refuse_other_settings()
        now = {name: getattr(self, name) for name in _OF_TRAINING}
        settings = replace(self._now(), epochs=self.epochs or self.settings_.epochs, checkpoint_every=None, **now)
        callbacks = checked_callbacks(callbacks)
        with Sight(bool(self.verbose)) as sight:
            fitted = go_on(self._fitted, settings, X, ids, grow_vocabulary, sight, callbacks)
        self._adopt(fitted)
        return self

    def remove_documents(self, ids: Iterable[DocumentId]) -> ParagraphVector:
        """Forgets the documents with some ids. What the model has learned from them stays."""
        check_is_fitted(self)
        self._fitted.documents = self._fitted.known_documents().removing(ids)
        return self

    def save(self, path: str | os.PathLike[str], *, documents: bool = True) -> None:
        """Writes the fitted model to a folder; without its `documents`, it can only infer new ones, and is smaller."""
        from paravec import store

        check_is_fitted(self)
        store.save(self._fitted, path, documents)

    def export(self, path: str | os.PathLike[str], what: str = "documents", *, format: str = "auto") -> None:
        """Writes the vectors of "documents" or "words" to a new file for other programs, block by block.

        `format` is "word2vec" (text), "word2vec-binary", "npy" (vectors alone), "npz", "parquet", or "auto", which goes
        by the ending: .txt or .vec, .bin, .npy, .npz, .parquet.
        """
        from paravec.interchange.export import export

        check_is_fitted(self)
        export(self._fitted, path, what, format)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> ParagraphVector:
        """Opens a folder written by :meth:`save`; the documents are mapped, not read.

        A tokenizer of one's own is not saved: give it again.
        """
        from paravec import store

        fitted = store.load(path, tokenizer)
        settings = {**fitted.settings.as_dict(), "tokenizer": fitted.settings.tokenizer}
        estimator = cls(**settings, random_state=fitted.seed)
        estimator._adopt(fitted)
        return estimator

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_fitted")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.non_deterministic = self.n_jobs not in (None, 1) and not self.deterministic
        return tags

    def _now(self) -> Settings:
        """The settings of the fit, with those of inference and of the machine as they are now."""
        now = {name: getattr(self, name) for name in _OF_NOW}
        if callable(
            self.tokenizer
        ):  # which a model's folder and a corpus cannot keep, and which decides the rest itself
            now |= {"tokenizer": self.tokenizer, "lowercase": None, "strip_tags": False}
        return replace(self.settings_, **now)

    def _fit(
        self,
        X: Any,
        ids: Sequence[DocumentId] | None,
        checkpoint: str | os.PathLike[str] | None,
        resume: bool,
        callbacks: Iterable[Callback],
    ) -> Corpus:
        settings = Settings(**{field.name: getattr(self, field.name) for field in fields(Settings)})
        callbacks = checked_callbacks(callbacks)
        given = GivenWords.for_settings(self.word_vectors, settings)
        place = place_of(checkpoint, resume, settings)
        found = None if place is None else place.found(settings)
        seed = found.seed if found is not None and self.random_state is None else seed_of(self.random_state)
        job = Job.of(settings, seed, X, ids, self.vocabulary, given, bool(self.verbose))
        if hasattr(self, "_fitted"):
            self._fitted.release()
        with Sight(bool(self.verbose)) as sight:
            fitted = fit(job, sight, callbacks, place, found)
        self._adopt(fitted)
        return job.corpus.documents

    def _refuse_other_settings(self) -> None:
        """A parameter that was set after the fit, and that a fit which goes on cannot heed."""
        free = {*_OF_TRAINING, *_OF_NOW, *_OF_CORPUS, "epochs", "checkpoint_every"}
        for name, value in self._given.items():
            if name not in free and getattr(self, name) != value:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} was set after the fit, and continue_fit takes the model as it is; "
                    f"set it back to {value!r}, or fit anew"
                )

    def _adopt(self, fitted: Fitted) -> None:
        """Takes over a whole fit at once, so that nothing is ever half-fitted."""
        self.settings_, self.seed_ = fitted.settings, fitted.seed
        self.loss_history_, self.validation_history_ = fitted.losses, fitted.validation_losses
        self.kept_epoch_ = fitted.kept_epochs
        self._n_features_out = fitted.n_features
        self._given = {field.name: getattr(self, field.name) for field in fields(Settings)}
        self._fitted = fitted
