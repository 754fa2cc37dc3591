"""Named arrays in a safetensors file: written piece by piece, mapped when read.

The safetensors package copies all arrays on both ways, and documents may be larger than memory.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import reprlib
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from paravec.errors import TensorError
from paravec.plain import open_plain

_DTYPES = {"U8": "|u1", "I32": "<i4", "I64": "<i8", "U64": "<u8", "F32": "<f4"}
_NAMES = {np.dtype(dtype): name for name, dtype in _DTYPES.items()}
_METADATA = "__metadata__"
_ALIGNMENT = 64  # bytes, of where the first array begins
_LARGEST_HEADER = 1 << 20
_MOST_DIMENSIONS = 8
_PIECE = 1 << 20  # bytes that are copied or checked at once; they stay in the cache

Entry = tuple[np.dtype[Any], tuple[int, ...], int, int]  # of an array: its type, shape, first byte and end


@dataclass(frozen=True)
class Blocks:
    """An array to be written that is never whole in memory: blocks of its rows."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterator[NDArray[Any]]]

    @property
    def itemsize(self) -> int:
        """The bytes of a number."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all."""
        return self.itemsize * math.prod(self.shape)


Writable = Mapping[str, "NDArray[Any] | Blocks"]


@overload
def write(
    path: str | os.PathLike[str],
    arrays: Writable,
    metadata: Mapping[str, str] | None = None,
    *,
    checksum: Literal[True],
) -> int: ...
@overload
def write(path: str | os.PathLike[str], arrays: Writable, metadata: Mapping[str, str] | None = None) -> None: ...
def write(
    path: str | os.PathLike[str],
    arrays: Writable,
    metadata: Mapping[str, str] | None = None,
    *,
    checksum: bool = False,
) -> int | None:
    """Writes a file and sees it to disk; with `checksum`, tells the CRC-32 of its bytes.

    A file of that name is replaced, never written into: someone may have mapped it.
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # so that all are aligned without holes
    parts = [_header({name: arrays[name] for name in order}, metadata), *(arrays[name] for name in order)]
    value = 0
    try:
        Path(path).unlink(missing_ok=True)
        with open(path, "xb", buffering=0) as file:
            for piece in (piece for part in parts for piece in _pieces(part)):
                write_all(file, piece)
                value = zlib.crc32(piece.data, value) if checksum else 0
            os.fsync(file.fileno())
    except OSError as error:  # a full disk does not say where
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    return value if checksum else None


def write_all(file: Any, array: NDArray[Any]) -> None:
    """A raw file may take less than it is given."""
    left = np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
    while left:
        left = left[file.write(left) :]


def crc32(path: str | os.PathLike[str]) -> int:
    """The CRC-32 of a file's bytes."""
    value = 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(_PIECE):
            value = zlib.crc32(piece, value)
    return value


def _header(arrays: Writable, metadata: Mapping[str, str] | None) -> NDArray[np.uint8]:
    about: dict[str, Any] = {_METADATA: dict(metadata)} if metadata else {}
    begin = 0
    for name, array in arrays.items():
        kind = _NAMES.get(array.dtype.newbyteorder("<"))
        if kind is None or name == _METADATA:
            raise ValueError(
                f"the array {name!r} is {array.dtype}, which cannot be written; the types are "
                f"{', '.join(dtype.name for dtype in _NAMES)}, and the name {_METADATA} is taken"
            )
        about[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [begin, begin + array.nbytes]}
        begin += array.nbytes
    text = json.dumps(about, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    if len(text) > _LARGEST_HEADER:
        raise ValueError(f"the names and metadata of {len(arrays)} arrays take {len(text)} bytes; write fewer")
    return np.frombuffer(len(text).to_bytes(8, "little") + text, dtype=np.uint8)


def _pieces(array: NDArray[Any] | Blocks) -> Iterator[NDArray[Any]]:
    """The numbers of an array in order, little-endian, a piece at a time, whatever its strides."""
    if isinstance(array, Blocks):
        for block in array.blocks():
            yield from _pieces(block)
        return
    little = array.dtype.newbyteorder("<")
    if array.flags.c_contiguous and array.dtype == little:
        flat = array.reshape(-1)
        rows = _PIECE // array.itemsize
        yield from (flat[i : i + rows] for i in range(0, len(flat), rows))
    elif array.nbytes <= _PIECE:
        yield np.ascontiguousarray(array, dtype=little).reshape(-1)
    else:
        rows = _PIECE // (array.nbytes // len(array))
        parts = (array[i : i + rows] for i in range(0, len(array), rows)) if rows else array
        for part in parts:
            yield from _pieces(part)


def read(path: str | os.PathLike[str], checksum: str | None = None) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Maps the arrays of a file, to be read only, and tells its metadata.

    Only the header is looked at, unless the CRC-32 of all bytes is to be a `checksum` (eight hexadecimal digits). The
    arrays stay when the file is renamed or removed. One that is cut short meanwhile ends the process.
    """
    try:
        mapped = _mapped(path)
        entries, metadata = _checked(*_parsed(mapped), len(mapped))
        if checksum is not None and f"{zlib.crc32(mapped):08x}" != checksum:
            raise ValueError(f"its checksum is not {checksum!r:.40}")
        return {
            name: np.ndarray(shape, dtype, mapped, begin) for name, (dtype, shape, begin, _) in entries.items()
        }, metadata
    except OSError as error:
        raise TensorError(f"{os.fspath(path)} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise TensorError(f"{os.fspath(path)} is no good safetensors file: {error}; copy or make it again") from None


def _mapped(path: str | os.PathLike[str]) -> mmap.mmap:
    handle = open_plain(path)
    try:
        size = os.fstat(handle).st_size
        if size < 8:
            raise ValueError(f"it has {size} bytes, and the least is 8")
        if sys.version_info >= (3, 13):
            return mmap.mmap(handle, size, access=mmap.ACCESS_READ, trackfd=False)
        return mmap.mmap(handle, size, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def _parsed(mapped: mmap.mmap) -> tuple[dict[str, Any], int]:
    """The header as JSON, and where it ends."""
    length = int.from_bytes(mapped[:8], "little")
    if not 0 < length <= min(_LARGEST_HEADER, len(mapped) - 8):
        raise ValueError(
            f"its header is said to have {length} bytes, of {len(mapped) - 8} there are and {_LARGEST_HEADER} allowed"
        )
    text = mapped[8 : 8 + length].decode("utf-8")
    about = json.loads(text, object_pairs_hook=_distinct, parse_int=_number, parse_constant=_refuse_constant)
    if not isinstance(about, dict):
        raise ValueError("its header is no object")
    return about, 8 + length


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"{reprlib.repr(key)} is there twice")
        found[key] = value
    return found


def _number(digits: str) -> int:
    if len(digits) > 19:
        raise ValueError("a number does not fit 64 bits")
    return int(digits)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _checked(about: dict[str, Any], start: int, size: int) -> tuple[dict[str, Entry], dict[str, str]]:
    """What the header says of each array, if the arrays fill the rest of the file, each byte once."""
    metadata = about.pop(_METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata are not names with strings")
    entries = {name: _entry(name, told, start) for name, told in about.items()}
    at = start
    for name, (dtype, _, begin, end) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != at:
            raise ValueError(f"{reprlib.repr(name)} begins at byte {begin}, and the array before it ends at {at}")
        if begin % dtype.itemsize:
            raise ValueError(f"{reprlib.repr(name)} begins at byte {begin}, which {dtype.name} cannot")
        at = end
    if at != size:
        raise ValueError(f"it has {size} bytes, and its arrays end at {at}")
    return entries, metadata


def _entry(name: str, told: Any, start: int) -> Entry:
    what = reprlib.repr(name)
    if not isinstance(told, dict) or told.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"{what} has not just a dtype, a shape and data_offsets")
    kind, shape, offsets = told["dtype"], told["shape"], told["data_offsets"]
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"{what} has the dtype {reprlib.repr(kind)}; {', '.join(_DTYPES)} are known")
    if not _are_sizes(shape) or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{what} has the shape {reprlib.repr(shape)}")
    dtype = np.dtype(_DTYPES[kind])
    if dtype.itemsize * math.prod(max(1, n) for n in shape) >= 1 << 63:  # NumPy asks this of empty arrays, too
        raise ValueError(f"{what} has the shape {reprlib.repr(shape)}, which is too large")
    if not _are_sizes(offsets) or len(offsets) != 2 or offsets[1] - offsets[0] != dtype.itemsize * math.prod(shape):
        raise ValueError(
            f"{what} has the data_offsets {reprlib.repr(offsets)}, not those of {kind} x {reprlib.repr(shape)}"
        )
    return dtype, tuple(shape), start + offsets[0], start + offsets[1]


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
