"""The steps of a run: what each has found is kept, and a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from paravec.errors import SourceError

FOLDER = "steps"


class Steps:
    """The steps of a run in a folder of its own; `tell` is given a line for each."""

    def __init__(self, folder: str | Path, tell: Callable[[str], None] = lambda line: None) -> None:
        self.folder = Path(folder) / FOLDER
        self._tell = tell
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"{folder} cannot be a folder for results: {error.strerror}") from None

    def step(self, name: str, settings: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        """What `work` gives, as JSON knows it; what it gave before, if it was done with the same settings."""
        told = json.loads(json.dumps(dict(settings), sort_keys=True))
        path = self.folder / f"{slug(name)}.json"
        before = _read(path)
        if before is not None and before.get("settings") == told and before.get("name") == name:
            self._tell(f"{name}: found before")
            return before["found"]
        began = time.perf_counter()
        found = json.loads(json.dumps(work()))
        seconds = time.perf_counter() - began
        part = path.with_suffix(".part")
        part.write_text(
            json.dumps({"name": name, "settings": told, "seconds": seconds, "found": found}, indent=1) + "\n",
            encoding="utf-8",
        )
        os.replace(part, path)
        self._tell(f"{name}: {seconds:.0f} s")
        return found

    def seconds(self) -> float:
        """How long all steps took that are kept."""
        return sum(float(told["seconds"]) for path in sorted(self.folder.glob("*.json")) if (told := _read(path)))


def _read(path: Path) -> dict[str, Any] | None:
    """What a step has left; nothing if it is not whole."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) and {"found", "seconds"} <= told.keys() else None


def crc_of(texts: Sequence[str]) -> str:
    """What tells a step that its texts are others."""
    return f"{zlib.crc32(chr(0).join(texts).encode()):08x}"


def slug(name: str) -> str:
    """A name for files."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
