"""Files that are just files: no link to elsewhere, nothing that would make a reader wait."""

from __future__ import annotations

import os
import stat

_FLAGS = os.O_RDONLY | sum(getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_CLOEXEC"))


def open_plain(path: str | os.PathLike[str]) -> int:
    """A descriptor to read a file of a folder that someone else may have made."""
    _refuse_special(os.lstat(path).st_mode)
    handle = os.open(path, _FLAGS)
    try:
        _refuse_special(os.fstat(handle).st_mode)  # which may have come in between
    except ValueError:
        os.close(handle)
        raise
    return handle


def _refuse_special(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ValueError("it is a symbolic link, a folder, a pipe or a device")
