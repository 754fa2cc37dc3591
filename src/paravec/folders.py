"""Folders and files that appear whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # not every system has it
    fcntl = None  # type: ignore[assignment]

_SUFFIX = ".paravec-tmp"
_FORMER = "former.paravec-tmp"  # where a target is, inside a temporary folder, between two renames
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


def check_target(path: str | os.PathLike[str], what: str, is_one: Callable[[Path], bool]) -> Path:
    """Where a folder may be written: nothing, an empty folder, or another one of its kind, which it replaces."""
    target = Path(os.path.abspath(path))
    if target.exists() and not is_one(target) and not (target.is_dir() and not any(target.iterdir())):
        raise FileExistsError(f"{target} exists and is no paravec {what}; give another path, or remove it")
    _probe(target)
    return target


def check_new(path: str | os.PathLike[str]) -> Path:
    """Where a file may be written: nothing is there."""
    target = Path(os.path.abspath(path))
    if os.path.lexists(target):
        raise FileExistsError(f"{target} exists; give another path, or remove it")
    _probe(target)
    return target


def _probe(target: Path) -> None:
    """Refuses a place where nothing can be written."""
    place = next(path for path in target.parents if path.exists())
    try:
        probe = tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=place)
        with suppress(FileNotFoundError):  # another process has swept it away
            os.rmdir(probe)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror}, so {target.name} cannot be written there", str(place)) from None


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new folder beside `target`, to be filled; it takes the target's place when nothing went wrong.

    Files in it are synced by those who write them. Several processes may do this at once: the last one wins.
    """
    target = Path(os.path.realpath(target))  # a link stays a link
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    with _temporary(target) as fresh:
        with _named(target, fresh):
            yield fresh
        _open_to_others(fresh)
        for folder in (fresh, *(path for path in fresh.rglob("*") if path.is_dir())):
            sync(folder)
        with locked(target):
            _put_in_place(fresh, target)
        sync(target.parent)


@contextmanager
def new_file(target: Path) -> Iterator[BinaryIO]:
    """A file to be written, which appears at `target`, whole, when nothing went wrong."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    with _temporary(target) as folder:
        with _named(target, folder), open(folder / "file", "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(folder / "file", target)
    sync(target.parent)


@contextmanager
def _named(target: Path, fresh: Path) -> Iterator[None]:
    """A full disk does not say where, or says a name of ours; the target's is told instead."""
    try:
        yield
    except OSError as error:
        unnamed = error.filename is None or str(error.filename).startswith(str(fresh))
        if unnamed and error.strerror is not None:
            raise OSError(error.errno, error.strerror, str(target)) from error
        raise


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """A folder beside the target, locked while it is used, so that others see whether its owner lives."""
    folder, lock = _made(target)
    try:
        yield folder
    finally:
        try:
            _discard(folder, target)
        finally:
            if lock is not None:
                os.close(lock)


def _made(target: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=target.parent))
        if fcntl is None:
            return folder, None
        try:
            return folder, _locked(folder, fcntl.LOCK_EX)
        except FileNotFoundError:
            continue  # it was swept away before it was locked
        except OSError:
            return folder, None  # a file system without locks; nobody sweeps there


def _locked(folder: Path, how: int) -> int:
    """A handle that holds the lock of a folder, if the folder is still there."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, how)
        if not os.path.samestat(os.fstat(handle), os.lstat(folder)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    except BaseException:
        os.close(handle)
        raise
    return handle


@contextmanager
def locked(target: Path) -> Iterator[None]:
    """While this lasts, no other process replaces the folder at a place, or changes it under a lock."""
    lock = None
    while fcntl is not None and lock is None and target.is_dir():
        try:
            lock = _locked(target, fcntl.LOCK_EX)
        except FileNotFoundError:
            continue  # another one has been put in its place
        except OSError:
            break  # a file system without locks
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def _sweep(target: Path) -> None:
    """Removes the temporary folders of processes that were killed: their locks are free."""
    if fcntl is None:
        return
    ours = re.compile(re.escape(f".{target.name}.") + "[a-z0-9_]{8}" + re.escape(_SUFFIX))
    for name in filter(ours.fullmatch, os.listdir(target.parent)):
        with suppress(OSError):  # it is in use, or gone
            lock = _locked(target.parent / name, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                _discard(target.parent / name, target)
            finally:
                os.close(lock)


def _discard(folder: Path, target: Path) -> None:
    """Removes a temporary folder; a former target in it goes back, unless its place is taken."""
    with suppress(OSError):
        os.replace(folder / _FORMER, target)
    clear(folder)


def clear(folder: Path) -> None:
    """Removes a folder and all in it, as far as that goes. An interrupt stays one."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:  # interrupted between the closing of a handle and the note of it, rmtree closes it again
        if isinstance(error.__context__, KeyboardInterrupt | SystemExit):
            raise error.__context__ from None
        raise


@contextmanager
def watched(path: Path) -> Iterator[Callable[[], bool]]:
    """Tells whether a folder, or a file of it, was replaced by another while the folder was read, file by file."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # while it is open, no other is taken for it
    try:
        yield lambda: not (path.exists() and os.path.samestat(os.fstat(handle), os.stat(path)))
    finally:
        os.close(handle)


def remove(path: str | os.PathLike[str]) -> None:
    """Removes a folder, if there is one, at once: nobody finds half of it."""
    target = Path(os.path.realpath(path))
    _sweep(target)
    if target.is_dir():
        with _temporary(target) as folder:
            os.replace(target, folder / "removed")
        sync(target.parent)


def _put_in_place(fresh: Path, target: Path) -> None:
    """Renames a folder to its target, or swaps the two; again, if another process was there in between."""
    while True:
        try:
            os.replace(fresh, target)  # there is nothing, or an empty folder
            return
        except OSError as error:
            if error.errno not in (*_TAKEN, errno.EACCES):  # the last is what Windows says
                raise
        try:
            if not _exchange(fresh, target):
                _move_aside(fresh, target)
            return
        except OSError as error:
            if error.errno not in (errno.ENOENT, *_TAKEN):
                raise


def _exchange(one: Path, other: Path) -> bool:
    """Swaps two names at once; False where the system or the file system cannot."""
    names = os.fsencode(one), os.fsencode(other)
    if sys.platform == "linux":
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        function, arguments = "renameat2", (here, names[0], here, names[1], exchange)
    elif sys.platform == "darwin":
        function, arguments = "renamex_np", (*names, 2)  # RENAME_SWAP
    else:
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), function, None)
    if call is None:  # an old C library
        return False
    failed = call(*arguments)
    code = ctypes.get_errno()
    if failed and code not in _NO_EXCHANGE:
        raise OSError(code, os.strerror(code), str(other))
    return not failed


def _move_aside(fresh: Path, target: Path) -> None:
    """Two renames, with nothing at the target in between; whatever happens then, the former one goes back."""
    with _temporary(target) as aside:
        os.replace(target, aside / _FORMER)
        os.replace(fresh, target)


def _open_to_others(folder: Path) -> None:
    """A temporary folder is private; what is finished is as readable as folders are that the user makes."""
    example = folder / _SUFFIX
    example.mkdir()
    folder.chmod(example.stat().st_mode)
    example.rmdir()


def sync(folder: Path) -> None:
    """A new name is on disk when its folder is."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # not every system opens folders
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
