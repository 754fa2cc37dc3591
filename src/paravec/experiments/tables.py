"""What a report shows: tables of errors, those of the paper beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from paravec.experiments.measure import Figure


@dataclass(frozen=True)
class Row:
    """A method: its error in the paper, and ours."""

    method: str
    paper: float | None
    ours: Figure | None
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Methods on one task, and what there is to know about it."""

    title: str
    about: Sequence[str]
    rows: Sequence[Row]
    settings: dict[str, str] = field(default_factory=dict)

    def markdown(self) -> str:
        """As a section of a page."""
        lines = [f"## {self.title}", "", *self.about, ""]
        lines += ["| method | paper, % | ours, % (95 % interval) | each seed | |", "| --- | --- | --- | --- | --- |"]
        lines += [f"| {' | '.join(cells)} |" for cells in self.cells()]
        if self.settings:
            lines += ["", "| chosen on validation data | |", "| --- | --- |"]
            lines += [f"| {name} | {value} |" for name, value in self.settings.items()]
        return "\n".join(lines) + "\n"

    def cells(self) -> list[tuple[str, str, str, str, str]]:
        """The words of every row."""
        return [
            (
                row.method,
                "" if row.paper is None else f"{row.paper:.2f}",
                "" if row.ours is None else str(row.ours),
                "" if row.ours is None or len(row.ours.each) < 2 else ", ".join(f"{e:.2f}" for e in row.ours.each),
                row.note,
            )
            for row in self.rows
        ]
