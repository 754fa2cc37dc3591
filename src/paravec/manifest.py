"""The JSON file of a folder that says what it is."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paravec import __version__
from paravec.plain import open_plain

_LARGEST = 1 << 24  # bytes; the losses of half a million epochs


def write(path: Path, format: str, version: int, about: Mapping[str, Any]) -> None:
    """Writes what a folder is, and sees it to disk."""
    head = {"format": format, "version": version, "paravec": __version__}
    text = json.dumps({**head, **about, **head}, indent=1, allow_nan=False).encode()
    if len(text) > _LARGEST:
        raise ValueError(f"{path.name} would have {len(text)} bytes, and {_LARGEST} are allowed")
    with open(path, "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path, format: str, version: int, error: type[ValueError], remedy: str = "") -> dict[str, Any]:
    """What a folder says it is, if it is one of this kind and version; else an `error` that may name a remedy."""
    try:
        about = _parsed(path)
    except OSError as failure:
        raise error(f"{path} cannot be read: {failure.strerror}{remedy}") from None
    except (ValueError, RecursionError) as failure:
        raise error(f"{path} is not JSON: {failure}{remedy}") from None
    if not isinstance(about, dict) or about.get("format") != format:
        raise error(f"{path} does not describe a {format}")
    found = about.get("version")
    if type(found) is not int or not 1 <= found <= version:
        newer = type(found) is int and found > version
        advice = f"; it was written by paravec {about.get('paravec')!s:.20}, which is newer" if newer else ""
        known = "1" if version == 1 else f"1 to {version}"
        raise error(f"{path.parent} has format version {found!r:.20}; this version of paravec reads {known}{advice}")
    return about


def says(path: Path, format: str) -> bool:
    """Whether a folder says that it is of this kind, of whatever version."""
    try:
        about = _parsed(path)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(about, dict) and about.get("format") == format


def _parsed(path: Path) -> Any:
    with open(open_plain(path), "rb") as file:
        text = file.read(_LARGEST + 1)
    if len(text) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST} bytes")
    return json.loads(text, parse_constant=_number, parse_float=_number, parse_int=_number)


def _number(text: str) -> int | float:
    """A number that is one, and not too large for what it may be."""
    whole = re.fullmatch(r"-?[0-9]+", text) is not None
    value = float(text) if len(text) <= 40 else math.inf
    if not math.isfinite(value) or (whole and abs(value) > 2**64):
        raise ValueError(f"{text:.20} is no number that could be meant")
    return int(text) if whole else value
