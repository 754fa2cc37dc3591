"""Bars with rate and time left, on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


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

    def __call__(self, stage: str, done: int, total: int | None, unit: str) -> None:
        """Moves the bar of a stage, which appears when it is first told of."""
        if not self._enabled:
            return
        if self._progress is None:
            self._progress = _made()
            self._progress.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total, rate=_rate(unit))
        self._progress.update(self._tasks[stage], completed=done, total=total)


def _rate(unit: str) -> Any:
    """How fast a task goes, as people say it."""
    if unit == "bytes":
        return lambda speed: f"{speed / 1e6:,.0f} MB/s"
    return lambda speed: f"{speed:,.0f} {unit}/s"


def _made() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Any) -> Text:
            seconds = task.finished_time or task.elapsed
            return Text(task.fields["rate"](task.completed / seconds) if seconds else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        TextColumn("{task.percentage:>3.0f} %"),
        Rate(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    return Progress(*columns, console=Console(stderr=True))
