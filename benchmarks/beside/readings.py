"""Readings in fresh processes, and the file of results."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def reading(what: str, **arguments: Any) -> dict[str, Any]:
    """What a function says, ``"ours.train"`` say, run in a process of its own."""
    module, function = what.split(".")
    command = [sys.executable, str(_HERE.parent / "reading.py"), f"beside.{module}", function]
    answer: dict[str, Any] = json.loads(_last_line(command, json.dumps(arguments, default=str)))
    return answer


class Turns:
    """A program that stays, and gives a reading whenever it is its turn; what they have in common is made once."""

    def __init__(self, what: str, **arguments: Any) -> None:
        module, function = what.split(".")
        command = [sys.executable, str(_HERE.parent / "reading.py"), f"beside.{module}", function]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._say(json.dumps(arguments, default=str))

    def take(self) -> dict[str, Any]:
        """The next reading."""
        self._say("go")
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise RuntimeError(f"a reading failed:\n{self._errors.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Lets the program go."""
        self._process.communicate()
        self._errors.close()

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()


def whole(program: str, *arguments: Any) -> dict[str, float]:
    """A program from its start to its end: seconds, and the peak of its memory."""
    command = [sys.executable, str(_HERE / f"whole_{program}.py"), *map(str, arguments)]
    began = time.perf_counter()
    peak = _last_line(command, "")
    return {"seconds": time.perf_counter() - began, "peak_mb": round(float(peak), 1)}


def _last_line(command: list[str], given: str) -> str:
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout.splitlines()[-1]


class Results:
    """A JSON file of rows, written whenever one is put; a row takes the place of one with the same key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.parts: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}

    def tell(self, **facts: Any) -> None:
        """Notes what holds for all rows."""
        self.parts.update(facts)

    def put(self, part: str, key: dict[str, Any], values: dict[str, Any]) -> None:
        """A row of a part, found again by its key."""
        rows = self.parts.setdefault(part, [])
        old = next((i for i, row in enumerate(rows) if key.items() <= row.items()), len(rows))
        rows[old : old + 1] = [key | values]
        self._path.parent.mkdir(exist_ok=True)
        fresh = self._path.with_name(f"{self._path.name}.new")
        fresh.write_text(json.dumps(self.parts, indent=1) + "\n")
        fresh.replace(self._path)

    def get(self, part: str, key: dict[str, Any]) -> dict[str, Any] | None:
        """The row with a key."""
        return next((row for row in self.parts.get(part, []) if key.items() <= row.items()), None)
