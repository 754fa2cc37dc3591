"""Epochs, the learning-rate schedule, the loss, and when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.engines.base import Engine, Pass, Tables
from paravec.errors import DivergedError, ModelFormatError
from paravec.model import Model, Weights
from paravec.settings import Settings
from paravec.validation import HeldOut

_WORK_OF_A_SLICE = 1 << 35  # products of numbers: a few seconds


@dataclass(frozen=True)
class Epoch:
    """What a callback is told after every epoch.

    `transform` infers documents (as :meth:`ParagraphVector.transform` does) with the parameters as they are now, those
    of this half alone for ``"dm+dbow"``.
    """

    model: str
    epoch: int  # from 1
    epochs: int
    loss: float
    validation_loss: float | None
    words_per_second: float
    seconds: float  # since the training of this model began
    transform: Callable[[Any], NDArray[np.float32]] = field(repr=False, compare=False)


class Callback(Protocol):
    """What `fit` calls after every epoch: any function of an :class:`Epoch`. If it returns True, training stops."""

    def __call__(self, epoch: Epoch, /) -> object:
        """Looks at an epoch."""
        ...


@dataclass
class State:
    """How far the training of a model has come: with its parameters, all that is needed to go on to the bit."""

    epoch: int = 0  # epochs that are complete
    slice: int = 0  # slices of the next one that are complete ...
    objective: float = 0.0  # ... their summed objective ...
    targets: int = 0  # ... and targets
    losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)
    best: int | None = None  # the epoch, from 0, with the best score
    stopped: bool = False
    seconds: float = 0.0

    @property
    def kept_epoch(self) -> int:
        """The epoch, from 1, whose weights are kept: the best one if that is looked at, else the last."""
        return self.epoch if self.best is None else self.best + 1


@dataclass
class Run:
    """A model and how far its training has come."""

    model: Model
    state: State = field(default_factory=State)
    best: Weights | None = None  # those of the best epoch, if training stops by the score


class Watch(Protocol):
    """Who looks at a training."""

    def slice(self, training: Training, words: int) -> None:
        """After every slice of an epoch; `words` of the epoch have been visited."""
        ...

    def epoch(self, training: Training, words_per_second: float) -> None:
        """After every epoch; it may stop the training: ``training.state.stopped = True``."""
        ...


class Training:
    """One model on its way through its epochs.

    An epoch is a pass over slices of the documents, always the same ones, so that a training can be looked at, saved
    and taken up again between two slices without any change to its steps.
    """

    def __init__(
        self,
        engine: Engine,
        run: Run,
        corpus: Corpus,
        tables: Tables,
        settings: Settings,
        seed: int,
        held_out: HeldOut | None = None,
    ) -> None:
        assert settings.epochs is not None
        self.run, self.model, self.state = run, run.model, run.state
        self.epochs = settings.epochs
        self.words_of_an_epoch = len(corpus.tokens) - (
            0 if held_out is None else int(corpus.lengths[held_out.rows].sum())
        )
        self._engine, self._corpus, self._tables = engine, corpus, tables
        self._settings, self._seed, self._held_out = settings, seed, held_out

    def train(self, watch: Watch | None = None) -> None:
        """Trains to the end, in place."""
        while self.state.epoch < self.epochs and not self.state.stopped:
            self._epoch(watch)
        self.settle()
        self._engine.release()
        if self.run.best is not None:
            self.model.restore(self.run.best)
            self.run.best = None
        if self.model.documents is not None:
            self.model.documents[self._corpus.lengths == 0] = 0  # what no word has moved means nothing

    def settle(self) -> None:
        """Brings the arrays of the model up to date, before anyone looks at them."""
        self._engine.settle(self.model)

    def _epoch(self, watch: Watch | None) -> None:
        state, architecture = self.state, self.model.architecture
        order = np.empty(len(self._corpus), dtype=np.int64)
        _core.fill_order(self._seed, state.epoch, architecture.is_dm, order)
        if self._held_out is not None:
            order = order[~self._held_out.mask[order]]
        lengths = self._corpus.lengths[order]
        schedule = rates(self._settings, architecture, state.epoch, lengths)
        ends = slice_ends(architecture, self._tables, lengths)
        if state.slice > len(ends):
            raise ModelFormatError(f"the checkpoint is in slice {state.slice} of an epoch that has {len(ends)}")
        words = np.cumsum(lengths)
        visited, taken = 0, 0.0
        together = self._engine.slices_at_once(architecture)
        while state.slice < len(ends):
            first = ends[state.slice - 1] if state.slice else 0
            last = min(state.slice + together, len(ends))
            end = ends[last - 1]
            before = time.perf_counter()
            work = Pass(self._seed, state.epoch, order[first:end], schedule[first:end])
            tally = self._engine.train(self.model, self._corpus, self._tables, work)
            visited += int(lengths[first:end].sum())
            state.objective += tally.objective
            state.targets += tally.targets
            state.slice = last
            taken += time.perf_counter() - before
            state.seconds += time.perf_counter() - before
            self._check(state.objective / max(1, state.targets))
            if watch is not None:
                watch.slice(self, int(words[end - 1]))
        self._end_epoch()
        if watch is not None:
            watch.epoch(self, visited / max(taken, 1e-9))

    def _end_epoch(self) -> None:
        state, settings = self.state, self._settings
        if not state.targets:
            raise ValueError(f"sample={settings.sample} left no word to predict in epoch {state.epoch + 1}; raise it")
        self._check(state.objective / state.targets, whole=True)
        state.losses.append(-state.objective / state.targets)
        if self._held_out is not None:
            before = time.perf_counter()
            loss = self._held_out.loss(self._engine, self.model, self._tables, settings, self._seed)
            state.seconds += time.perf_counter() - before
            state.validation_losses.append(loss)
            self._judge()
        state.epoch, state.slice, state.objective, state.targets = state.epoch + 1, 0, 0.0, 0

    def _judge(self) -> None:
        """Whether the last epoch is the best one so far, or training has waited for a better one long enough."""
        state, settings = self.state, self._settings
        if settings.patience is None:
            return
        loss = state.validation_losses[-1]
        if state.best is None or loss < state.validation_losses[state.best] * (1 - settings.stop_tol):
            self.settle()
            state.best, self.run.best = state.epoch, self.model.weights(self.run.best)
        elif state.epoch - state.best >= settings.patience:
            state.stopped = True

    def _check(self, objective: float, whole: bool = False) -> None:
        """Refuses to go on with numbers that have left their range."""
        hopeless = 10 * _loss_of_zero(self.model.architecture, self._tables)
        # `not <` holds for NaN too
        if not -objective < hopeless or (whole and not self._engine.is_finite(self.model)):
            architecture = self.model.architecture
            raise DivergedError(
                f"training of model={architecture.model!r} diverged: the loss is {-objective:.4g} in epoch "
                f"{self.state.epoch + 1} of {self.epochs}, at learning_rate={self._settings.rate(architecture)}; "
                f"lower it"
            )


def _loss_of_zero(architecture: Architecture, tables: Tables) -> float:
    """The most a model that knows nothing can lose a target: coins, or all words alike."""
    if architecture.output == "softmax":
        return math.log(tables.n_targets)
    if tables.paths is not None:
        return math.log(2) * int(np.diff(tables.paths.offsets).max())
    return math.log(2) * (1 + architecture.negative)


def rates(
    settings: Settings, architecture: Architecture, epoch: int, lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """The learning rate at each document, from the tokens before it in the epoch's order: a straight line down."""
    before = np.cumsum(lengths) - lengths
    assert settings.epochs is not None
    done = (epoch + before / max(1, int(lengths.sum()))) / settings.epochs
    first, last = settings.rate(architecture), settings.last_rate(architecture)
    return (first + (last - first) * done).astype(np.float32)


def slice_ends(architecture: Architecture, tables: Tables, lengths: NDArray[np.int64]) -> list[int]:
    """Where the slices of an epoch end: after about the same work each, whatever else is set.

    The exact softmax ends its last batch with a slice, so slices must not depend on the clock or on the machine.
    """
    if architecture.output == "softmax":
        rows = tables.n_targets
    else:
        rows = 1 + architecture.negative if architecture.output == "negative" else tables.n_targets.bit_length()
    steps = 1 + architecture.slots if architecture.train_words else 1
    words = max(1, _WORK_OF_A_SLICE // (rows * steps * architecture.width))
    total = int(lengths.sum())
    number = (np.cumsum(lengths) - lengths) * max(1, round(total / words)) // max(1, total)
    return [*(np.flatnonzero(np.diff(number)) + 1).tolist(), len(lengths)]
