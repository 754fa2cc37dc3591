"""A run as a page: Markdown, and the same in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from paravec import __version__
from paravec.experiments.options import Options
from paravec.experiments.steps import Steps, slug
from paravec.experiments.tables import Listing

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .8rem; text-align: left }
.figures td + td { font-variant-numeric: tabular-nums }
.figures td:nth-child(3) { white-space: nowrap }
tr.ours td { font-weight: 600 }
svg { max-width: 100%; height: auto; background: #fff }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } th, td { border-color: #444 } }
"""
_CHOSEN = ("settings; all others are the library's own", "")
_QUICK = "A quick run: a sample and small models, which show that everything works, and not how good it is. "


def write(folder: str | Path, name: str, listings: Sequence[Listing], steps: Steps, options: Options) -> Path:
    """Writes NAME.md with its plots, and NAME.html, which holds all; gives the place of the page."""
    folder = Path(folder)
    about = (
        f"{_QUICK if options.quick else ''}paravec {__version__}'s own run of the experiments of Le & Mikolov "
        f"(2014): seeds {', '.join(map(str, options.seeds))}; engine {options.engine}; {steps.seconds:,.0f} seconds of "
        f"work on {'; and on '.join(steps.machines)}."
    )
    for listing in listings:
        for plot in listing.plots:
            (folder / _file(plot.title)).write_text(plot.svg(), encoding="utf-8")
    (folder / f"{name}.md").write_text(_markdown(about, listings), encoding="utf-8")
    page = folder / f"{name}.html"
    page.write_text(_page(about, listings, folder), encoding="utf-8")
    return page


def markdown(listing: Listing) -> str:
    """A listing as a section of a page."""
    lines = [f"## {listing.title}", ""]
    for paragraph in listing.about:
        lines += [paragraph, ""]
    lines += _grid(listing.head, listing.rows)
    if listing.settings:
        lines += ["", *_grid(_CHOSEN, list(listing.settings.items()))]
    for plot in listing.plots:
        lines += ["", f"![{plot.title}]({_file(plot.title)})"]
    return "\n".join(lines) + "\n"


def _markdown(about: str, listings: Sequence[Listing]) -> str:
    return "\n".join([f"# The paper's tables\n\n{about}\n", *map(markdown, listings)])


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _file(title: str) -> str:
    return f"{slug(title)}.svg"


def _page(about: str, listings: Sequence[Listing], folder: Path) -> str:
    sections = "".join(_section(listing, folder) for listing in listings)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>The paper\'s tables</title>\n'
        f"<style>{_STYLE}</style>\n<h1>The paper's tables</h1>\n<p>{escape(about)}</p>\n{sections}</html>\n"
    )


def _section(listing: Listing, folder: Path) -> str:
    return (
        f"<h2>{escape(listing.title)}</h2>\n"
        + "".join(f"<p>{escape(line)}</p>\n" for line in listing.about)
        + _table(listing.head, listing.rows, "figures", listing.ours)
        + (_table(_CHOSEN, list(listing.settings.items()), "chosen", frozenset()) if listing.settings else "")
        + "".join((folder / _file(plot.title)).read_text(encoding="utf-8") for plot in listing.plots)
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], kind: str, ours: frozenset[int]) -> str:
    body = "".join(
        f"<tr{' class=ours' if i in ours else ''}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>\n"
        for i, row in enumerate(rows)
    )
    return (
        f"<table class={kind}>\n<tr>"
        + "".join(f"<th>{escape(name)}</th>" for name in head)
        + f"</tr>\n{body}</table>\n"
    )
