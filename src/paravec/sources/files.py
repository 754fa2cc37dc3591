"""Files as streams of bytes: opened, decompressed, and found whole and unchanged."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
import stat
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, BinaryIO

from paravec.errors import SourceError

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
_SHORT = {".tgz": ".tar.gz", ".txz": ".tar.xz", ".tbz2": ".tar.bz2", ".tzst": ".tar.zst"}
_KINDS = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".tar": "tar",
    ".zip": "zip",
}
ARCHIVES = ("tar", "zip")
_BROKEN = (  # what the libraries raise on files that are not what they should be
    *(EOFError, OSError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, struct.error),
    *(NotImplementedError, ValueError, LookupError, OverflowError),
)


def kind_of(name: str) -> tuple[str, str]:
    """What the name of a file says it holds, and how that is compressed.

    >>> kind_of("reviews.jsonl.gz"), kind_of("all.tgz"), kind_of("notes.txt")
    (('jsonl', '.gz'), ('tar', '.gz'), ('lines', ''))
    """
    root, suffix = os.path.splitext(name.lower())
    if suffix in _SHORT:
        root, suffix = os.path.splitext(root + _SHORT[suffix])
    if suffix not in COMPRESSIONS:
        return _KINDS.get(suffix, "lines"), ""
    return _KINDS.get(os.path.splitext(root)[1], "lines"), suffix


def imported(module: str, what: str, extra: str) -> Any:
    """A module that is needed only for some sources."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {module} ({error}); pip install 'paravec[{extra}]'") from error


@contextmanager
def explained(name: str, position: Callable[[], int] | None = None) -> Iterator[None]:
    """Turns what goes wrong with broken files into a SourceError that says where."""
    try:
        yield
    except SourceError:
        raise
    except _BROKEN as error:
        where = "" if position is None else f"; at byte {position()}"
        raise SourceError(f"{name} is broken: {str(error) or type(error).__name__}{where}") from error


class Stream(io.RawIOBase):
    """The decompressed bytes of a file; what goes wrong is a SourceError with the file's name.

    `raw` is the file itself where the stream is nothing else, for formats that need to jump about in it.
    """

    def __init__(self, file: Any, name: str, position: Callable[[], int] | None = None, raw: Any = None) -> None:
        self.name = name
        self.raw: BinaryIO | None = raw
        self.taken = 0
        self._file = file
        self.position = position or (lambda: self.taken)

    def readable(self) -> bool:
        """Always."""
        return True

    def tell(self) -> int:
        """How many bytes were taken."""
        return self.taken

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as are asked for unless the stream ends."""
        with explained(self.name, self.position):
            data: bytes = self._file.read(size)
        self.taken += len(data)
        return data


@contextmanager
def opened(path: str, name: str, remedy: str = "") -> Iterator[BinaryIO]:
    """A file, open for reading; it is an error if it is another one afterwards."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (it is closed below)
    except OSError as error:
        raise SourceError(f"{name} cannot be read: {error.strerror or error}{remedy}") from error
    with file:
        before = _state(file)
        yield file
        if _state(file) != before:
            raise SourceError(f"{name} changed while it was read; read it again when it is at rest")


def _state(file: BinaryIO) -> tuple[int, ...] | None:
    """What changes when a file is written to; nothing of the kind is known of a pipe."""
    now = os.fstat(file.fileno())
    return (now.st_ino, now.st_size, now.st_mtime_ns) if stat.S_ISREG(now.st_mode) else None


@contextmanager
def stream_of(raw: BinaryIO, name: str, compression: str, base: int = 0) -> Iterator[Stream]:
    """The decompressed bytes of an open file; progress counts from `base`."""
    position = (lambda: base + raw.tell()) if raw.seekable() else None
    with decompressed(raw, compression) as file:
        yield Stream(file, name, position, None if compression else raw)


def decompressed(file: Any, compression: str) -> AbstractContextManager[Any]:
    """The decompressed bytes of an open file, as another one."""
    if not compression:
        return nullcontext(file)
    if compression == ".gz":
        return gzip.GzipFile(fileobj=file, mode="rb")
    if compression == ".bz2":
        return bz2.BZ2File(file)
    if compression == ".xz":
        return lzma.LZMAFile(file)
    return io.BufferedReader(_Zstandard(file), 1 << 20)


def standard_input() -> Stream:
    """What comes in by the pipe."""
    return Stream(sys.stdin.buffer, "standard input")


def zstandard() -> tuple[Callable[[], Any], type[Exception]]:
    """What makes a decompressor of one frame, and the error it raises."""
    if sys.version_info >= (3, 14):
        ours: Any = importlib.import_module("compression.zstd")
        widest = {ours.DecompressionParameter.window_log_max: 31}
        return (lambda: ours.ZstdDecompressor(options=widest)), ours.ZstdError
    module = imported("zstandard", "a .zst file", "zst")
    return module.ZstdDecompressor(max_window_size=1 << 31).decompressobj, module.ZstdError


class _Zstandard(io.RawIOBase):
    """The text of zstd frames, one after another; a frame that is cut off is an error."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._new_frame, self._error = zstandard()
        self._frame: Any = None
        self._input = b""
        self._output = memoryview(b"")

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some of the text, as much as is at hand."""
        while not self._output:
            data = self._input or self._file.read(1 << 16)
            if not data and self._frame is None:
                return 0
            if not data:
                raise EOFError("it ends within a frame")
            self._decompress(data)
        count = min(len(buffer), len(self._output))
        buffer[:count] = self._output[:count]
        self._output = self._output[count:]
        return count

    def _decompress(self, data: bytes) -> None:
        self._frame = self._frame or self._new_frame()
        try:
            self._output = memoryview(self._frame.decompress(data))
        except self._error as error:
            raise OSError(str(error)) from error
        self._input = b""
        if self._frame.eof:
            self._input, self._frame = self._frame.unused_data, None
