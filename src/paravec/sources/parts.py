"""The files that a path stands for: one, those of a folder, those in an archive."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from paravec.errors import SourceError
from paravec.sources.files import ARCHIVES, Stream, decompressed, explained, kind_of, opened, standard_input, stream_of

_REMEDY = "; remove it, or leave it out by pattern="


@dataclass(frozen=True)
class Part:
    """A file that is open until the next one is asked for."""

    id: str  # its path within the source
    stream: Stream


@dataclass(frozen=True)
class _File:
    path: str  # to open it
    id: str  # its path within the folder, with /
    name: str  # for messages
    size: int


def parts(path: str, pattern: str) -> Generator[Part]:
    """The files of a source one after another, those in archives too."""
    if path == "-":
        yield Part("-", standard_input())
    elif not os.path.isdir(path):
        file = _File(path, "", printable(path), 0)
        yield from _parts_of(file, 0, _selects(pattern), "")
    else:
        base = 0
        for file in walk(path, pattern):
            yield from _parts_of(file, base, _selects(pattern), _REMEDY)
            base += file.size


def folder(path: str, pattern: str) -> tuple[set[str], int]:
    """The kinds of the files in a folder, and their size together."""
    kinds, size = set(), 0
    for file in walk(path, pattern):
        kinds.add(kind_of(file.path)[0])
        size += file.size
    return kinds, size


def walk(folder: str, pattern: str) -> Iterator[_File]:
    """The files below a folder, sorted by their paths; none that is hidden, none through a link to a folder.

    Archives are given whatever the pattern: it selects among their members.
    """
    waiting = [(os.fspath(folder), "")]
    selects = _selects(pattern)
    while waiting:
        path, id = waiting.pop()
        if id.endswith("/") or not id:
            waiting += _entries(path, id)
        elif kind_of(path)[0] in ARCHIVES or selects(id):
            yield _regular(path, id, f"{printable(folder).rstrip('/')}/{id}")


def _entries(path: str, id: str) -> list[tuple[str, str]]:
    """(path, id) of what is in a folder, the last first; the id of a folder ends with a slash, as in full paths."""
    try:
        with os.scandir(path) as found:
            entries = [entry for entry in found if not entry.name.startswith(".")]
    except OSError as error:
        raise SourceError(f"the folder {printable(path)} cannot be read: {error.strerror}{_REMEDY}") from error
    seen = [
        (entry.path, f"{id}{printable(entry.name)}{'/' if entry.is_dir(follow_symlinks=False) else ''}")
        for entry in entries
        if not (entry.is_symlink() and os.path.isdir(entry.path))
    ]
    return sorted(seen, key=lambda each: each[1], reverse=True)


def _regular(path: str, id: str, name: str) -> _File:
    try:
        found = os.stat(path)
    except OSError as error:
        what = "is a link to nowhere" if os.path.islink(path) else "cannot be read"
        raise SourceError(f"{name} {what}: {error.strerror}{_REMEDY}") from error
    if not stat.S_ISREG(found.st_mode):
        raise SourceError(f"{name} is no file, but a pipe, socket or device{_REMEDY}")
    return _File(path, id, name, found.st_size)


def _parts_of(file: _File, base: int, selects: Callable[[str], bool], remedy: str) -> Iterator[Part]:
    kind, compression = kind_of(file.path)
    with opened(file.path, file.name, remedy) as raw, stream_of(raw, file.name, compression, base) as stream:
        if kind in ARCHIVES:
            yield from _members(stream, kind, f"{file.id}/" if file.id else "", selects)
        else:
            yield Part(file.id or os.path.basename(file.name), stream)


def _members(stream: Stream, kind: str, prefix: str, selects: Callable[[str], bool]) -> Iterator[Part]:
    """The files in an archive, and in archives in it; `prefix` is what their ids begin with."""
    found = _in_tar(stream) if kind == "tar" else _in_zip(stream)
    for member, open_member in found:
        member = printable(member).removeprefix("./")
        id = prefix + member
        inner, compression = kind_of(member)
        if _is_hidden(member) or not (inner in ARCHIVES or selects(id)):
            continue
        name = f"{stream.name}/{member}"
        with explained(name, stream.position), open_member() as file, decompressed(file, compression) as unpacked:
            content = Stream(unpacked, name, stream.position)
            if inner in ARCHIVES:
                yield from _members(content, inner, f"{id}/", selects)
            else:
                yield Part(id, content)


def _is_hidden(member: str) -> bool:
    return any(step.startswith(".") and step not in (".", "..") for step in member.split("/"))


class _Header(tarfile.TarInfo):
    """A member's header; tarfile itself takes one that is broken or cut off for the end of the archive."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Any:
        try:
            return super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            what = "the archive is cut off" if len(buf) < tarfile.BLOCKSIZE else str(error)
            raise tarfile.ReadError(what) from error


def _in_tar(stream: Stream) -> Iterator[tuple[str, Callable[[], Any]]]:
    with (
        explained(stream.name, stream.position),
        tarfile.open(fileobj=stream, mode="r|", tarinfo=_Header, encoding="utf-8", bufsize=1 << 20) as archive,
    ):
        while (member := archive.next()) is not None:
            if member.isreg():
                yield member.name, partial(archive.extractfile, member)
            archive.members.clear()  # type: ignore[attr-defined]  # which would grow with the archive


def _in_zip(stream: Stream) -> Iterator[tuple[str, Callable[[], Any]]]:
    if stream.raw is None:
        raise SourceError(f"{stream.name} is a zip file within a compressed file; unpack the outer one first")
    with explained(stream.name, stream.position), zipfile.ZipFile(stream.raw) as archive:
        for member in archive.infolist():
            mode = stat.S_IFMT(member.external_attr >> 16)
            if not member.is_dir() and mode in (0, stat.S_IFREG):
                yield member.filename, partial(_open_in_zip, archive, member, stream.name)


def _open_in_zip(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Any:
    if member.flag_bits & 1:
        raise SourceError(f"{name}/{member.filename} is encrypted; decrypt it first, or leave it out by pattern=")
    return archive.open(member)


def _selects(pattern: str) -> Callable[[str], bool]:
    return lambda id: fnmatchcase(id, pattern)


def printable(name: str) -> str:
    """A file's name as text, whatever bytes it is of."""
    return os.fsencode(name).decode("utf-8", "replace")
