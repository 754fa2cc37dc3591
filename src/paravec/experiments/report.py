"""A run as a page: Markdown, and the same in HTML."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from html import escape
from pathlib import Path

from paravec.experiments.tables import Table

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border-bottom: 1px solid #ddd; padding: .3rem .8rem; text-align: left }
.figures td:nth-child(2), .figures td:nth-child(3) { text-align: right; font-variant-numeric: tabular-nums }
tr.ours td { font-weight: 600 }
@media (prefers-color-scheme: dark) { body { background: #181818; color: #ddd } th, td { border-color: #444 } }
"""
_COLUMNS = ("method", "paper, %", "ours, % (95 % interval)", "each seed", "")


def write(folder: str | Path, tables: Sequence[Table], seconds: float) -> Path:
    """Writes `report.md` and `report.html` into a folder, and gives the place of the page."""
    folder = Path(folder)
    about = (
        f"paravec's own run of the experiments of Le & Mikolov (2014), {seconds:,.0f} seconds of work on "
        f"{os.cpu_count()} cores ({platform.machine()}, Python {platform.python_version()})."
    )
    markdown = "\n".join([f"# The paper's tables\n\n{about}\n", *(table.markdown() for table in tables)])
    (folder / "report.md").write_text(markdown, encoding="utf-8")
    page = folder / "report.html"
    page.write_text(_page(about, tables), encoding="utf-8")
    return page


def _page(about: str, tables: Sequence[Table]) -> str:
    sections = "".join(_section(table) for table in tables)
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width">\n<title>The paper\'s tables</title>\n'
        f"<style>{_STYLE}</style>\n<h1>The paper's tables</h1>\n<p>{escape(about)}</p>\n{sections}</html>\n"
    )


def _section(table: Table) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in _COLUMNS)
    body = "".join(
        f"<tr{' class=ours' if row.method.startswith('Paragraph Vector') else ''}>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        + "</tr>\n"
        for row, cells in zip(table.rows, table.cells(), strict=True)
    )
    chosen = "".join(f"<tr><td>{escape(k)}</td><td>{escape(v)}</td></tr>\n" for k, v in table.settings.items())
    return (
        f"<h2>{escape(table.title)}</h2>\n"
        + "".join(f"<p>{escape(line)}</p>\n" for line in table.about)
        + f"<table class=figures>\n<tr>{head}</tr>\n{body}</table>\n"
        + (f"<table>\n<tr><th>chosen on validation data</th><th></th></tr>\n{chosen}</table>\n" if chosen else "")
    )
