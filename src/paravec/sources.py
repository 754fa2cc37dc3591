"""Where documents come from: for now, text with a document a line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path


def lines(path: str) -> Iterator[str]:
    """The lines of a UTF-8 file, or of standard input for ``-``: a document each, empty ones too."""
    if path == "-":
        yield from (line.rstrip("\r\n") for line in sys.stdin)
        return
    if Path(path).is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a text file with a document a line")
    with open(path, encoding="utf-8", newline="\n") as file:
        try:
            for line in file:
                yield line.rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start} of a block") from None
