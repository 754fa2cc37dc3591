"""Long work in sight: bars with rate and time left on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paravec.training import Epoch, Training


class Bars:
    """A bar for each stage of a long work. Called as ``bars("reading", done, total, "bytes")``."""

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled and sys.stderr.isatty()
        self._progress: Any = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    @property
    def shown(self) -> bool:
        """Whether there is a terminal to show them on."""
        return self._enabled

    def __call__(self, stage: str, done: int, total: int | None, unit: str, note: str = "") -> None:
        """Moves the bar of a stage, which appears when it is first told of."""
        if not self._enabled:
            return
        if stage not in self._tasks:
            self.begin(stage, 0, total, unit)
        self._progress.update(self._tasks[stage], completed=done, total=total, note=note)

    def begin(self, stage: str, done: int, total: int | None, unit: str) -> None:
        """Shows the bar of a stage of which a part was done before, which does not count for its speed."""
        if not self._enabled:
            return
        if self._progress is None:
            self._progress = _made()
            self._progress.start()
        self._tasks[stage] = self._progress.add_task(
            stage, total=total, completed=done, before=done, rate=_rate(unit), note=""
        )


class Sight:
    """Shows a fit, if it is wanted: epoch, words a second, loss and time left."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._bars = Bars(wanted)

    def __enter__(self) -> Sight:
        return self

    def __exit__(self, *failure: Any) -> None:
        self._bars.__exit__(*failure)

    def say(self, line: str) -> None:
        """A line of news."""
        if self._wanted:
            print(line, file=sys.stderr)

    def begin(self, training: Training) -> None:
        """A model starts its way, or goes on."""
        self._bars.begin(*self._bar(training, 0))

    def slice(self, training: Training, words: int) -> None:
        """Some more words of the epoch are done."""
        state = training.state
        self._show(training, words, state.epoch + 1, -state.objective / max(1, state.targets))

    def _show(self, training: Training, words: int, epoch: int, loss: float) -> None:
        note = f"epoch {epoch}/{training.epochs} loss {loss:.3f}"
        if training.state.validation_losses:
            note += f" held out {training.state.validation_losses[-1]:.3f}"
        self._bars(*self._bar(training, words), note)

    def epoch(self, training: Training, epoch: Epoch) -> None:
        """An epoch is done."""
        self._show(training, 0, epoch.epoch, epoch.loss)
        if not self._wanted or self._bars.shown:
            return
        held_out = "" if epoch.validation_loss is None else f", held out {epoch.validation_loss:.4f}"
        left = epoch.seconds / epoch.epoch * (epoch.epochs - epoch.epoch)
        print(
            f"{epoch.model} epoch {epoch.epoch}/{epoch.epochs}: loss {epoch.loss:.4f}{held_out}, "
            f"{epoch.words_per_second / 1e6:.2f} M words/s, {_clock(left)} left",
            file=sys.stderr,
        )

    def end(self, training: Training) -> None:
        """A model is trained; what was not to be expected is told."""
        state = training.state
        if state.epoch < training.epochs or state.kept_epoch < state.epoch:
            name = training.model.architecture.model
            kept = f"epoch {state.kept_epoch} is kept"
            self.say(f"{name} stopped after {state.epoch} of {training.epochs} epochs; {kept}")

    def inferred(self, done: int, total: int) -> None:
        """So many documents are inferred."""
        self._bars("documents", done, total, "documents")

    def _bar(self, training: Training, words: int) -> tuple[str, int, int, str]:
        done = training.state.epoch * training.words_of_an_epoch + words
        return training.model.architecture.model, done, training.epochs * training.words_of_an_epoch, "words"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _rate(unit: str) -> Any:
    """How fast a task goes, as people say it."""
    if unit == "bytes":
        return lambda speed: f"{speed / 1e6:,.0f} MB/s"
    if unit == "words":
        return lambda speed: f"{speed / 1e6:,.2f} M words/s"
    return lambda speed: f"{speed:,.0f} {unit}/s"


def _made() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.table import Column
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            seconds = task.finished_time or task.elapsed
            return Text(task.fields["rate"]((task.completed - task.fields["before"]) / seconds) if seconds else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),  # what the rest leaves
        TextColumn("{task.percentage:>3.0f} %"),
        Rate(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), expand=True)
