"""What a report shows: tables of errors, those of the paper beside ours, other listings, and plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from paravec.experiments.measure import Figure
from paravec.experiments.plots import Plot


@dataclass(frozen=True)
class Row:
    """A method: its error in the paper, and ours."""

    method: str
    paper: float | None
    ours: Figure | None
    note: str = ""


@dataclass(frozen=True)
class Listing:
    """Rows of words under a head, and what there is to know about them."""

    title: str
    about: Sequence[str]
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    settings: dict[str, str] = field(default_factory=dict)
    plots: Sequence[Plot] = ()
    ours: frozenset[int] = frozenset()  # rows that stand out


def table(
    title: str,
    about: Sequence[str],
    rows: Sequence[Row],
    settings: dict[str, str] | None = None,
    plots: Sequence[Plot] = (),
) -> Listing:
    """Errors of methods: the paper's, and ours with their intervals and seeds."""
    return Listing(
        title,
        about,
        ("method", "paper, %", "ours, % (95 % interval)", "each seed", ""),
        [_cells(row) for row in rows],
        settings or {},
        plots,
        frozenset(i for i, row in enumerate(rows) if row.method.startswith("Paragraph Vector")),
    )


def in_words(settings: Mapping[str, Any]) -> str:
    """Settings as they are given in a call."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.method,
        "" if row.paper is None else f"{row.paper:.2f}",
        "" if row.ours is None else str(row.ours),
        "" if row.ours is None or len(row.ours.each) < 2 else ", ".join(f"{e:.2f}" for e in row.ours.each),
        row.note,
    )
