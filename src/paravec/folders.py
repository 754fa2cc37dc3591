"""Folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def check_target(path: str | os.PathLike[str], what: str, is_one: Callable[[Path], bool]) -> Path:
    """Where a folder may be written: nothing, an empty folder, or another one of its kind, which it replaces."""
    target = Path(os.path.abspath(path))
    if target.exists() and not is_one(target) and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(f"{target} exists and is no paravec {what}; give another path, or remove it")
    return target


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, to be filled; it takes the target's place when nothing went wrong."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        try:
            yield fresh
        except OSError as error:
            if error.filename is None and error.strerror is not None:  # a full disk does not say where
                raise OSError(error.errno, error.strerror, str(target)) from error
            raise
        _open_to_others(fresh)
        _sync(fresh)
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            os.replace(target, old / "old")
            try:
                os.replace(fresh, target)
            except BaseException:  # an interrupt, too, brings the old one back
                os.replace(old / "old", target)
                old.rmdir()
                raise
            shutil.rmtree(old)
        else:
            os.replace(fresh, target)
        _sync(target.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _open_to_others(folder: Path) -> None:
    """Temporary folders are private; what is finished is as readable as the user's other files."""
    mask = os.umask(0)
    os.umask(mask)
    for path in (folder, *folder.rglob("*")):
        path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)


def _sync(folder: Path) -> None:
    """A new name is on disk when its folder is."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # not every system opens folders
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
