"""A whole fit: every model of the settings is trained, and its documents are inferred again."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import inference, memory
from paravec.architecture import Architecture
from paravec.arguments import DocumentId
from paravec.checkpoint import Checkpoint, Checkpoints, Start, check_checkpoint_target
from paravec.corpus import EncodedCorpus
from paravec.corpus.encode import checked, corpus_of, encode_known, encode_source, source_of
from paravec.documents import Documents, Segment
from paravec.engines import engine_for, on_gpu
from paravec.engines.base import Tables
from paravec.fitted import Fitted
from paravec.growth import bring_over, grown
from paravec.initial import GivenWords, initial_model
from paravec.progress import Bars, Sight
from paravec.settings import WIDE, Settings
from paravec.training import Callback, Epoch, Run, Training
from paravec.validation import HeldOut
from paravec.vocab import GivenVocabulary


@dataclass(frozen=True)
class Place:
    """Where checkpoints are written, and whether a fit goes on from the one that is there."""

    path: str | os.PathLike[str]
    resume: bool = False

    def found(self, settings: Settings) -> Checkpoint | None:
        """The checkpoint to go on from, if there is one; refuses one that would be lost."""
        if settings.checkpoint_every is None and not self.resume:
            raise ValueError("a place for checkpoints is given, but not when to write them; set checkpoint_every")
        check_checkpoint_target(self.path)
        found = Checkpoint.at(self.path)
        if found is None:
            return None
        if not self.resume:
            raise FileExistsError(
                f"there is a checkpoint at {self.path} ({found.where()}), which would be lost; go on with it "
                f"(resume), or remove it"
            )
        found.check_settings(settings, settled=False)
        return found


def place_of(path: str | os.PathLike[str] | None, resume: bool, settings: Settings) -> Place | None:
    """The place for checkpoints, if the arguments of a fit and its settings go together."""
    if path is not None:
        return Place(path, resume)
    if resume:
        raise ValueError("resume=True needs the place of a checkpoint; give checkpoint=path")
    if settings.checkpoint_every is not None:
        raise ValueError(
            f"checkpoint_every={settings.checkpoint_every!r} needs a place to write to; give fit(..., checkpoint=path)"
        )
    return None


@dataclass(frozen=True)
class Begun:
    """A fitted model that training goes on from, and where its targets are in the vocabulary now."""

    fitted: Fitted
    places: NDArray[np.int64]


def _check_engine(settings: Settings) -> None:
    """Refuses a GPU that is not there, and numbers of 16 bits that no model would have (but with ``auto``)."""
    if on_gpu(settings) or settings.engine == "auto" or settings.storage != "bfloat16":
        return
    if not any(each.half for each in settings.architectures()):
        raise ValueError(
            f"storage='bfloat16' is for engine='gpu', and for models that draw errors with combine='concat', or with "
            f"output='hs' and vector_size >= {WIDE}, not for engine={settings.engine!r} with model={settings.model!r}, "
            f"combine={settings.combine!r}, output={settings.output!r}, vector_size={settings.vector_size} and "
            f"draw_errors={settings.draw_errors}; leave it out"
        )


@dataclass(frozen=True)
class Job:
    """What is to be fitted: settings that are settled, and the corpus to learn from."""

    settings: Settings
    seed: int
    corpus: EncodedCorpus
    given: GivenWords | None = None
    begun: Begun | None = None

    @staticmethod
    def of(
        settings: Settings,
        seed: int,
        X: Any,
        ids: Sequence[DocumentId] | None = None,
        vocabulary: Any = None,
        given: GivenWords | None = None,
        verbose: bool = False,
    ) -> Job:
        """Encodes the documents if they are not, and settles what depends on them."""
        _check_engine(settings)
        corpus = corpus_of(X)
        if corpus is None:
            known = None if vocabulary is None else GivenVocabulary(vocabulary)
            source = source_of(X)
            with Bars(verbose) as bars:
                corpus = encode_source(source, settings.encoding, None, known, checked(ids, X), bars)
        else:
            for name, value in (("ids", ids), ("vocabulary", vocabulary)):
                if value is not None:
                    raise ValueError(f"{name} are given, but an encoded corpus has its own; leave {name} out")
            settings = settings.adopting(corpus.encoding)
        return Job(settings.with_epochs(len(corpus.documents.tokens)), seed, corpus, given)

    @cached_property
    def start(self) -> Start:
        """What a checkpoint remembers of this job."""
        words = None if self.given is None else self.given.crc32
        return Start(self.settings, self.seed, self.corpus.facts(), words)


def fit(
    job: Job,
    sight: Sight,
    callbacks: Iterable[Callback] = (),
    place: Place | None = None,
    found: Checkpoint | None = None,
) -> Fitted:
    """Trains one model, or the halves of ``dm+dbow`` one after the other, then infers all documents with each."""
    settings, start = job.settings, job.start
    vocabulary, documents = job.corpus.vocabulary, job.corpus.documents
    if found is not None:
        found.check(start)
        sight.say(f"going on from {found.folder}: {found.where()}")
    needed = memory.check(settings, vocabulary, documents)
    sight.say(f"training takes {memory.in_words(needed)} of memory")
    runs = [] if found is None else found.runs(start, vocabulary)
    checkpoints = None if place is None or settings.checkpoint_every is None else Checkpoints(place.path, start)
    for i, architecture in enumerate(settings.architectures()):
        if i + 1 < len(runs):
            continue  # trained before
        training = _training(job, architecture, runs[i] if i < len(runs) else None)
        runs[i:] = [training.run]
        sight.begin(training)
        training.train(_Watch(job, sight, tuple(callbacks), checkpoints, runs))
        sight.end(training)
        if settings.refit_documents:
            training.model.documents = None  # makes room
    fitted = Fitted(
        settings,
        job.seed,
        vocabulary,
        start.corpus,
        [run.model for run in runs],
        None,
        {run.model.architecture.model: run.state.losses for run in runs},
        {run.model.architecture.model: run.state.validation_losses for run in runs},
        {run.model.architecture.model: run.state.kept_epoch for run in runs},
        given_words=start.word_vectors,
    )
    inference.warn_of_unknown(documents, job.corpus.ids)
    _give_documents(fitted, job, sight)
    return fitted


def go_on(
    fitted: Fitted,
    settings: Settings,
    X: Any,
    ids: Sequence[DocumentId] | None,
    grow: bool,
    sight: Sight,
    callbacks: Iterable[Callback] = (),
) -> Fitted:
    """Trains a fitted model further, on other documents, which become its documents."""
    known = fitted.vocabulary
    if grow and settings.output == "hs":
        raise ValueError(
            "grow_vocabulary=True, but with output='hs' new words change the Huffman tree, whose nodes would no longer "
            "mean what was learned; fit anew, or leave it out"
        )
    if grow:
        growth = grown(known, _all_words(X, ids, settings), settings)
        corpus, places = growth.corpus, growth.places
    else:
        documents, own = encode_known(X, ids, known, settings)
        labels = range(len(documents)) if own is None else own
        corpus, places = EncodedCorpus(documents, known, labels, settings.encoding), np.arange(known.size)
    if not len(corpus.documents.tokens):
        remedy = (
            f", or one that occurs min_count={settings.min_count} times; give more"
            if grow
            else "; use grow_vocabulary=True"
        )
        raise ValueError(f"none of the {len(corpus)} documents has a word the model knows{remedy}")
    job = Job(settings, fitted.seed, corpus, begun=Begun(fitted, places))
    further = fit(job, sight, callbacks)
    for name, losses in further.losses.items():
        before, scores = fitted.losses[name], (fitted.validation_losses[name], further.validation_losses[name])
        further.kept_epochs[name] += len(before)
        further.validation_losses[name] = _in_step(*scores, len(before), len(losses)) if any(scores) else []
        losses[:0] = before
    further.continued, further.given_words = fitted.continued + 1, fitted.given_words
    return further


def _in_step(before: list[float], after: list[float], n_before: int, n_after: int) -> list[float]:
    """Scores of all epochs: NaN for those in which no documents were held out."""
    parts = ((before, n_before), (after, n_after))
    return [score for scores, count in parts for score in (*scores, *[math.nan] * (count - len(scores)))]


def _all_words(X: Any, ids: Sequence[DocumentId] | None, settings: Settings) -> EncodedCorpus:
    """Documents in the ids of all their words; an encoded corpus has its own."""
    corpus = corpus_of(X)
    if corpus is None:
        every = replace(settings.encoding, min_count=1, max_vocab=None, ngrams=1)
        return encode_source(source_of(X), every, None, None, checked(ids, X), None)
    if ids is not None:
        raise ValueError("ids are given, but an encoded corpus has its own; leave ids out")
    return corpus


def _training(job: Job, architecture: Architecture, run: Run | None) -> Training:
    settings, vocabulary, documents = job.settings, job.corpus.vocabulary, job.corpus.documents
    corpus = documents.words_only(vocabulary) if architecture.is_dm else documents
    tables = Tables.of(architecture, vocabulary, settings.sample)
    held_out = None
    if settings.validation_fraction is not None:
        words = corpus if architecture.is_dm else documents.words_only(vocabulary)
        held_out = HeldOut.of(words, settings, job.seed)
    if run is None:
        run = Run(
            initial_model(architecture, vocabulary, tables, len(corpus), job.seed, job.given, settings.freeze_words)
        )
        if job.begun is not None:
            old = next(model for model in job.begun.fitted.models if model.architecture.model == architecture.model)
            bring_over(old, run.model, job.begun.places, len(job.begun.fitted.vocabulary.words))
    engine = engine_for(settings, training=True)
    return Training(engine, run, corpus, tables, settings, job.seed, held_out)


def _give_documents(fitted: Fitted, job: Job, sight: Sight) -> None:
    """The vectors that training has left, or inferred ones."""
    ids = job.corpus.ids
    if job.settings.refit_documents:
        _refit(fitted, job, sight)
    parts = tuple(model.documents for model in fitted.models if model.documents is not None)
    for model in fitted.models:
        model.documents = None
    labels = ids if job.corpus.path is not None or isinstance(ids, range) else list(ids)
    fitted.documents = Documents((Segment(parts, labels),))


def _refit(fitted: Fitted, job: Job, sight: Sight) -> None:
    documents = job.corpus.documents
    sight.say(f"inferring {len(documents)} documents")
    for model, tables in zip(fitted.models, fitted.tables, strict=True):
        model.documents = inference.infer(
            engine_for(job.settings),
            model,
            fitted.vocabulary,
            tables,
            documents,
            job.settings,
            job.seed,
            lambda done: sight.inferred(done, len(documents)),
        )


@dataclass
class _Watch:
    """Looks at a training: shows it, tells callbacks, and writes checkpoints."""

    job: Job
    sight: Sight
    callbacks: tuple[Callback, ...]
    checkpoints: Checkpoints | None
    runs: list[Run] = field(default_factory=list)

    def slice(self, training: Training, words: int) -> None:
        """See :class:`paravec.training.Watch`."""
        self.sight.slice(training, words)
        self._keep(training, last=False)

    def epoch(self, training: Training, words_per_second: float) -> None:
        """See :class:`paravec.training.Watch`."""
        state, model = training.state, training.model
        told = Epoch(
            model.architecture.model,
            state.epoch,
            training.epochs,
            state.losses[-1],
            state.validation_losses[-1] if state.validation_losses else None,
            words_per_second,
            state.seconds,
            self._transform(training),
        )
        self.sight.epoch(training, told)
        for callback in self.callbacks:
            answer = callback(told)
            if isinstance(answer, (bool, np.bool_)) and answer:
                state.stopped = True
        self._keep(training, last=state.stopped or state.epoch == training.epochs)

    def _keep(self, training: Training, last: bool) -> None:
        if self.checkpoints is not None and self.checkpoints.due(training.state, last):
            training.settle()
            self.checkpoints.write(self.runs)

    def _transform(self, training: Training) -> Callable[[Any], Any]:
        job, model = self.job, training.model

        def transform(X: Any) -> Any:
            training.settle()
            return Fitted(job.settings, job.seed, job.corpus.vocabulary, job.start.corpus, [model], None).transform(X)

        return transform
