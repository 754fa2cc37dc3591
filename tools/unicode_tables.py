"""Writes ``src/core/text/unicode_tables.inl``: what the tokenizer knows of every character.

Run with an interpreter whose ``unicodedata`` has the pinned version: ``python tools/unicode_tables.py``. The tables
follow from :mod:`paravec.text`, which defines the tokenizer, and from what ``str.lower`` and ``str.isspace`` do.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from paravec.text import UNICODE_VERSION, Kind, kind_of

TARGET = Path(__file__).parents[1] / "src" / "core" / "text" / "unicode_tables.inl"
CASED, IGNORABLE = 1, 2


def case_context(character: str) -> int:
    """How a character decides whether a capital sigma beside it ends a word; seen in what ``str.lower`` does."""
    if ("\u0391\u03a3" + character).lower()[1] == "\u03c3":
        return CASED
    return IGNORABLE if ("\u0391\u03a3" + character + "\u0391").lower()[1] == "\u03c3" else 0


def properties(code: int) -> int:
    """Kind, case context and space of a character in one number, as ``unicode.hpp`` unpacks it."""
    character = chr(code)
    return kind_of(character) | case_context(character) << 2 | character.isspace() << 4


def property_runs() -> Iterator[tuple[int, int]]:
    """(first code point, properties) of each run of equal characters."""
    before = -1
    for code in range(sys.maxunicode + 1):
        now = properties(code)
        if now != before:
            yield code, now
            before = now


def lower_ranges() -> list[list[int]]:
    """[first, last, step, difference] of capitals with one small letter each."""
    ranges: list[list[int]] = []
    for code in range(sys.maxunicode + 1):
        small = chr(code).lower()
        if small == chr(code) or len(small) > 1:
            continue
        assert kind_of(small) == kind_of(chr(code)), f"U+{code:04X} changes its kind"
        difference = ord(small) - code
        last = ranges[-1] if ranges else None
        if last and last[3] == difference and code - last[1] in (1, 2) and last[2] in (0, code - last[1]):
            last[1], last[2] = code, code - last[1]
        else:
            ranges.append([code, code, 0, difference])
    return [[first, last, step or 1, difference] for first, last, step, difference in ranges]


def longer() -> list[int]:
    """Capitals whose small form has several characters."""
    return [code for code in range(sys.maxunicode + 1) if len(chr(code).lower()) > 1]


def _rows(items: list[str]) -> str:
    lines, line = [], " "
    for item in items:
        if len(line) + len(item) > 118:
            lines.append(line)
            line = " "
        line += f" {item},"
    return "\n".join([*lines, line])


def contents() -> str:
    """The file."""
    assert longer() == [0x130], "the tokenizer knows one capital with a long small form"
    assert [int(kind) for kind in Kind] == [0, 1, 2, 3]
    runs = [f"{{0x{code:x}, {value}}}" for code, value in property_runs()]
    lower = [f"{{0x{a:x}, 0x{b:x}, {step}, {difference}}}" for a, b, step, difference in lower_ranges()]
    return (
        f"// Made by tools/unicode_tables.py from Unicode {UNICODE_VERSION}; do not edit.\n"
        f'constexpr const char* kUnicodeVersion = "{UNICODE_VERSION}";\n'
        f"constexpr PropertyRun kPropertyRuns[] = {{\n{_rows(runs)}\n}};\n"
        f"constexpr LowerRange kLowerRanges[] = {{\n{_rows(lower)}\n}};\n"
    )


def main() -> None:
    """Writes the file."""
    if unicodedata.unidata_version != UNICODE_VERSION:
        raise SystemExit(f"this interpreter has Unicode {unicodedata.unidata_version}; {UNICODE_VERSION} is pinned")
    TARGET.write_text(contents(), encoding="ascii")


if __name__ == "__main__":
    main()
