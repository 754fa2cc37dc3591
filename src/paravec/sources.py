"""Where documents come from: for now, text with a document a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def lines(path: str) -> Iterator[str]:
    """The lines of a UTF-8 file, or of standard input for ``-``: a document each, empty ones too."""
    if path == "-":
        yield from _decoded(sys.stdin.buffer, "standard input")
        return
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a text file with a document a line")
    with open(path, "rb") as file:
        yield from _decoded(file, path)


def _decoded(file: BinaryIO, name: str) -> Iterator[str]:
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name} is not UTF-8 text: {error.reason} at byte {error.start} of line {number}"
            ) from None
