"""Columns of tables, their texts left where they lie, end to end; and files of columns, Parquet and Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.arguments import DocumentId
from paravec.errors import SourceError
from paravec.sources import block
from paravec.sources.block import Block, Notes, StringColumn, counted
from paravec.sources.files import Stream, imported
from paravec.sources.tables import Columns, document_at, id_of, list_blocks, refuse_missing
from paravec.sources.utf8 import first_invalid, replaced

PlaceFrom = Callable[[int], Callable[[int], str]]
_OFFSETS = {"string": np.int32, "binary": np.int32, "large_string": np.int64, "large_binary": np.int64}


@dataclass(frozen=True)
class Slice:
    """Some consecutive rows of a table."""

    texts: Any  # an array of Arrow, or a list
    ids: list[Any] | None
    done: int


def pyarrow(what: str) -> Any:
    """The library for tables of columns, with the modules needed here."""
    module = imported("pyarrow", what, "tables")
    imported("pyarrow.parquet", what, "tables")
    return module


def column_blocks(slices: Iterator[Slice], place_from: PlaceFrom, errors: str) -> Iterator[Block]:
    """Blocks of the rows of a table; ``place_from(row)(i)`` is where the document `i` rows further is."""
    row = 0
    for each in slices:
        if len(each.texts):
            place = place_from(row)
            ids = None if each.ids is None else [id_of(id, place(i)) for i, id in enumerate(each.ids)]
            yield from _blocks(each, ids, place, errors)
        row += len(each.texts)


def _blocks(rows: Slice, ids: list[DocumentId] | None, place: Callable[[int], str], errors: str) -> Iterator[Block]:
    texts = rows.texts if isinstance(rows.texts, list) else _texts(rows.texts, place)
    if isinstance(texts, list):
        yield from list_blocks(texts, ids, place, rows.done, errors)
        return
    for start, stop in texts.parts():
        notes = Notes()

        def place_of_part(i: int, start: int = start) -> str:
            return place(start + i)

        part = _sound(texts.slice(start, stop), place_of_part, notes, errors)
        yield Block(part, None if ids is None else ids[start:stop], place_of_part, rows.done, **notes.take())


def _texts(array: Any, place: Callable[[int], str]) -> StringColumn | list[Any]:
    """The texts of an array of Arrow; lists of tokens as they are."""
    pa = pyarrow("a table")
    if str(array.type) not in _OFFSETS:
        array.validate(full=True)  # what follows would trust it
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if str(array.type) in ("string_view", "binary_view"):
        array = array.cast(pa.large_string() if str(array.type) == "string_view" else pa.large_binary())
    if array.null_count:
        refuse_missing(place(int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])))
    if str(array.type) in _OFFSETS:
        return _strings(array)
    if "list" in str(array.type).split("<")[0]:
        return array.to_pylist()  # type: ignore[no-any-return]
    raise SourceError(f"{document_at(place(0))} is of type {array.type}; a document is a string or a list of tokens")


def _strings(array: Any) -> StringColumn:
    array.validate()
    _, offsets, data = array.buffers()
    kind = np.dtype(_OFFSETS[str(array.type)])
    ends = np.frombuffer(offsets, kind, len(array) + 1, array.offset * kind.itemsize).astype(np.int64)
    bytes_of = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    if ends[0] < 0 or ends[-1] > len(bytes_of) or np.any(np.diff(ends) < 0):
        raise pyarrow("a table").ArrowInvalid("its texts are not within it")
    return StringColumn(bytes_of[ends[0] : ends[-1]], ends - ends[0])


def _sound(texts: StringColumn, place: Callable[[int], str], notes: Notes, errors: str) -> StringColumn:
    """Texts that are UTF-8 each, and not just all together."""
    starts = texts.offsets[:-1][np.diff(texts.offsets) > 0]
    cut = bool(np.any((texts.data[starts] & 0xC0) == 0x80))
    if not cut and first_invalid(texts.data) < 0:
        return texts
    fixed = []
    for i in range(len(texts)):
        text = texts[i]
        at = first_invalid(text)
        if at >= 0 and errors == "strict":
            raise SourceError(
                f'{document_at(place(i))} is not UTF-8: byte {at} is 0x{text[at]:02x}; mend it, or errors="replace"'
            )
        if at >= 0:
            text, count = replaced(text)
            notes.add(count, f"{place(i)}, byte {at}")
        fixed.append(text)
    return _joined(fixed)


def _joined(texts: list[bytes]) -> StringColumn:
    offsets: NDArray[np.int64] = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    return StringColumn(np.frombuffer(b"".join(texts), np.uint8), offsets)


@contextmanager
def arrow_errors(what: str) -> Iterator[None]:
    """Turns what goes wrong in Arrow into a SourceError."""
    pa = pyarrow("a table")
    try:
        yield
    except SourceError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise SourceError(f"{what}: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from error


def batch_slices(batch: Any, columns: Columns, start: int, done: Callable[[int], int]) -> Iterator[Slice]:
    """The rows of a record batch, some at a time; `done` makes the progress of the number of rows read."""
    for first in range(0, batch.num_rows, block.BLOCK_ROWS):
        rows = batch.slice(first, block.BLOCK_ROWS)
        yield Slice(rows.column(columns.text), _ids(rows, columns), done(start + first + rows.num_rows))


def _ids(rows: Any, columns: Columns) -> list[Any] | None:
    if columns.id is None:
        return None
    ids = rows.column(columns.id)
    ids.validate(full=True)
    return ids.to_pylist()  # type: ignore[no-any-return]


def parquet_blocks(stream: Stream, columns: Columns, errors: str) -> Iterator[Block]:
    """The rows of a Parquet file, of which only the columns needed are read."""
    raw = _seekable(stream, "a Parquet file")
    pa = pyarrow("a Parquet file")
    with (
        arrow_errors(f"{stream.name} is broken, or not Parquet"),
        pa.parquet.ParquetFile(raw, buffer_size=1 << 20, pre_buffer=False) as file,
    ):
        columns.check(file.schema_arrow.names, stream.name)
        batches = file.iter_batches(_rows_at_once(file.metadata), columns=columns.names)
        slices = _file_slices(batches, columns, stream, file.metadata.num_rows)
        yield from column_blocks(slices, _row_of(stream.name), errors)


def _rows_at_once(metadata: Any) -> int:
    """Rows that make at most a block in the row group where they are the longest, all their columns together.

    The sizes of single columns are left alone: in a broken file, asking for them ends the process.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    longest = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1)
    return max(1, min(block.BLOCK_ROWS, int(block.BLOCK_BYTES / max(longest, 1))))


def arrow_blocks(stream: Stream, columns: Columns, errors: str) -> Iterator[Block]:
    """The rows of a file of Arrow, in its file format or its stream format, a record batch at a time."""
    pa = pyarrow("an Arrow file")
    with arrow_errors(f"{stream.name} is broken, or not Arrow"):
        if stream.raw is None or _magic(stream.raw) != b"ARROW1":
            batches = pa.ipc.open_stream(stream)
            columns.check(batches.schema.names, stream.name)
        else:
            batches = _stored_batches(pa, stream, columns)
        yield from column_blocks(_file_slices(batches, columns, stream, None), _row_of(stream.name), errors)


def _stored_batches(pa: Any, stream: Stream, columns: Columns) -> Iterator[Any]:
    names = pa.ipc.open_file(stream.raw).schema.names
    columns.check(names, stream.name)
    wanted = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in columns.names])
    file = pa.ipc.open_file(stream.raw, options=wanted)
    return (file.get_batch(i) for i in range(file.num_record_batches))


def _file_slices(batches: Any, columns: Columns, stream: Stream, total: int | None) -> Iterator[Slice]:
    """Rows with the progress in bytes: by their share where their number is known, else by what has been read."""
    base, size = _extent(stream)
    start = 0
    for batch in batches:
        yield from batch_slices(
            batch, columns, start, lambda rows: base + size * rows // total if total else stream.position()
        )
        start += batch.num_rows


def _extent(stream: Stream) -> tuple[int, int]:
    """Where a file starts in its source, and its size."""
    if stream.raw is None:
        return 0, 0
    return stream.position() - stream.raw.tell(), os.fstat(stream.raw.fileno()).st_size


def _seekable(stream: Stream, what: str) -> Any:
    if stream.raw is None or not stream.raw.seekable():
        where = "compressed, in an archive, or a pipe"
        raise SourceError(f"{stream.name} is {where}, where {what} cannot be read; unpack it first")
    return stream.raw


def _magic(raw: Any) -> bytes:
    if not raw.seekable():
        return b""
    start: bytes = raw.read(6)
    raw.seek(-len(start), os.SEEK_CUR)
    return start


def _row_of(name: str) -> PlaceFrom:
    return lambda row: counted(name, "row", row + 1)
