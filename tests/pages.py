"""Pages of documentation taken apart, and what they show run."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def run_blocks(page: Path, names: dict | None = None) -> dict:
    """Runs the Python of a page, one block after the other, and gives the names it has made."""
    names = {} if names is None else names
    for block in blocks(page, "python"):
        exec(compile(block, page.name, "exec"), names)
    return names


def tables(page: Path) -> dict[str, list[list[str]]]:
    """The rows of the table below each heading, without its header."""
    found: dict[str, list[list[str]]] = {}
    heading = ""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| "):
            found.setdefault(heading, []).append([cell.strip() for cell in line[2:].removesuffix("|").split(" | ")])
    return {heading: rows[2:] for heading, rows in found.items()}


def code(cell: str) -> list[str]:
    """The code in a cell."""
    return re.findall(r"`([^`]+)`", cell)
