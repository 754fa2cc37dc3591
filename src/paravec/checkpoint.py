"""A fit on its way, on disk: enough to go on to the bit.

``docs/format.md`` tells the format.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from paravec import manifest, parameters, tensors
from paravec.architecture import Architecture
from paravec.corpus import CorpusFacts
from paravec.engines.room import padded
from paravec.errors import ModelFormatError
from paravec.folders import check_target, replacing
from paravec.model import Model, Weights
from paravec.settings import BEFORE, Encoding, Settings
from paravec.training import Run, State
from paravec.vocab import Vocabulary

FORMAT = "paravec checkpoint"
VERSION = 1
NAME = "checkpoint.json"
FREE = ("n_jobs", "engine", "storage", "max_unique", "checkpoint_every")  # may be others when a fit goes on


@dataclass(frozen=True)
class Start:
    """What a fit begins with; one that goes on must begin with the same."""

    settings: Settings
    seed: int
    corpus: CorpusFacts
    word_vectors: str | None  # the CRC-32 of those that were given

    def as_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "settings": self.settings.as_dict(),
            "seed": self.seed,
            "corpus": asdict(self.corpus),
            "word_vectors": self.word_vectors,
        }


def check_checkpoint_target(path: str | os.PathLike[str]) -> Path:
    """Where a checkpoint may be written."""
    return check_target(path, "checkpoint", is_checkpoint)


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder says that it is a checkpoint."""
    return manifest.says(folder / NAME, FORMAT)


class Checkpoints:
    """Writes checkpoints to a place when they are due."""

    def __init__(self, path: str | os.PathLike[str], start: Start) -> None:
        self._target = check_checkpoint_target(path)
        self._start = start
        self._last = time.monotonic()
        self._settled: set[str] = set()  # files of models that are trained, and stay as they are

    def due(self, state: State, last_epoch: bool) -> bool:
        """Whether a checkpoint should be written now."""
        settings = self._start.settings
        if settings.checkpoint_seconds is not None:
            return last_epoch or time.monotonic() - self._last >= settings.checkpoint_seconds
        if settings.checkpoint_epochs is None or state.slice:
            return False
        return last_epoch or state.epoch % settings.checkpoint_epochs == 0

    def write(self, runs: Sequence[Run]) -> None:
        """The models that are trained, and the one that is on its way."""
        states = [{"model": run.model.architecture.model, **asdict(run.state)} for run in runs]
        position = {"position": " ".join(f"{s['model']}:{s['epoch']}:{s['slice']}" for s in states)}
        with replacing(self._target) as folder:
            for run in runs:
                self._write_run(folder, run, position)
            about = {**self._start.as_dict(), **position, "runs": states}
            manifest.write(folder / NAME, FORMAT, VERSION, about)
        self._settled = {_file(run.model.architecture) for run in runs[:-1]}
        self._last = time.monotonic()

    def _write_run(self, folder: Path, run: Run, position: dict[str, str]) -> None:
        name = _file(run.model.architecture)
        if name in self._settled:
            try:
                os.link(self._target / name, folder / name)
                return
            except OSError:
                pass  # a file system without links
        arrays = run.model.arrays()
        if run.best is not None:
            arrays |= {f"best.{key}": array for key, array in vars(run.best).items() if array is not None}
        tensors.write(folder / name, arrays, position)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found."""

    folder: Path
    about: dict[str, Any]

    @staticmethod
    def at(path: str | os.PathLike[str]) -> Checkpoint | None:
        """The checkpoint at a place, if there is one."""
        folder = Path(path)
        if not folder.exists() or not (is_checkpoint(folder) or any(folder.iterdir())):
            return None
        return Checkpoint(folder, manifest.read(folder / NAME, FORMAT, VERSION, ModelFormatError))

    @property
    def seed(self) -> int:
        """The seed of its draws."""
        seed = self.about.get("seed")
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
            raise ModelFormatError(f"{self.folder / NAME} is damaged: the seed is {seed!r}")
        return seed

    @property
    def corpus(self) -> CorpusFacts:
        """What is remembered of the corpus."""
        try:
            return CorpusFacts.of(self.about.get("corpus"))
        except ValueError as error:
            raise ModelFormatError(f"{self.folder / NAME} is damaged: {error}") from None

    def where(self) -> str:
        """How far the fit had come, for people."""
        runs = self.about.get("runs")
        if not isinstance(runs, list) or not runs or not isinstance(runs[-1], dict):
            raise ModelFormatError(f"{self.folder / NAME} is damaged: it has no runs")
        last = runs[-1]
        further = f" and {last['slice']} slices of the next" if last.get("slice") else ""
        return f"{last.get('model')} after {last.get('epoch')} of {self._settings().get('epochs')} epochs{further}"

    def _settings(self) -> dict[str, Any]:
        found = self.about.get("settings")
        if not isinstance(found, dict):
            raise ModelFormatError(f"{self.folder / NAME} is damaged: it has no settings")
        return found

    def check_settings(self, settings: Settings, settled: bool) -> None:
        """Refuses other settings; before they are `settled`, those that the corpus may decide are left to it."""
        theirs = self._settings()
        open_ones = () if settled else ("epochs", *(each.name for each in fields(Encoding)))
        defaults = Settings().as_dict()
        for name, value in settings.as_dict().items():
            was = theirs.get(name, BEFORE.get(name, defaults[name]))
            if name not in FREE and was != value and not (name in open_ones and value == defaults[name]):
                raise ValueError(
                    f"{name}={value!r}, but the checkpoint at {self.folder} was made with {name}={was!r}; go on with "
                    f"that, or begin anew at another place"
                )

    def check(self, start: Start) -> None:
        """Refuses to go on with anything else than what the fit began with."""
        was, now = self.corpus, start.corpus
        for what, theirs, ours in (
            ("corpus", _told(was), _told(now)),
            ("seed", self.seed, start.seed),
            ("set of word vectors", self.about.get("word_vectors"), start.word_vectors),
        ):
            if theirs != ours:
                raise ValueError(
                    f"the checkpoint at {self.folder} was made with another {what} ({theirs}, now {ours}); go on with "
                    f"that, or begin anew at another place"
                )
        self.check_settings(start.settings, settled=True)

    def runs(self, start: Start, vocabulary: Vocabulary) -> list[Run]:
        """The models that are trained, and the one that was on its way."""
        told = self.about.get("runs")
        architectures = start.settings.architectures()
        if not isinstance(told, list) or not 1 <= len(told) <= len(architectures):
            raise ModelFormatError(f"{self.folder / NAME} is damaged: it has no runs")
        found = []
        for i, (architecture, values) in enumerate(zip(architectures, told, strict=False)):
            done = i < len(told) - 1
            rows = None if done and start.settings.refit_documents else start.corpus.n_documents
            state = self._state(architecture.model, values)
            if start.settings.epochs is None or state.epoch > start.settings.epochs:
                raise ModelFormatError(f"{self.folder / NAME} is damaged: it is after epoch {state.epoch}")
            found.append(self._run(architecture, vocabulary, state, rows, done))
        return found

    def history(self) -> dict[str, State]:
        """How far each model has come, by its name."""
        told = self.about.get("runs")
        if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
            raise ModelFormatError(f"{self.folder / NAME} is damaged: it has no runs")
        return {str(each.get("model")): self._state(str(each.get("model")), each) for each in told}

    def _state(self, model: str, values: Any) -> State:
        try:
            if values["model"] != model:
                raise ValueError("its models are others")
            state = State(**{name: value for name, value in values.items() if name != "model"})
            for number in (state.epoch, state.slice, state.targets, *(() if state.best is None else (state.best,))):
                if type(number) is not int or not 0 <= number < 2**63:
                    raise ValueError(f"a count is {number!r}")
            numbers = [state.objective, state.seconds, *state.losses, *state.validation_losses]
            if any(type(number) not in (int, float) for number in numbers) or type(state.stopped) is not bool:
                raise ValueError("its history is none")
            if len(state.losses) != state.epoch or len(state.validation_losses) not in (0, state.epoch):
                raise ValueError(f"it has {len(state.losses)} losses of {state.epoch} epochs")
            if state.best is not None and state.best >= len(state.validation_losses):
                raise ValueError(f"its best epoch is {state.best} of {state.epoch}")
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ModelFormatError(f"{self.folder / NAME} is damaged: {error}") from None
        return state

    def _run(
        self, architecture: Architecture, vocabulary: Vocabulary, state: State, rows: int | None, done: bool
    ) -> Run:
        path = self.folder / _file(architecture)
        weights = parameters.weights_of(architecture, vocabulary)
        best = {f"best.{name}": about for name, about in weights.items()} if state.best is not None and not done else {}
        documents = {} if rows is None else {"documents": ("float32", (rows, architecture.vector_size))}
        frozen = {"trainable": ("uint8", (len(vocabulary.words) + 1,))}
        arrays, metadata = parameters.read(path, {**weights, **best, **documents}, frozen)
        if not done and metadata.get("position") != self.about.get("position"):
            raise ModelFormatError(f"{path} belongs to another checkpoint than {NAME} beside it")
        parameters.check_finite(path, arrays)

        def own(name: str) -> Any:
            return np.array(arrays[name]) if name in arrays else None

        words = padded(arrays["words"]) if architecture.has_words else None
        outputs = padded(arrays["outputs"], spare=int(architecture.has_bias))
        model = Model(architecture, own("documents"), words, outputs, own("bias"), own("trainable"))
        kept = Weights(*(own(f"best.{name}") for name in ("words", "outputs", "bias"))) if best else None
        return Run(model, state, kept)


def _told(corpus: CorpusFacts) -> str:
    return f"{corpus.n_documents} documents, {corpus.n_tokens} tokens, checksum {corpus.crc32}"


def _file(architecture: Architecture) -> str:
    return f"{architecture.model}.safetensors"
