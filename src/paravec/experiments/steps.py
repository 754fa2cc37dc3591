"""The steps of a run: what each has found is kept, and a run that was interrupted goes on where it stopped."""

from __future__ import annotations

import json
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sized
from pathlib import Path
from typing import Any

from paravec import __version__
from paravec.errors import SourceError
from paravec.experiments.machine import in_words
from paravec.folders import clear, locked

FOLDER = "steps"
_LONGEST = 100  # characters of a name in that of a file


class Steps:
    """The steps of a run in a folder of its own; `tell` is given a line for each."""

    def __init__(self, folder: str | Path, tell: Callable[[str], None] = lambda line: None) -> None:
        self.folder = Path(folder) / FOLDER
        self._tell = tell
        self._seconds: dict[Path, float] = {}
        self._machines: dict[str, None] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SourceError(f"{folder} cannot be a folder for results: {error.strerror}") from None

    def step(self, name: str, settings: Mapping[str, Any], work: Callable[[], Any]) -> Any:
        """What `work` gives, as JSON knows it; what it gave before, if it was done with the same settings.

        Steps of other settings, or of another version of paravec, have files of their own. Several processes may share
        a folder: who comes to a step that another is at waits for it.
        """
        told = json.loads(json.dumps({**settings, "paravec": __version__}, sort_keys=True))
        path = self.folder / f"{slug(name)[:_LONGEST]}-{fingerprint([name, told])}.json"
        kept = _read(path, name, told)
        if kept is not None:
            self._tell(f"{name}: found before")
        else:
            kept = self._done(path, name, told, work)
        self._seconds[path] = float(kept["seconds"])
        self._machines.setdefault(str(kept.get("machine", "another machine")))
        return kept["found"]

    def _done(self, path: Path, name: str, told: dict[str, Any], work: Callable[[], Any]) -> dict[str, Any]:
        """Does a step, unless another process has done it meanwhile."""
        place = path.with_suffix(".part")
        place.mkdir(exist_ok=True)
        try:
            with locked(place):
                if (kept := _read(path, name, told)) is not None:
                    return kept
                began = time.perf_counter()
                found = json.loads(json.dumps(work()))
                seconds = time.perf_counter() - began
                kept = {"name": name, "settings": told, "seconds": seconds, "machine": in_words(), "found": found}
                place.mkdir(exist_ok=True)
                (place / path.name).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
                os.replace(place / path.name, path)
        finally:
            clear(place)
        self._tell(f"{name}: {seconds:.0f} s")
        return kept

    @property
    def seconds(self) -> float:
        """How long the steps took that were asked for, now or before."""
        return sum(self._seconds.values())

    @property
    def machines(self) -> list[str]:
        """What they were done on."""
        return list(self._machines)


def _read(path: Path, name: str, told: dict[str, Any]) -> dict[str, Any] | None:
    """What a step has left; nothing if it is not whole, or another."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = isinstance(kept, dict) and {"found", "seconds"} <= kept.keys()
    return kept if whole and kept.get("settings") == told and kept.get("name") == name else None


def fingerprint(*lists: Any) -> str:
    """What tells a step that its data are others: texts, labels, and to whom they belong.

    >>> fingerprint(["a", "b"], ["c"]) == fingerprint(["a"], ["b", "c"])
    False
    """
    crc = 0
    for each in lists:
        if isinstance(each, Sized):
            crc = zlib.crc32(str(len(each)).encode(), crc)
        for item in each:
            crc = zlib.crc32(json.dumps(item, sort_keys=True).encode(), crc)
    return f"{crc:08x}"


def slug(name: str) -> str:
    """A name for files."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
