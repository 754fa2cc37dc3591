"""Plots of a report, as SVG."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paravec.sources.files import imported

_LIBRARY = ("matplotlib.figure", "a report with plots", "experiments")
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")  # told apart by all eyes


@dataclass(frozen=True)
class Plot:
    """Series with names: "lines" through points, "points" alone, or "bars" of one point each."""

    title: str
    across: str
    up: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    kind: str = "lines"
    logarithmic: bool = False  # across

    def svg(self) -> str:
        """As an image that a page can hold."""
        figure = imported(*_LIBRARY).Figure(figsize=(6.4, 3.6), layout="constrained")
        axes = figure.subplots()
        for (name, points), colour in zip(self.series.items(), _COLOURS * len(self.series), strict=False):
            x, y = [point[0] for point in points], [point[1] for point in points]
            if self.kind == "bars":
                axes.bar([name], y, color=colour, width=0.5)
            elif self.kind == "lines":
                axes.plot(x, y, marker="o", markersize=4, label=name, color=colour)
            else:
                axes.scatter(x, y, s=5, alpha=0.6, label=name, color=colour, linewidths=0)
        if self.logarithmic:
            axes.set_xscale("log")
        axes.set_xlabel(self.across)
        axes.set_ylabel(self.up)
        axes.set_title(self.title)
        axes.spines[["top", "right"]].set_visible(False)
        if self.kind != "bars":
            axes.legend(frameon=False, markerscale=1 if self.kind == "lines" else 3)
        if self.kind == "points":
            axes.set_xticks([])
            axes.set_yticks([])
        out = io.StringIO()
        imported("matplotlib", *_LIBRARY[1:]).rcParams["svg.hashsalt"] = "paravec"  # the same names every time
        figure.savefig(out, format="svg", metadata={"Date": None})
        text = out.getvalue()
        return text[text.index("<svg") :]


def check_there() -> None:
    """Refuses to begin a run whose plots could not be drawn."""
    imported(*_LIBRARY)
