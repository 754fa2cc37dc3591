"""How much memory a process has had."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def _status(field: str) -> float:
    """A line of the process's status, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def peak() -> float:
    """The most that was resident at once, in megabytes; pages of mapped files count."""
    return _status("VmHWM")


class Beyond:
    """Made when corpus and vocabulary are held, it tells how much more memory the rest took."""

    def __init__(self) -> None:
        self._before = peak()
        with suppress(OSError):  # or else a peak while words were counted counts as well
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
        self._held = _status("VmRSS")

    def told(self) -> dict[str, float]:
        """The peak of the process, and the peak beyond corpus and vocabulary."""
        now = peak()
        return {"peak_mb": round(max(now, self._before), 1), "beyond_mb": round(now - self._held, 1)}
