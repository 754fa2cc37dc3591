"""Where documents come from: files, folders, archives, tables, datasets, and objects in memory."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

from paravec.errors import SourceError
from paravec.sources.block import Block, Gathering, Source, StringColumn, counted
from paravec.sources.columns import arrow_blocks, parquet_blocks, pyarrow
from paravec.sources.files import ARCHIVES, Stream, kind_of, zstandard
from paravec.sources.frames import object_source
from paravec.sources.parts import Part, folder, parts, printable
from paravec.sources.tables import Columns, csv_blocks, json_blocks
from paravec.sources.utf8 import Decoding, document, pieces

__all__ = ["Block", "Source", "StringColumn", "read"]

_FORMATS = ("auto", "lines", "files", "jsonl", "csv", "tsv", "parquet", "arrow")
_TABLES = ("jsonl", "csv", "tsv", "parquet", "arrow")


def read(
    source: Any,
    *,
    text: str = "text",
    id: str | None = None,
    format: str = "auto",
    pattern: str = "*",
    encoding: str = "utf-8",
    errors: str = "replace",
) -> Source:
    """Documents of a file, a folder, an archive, a table or any object that gives them, to be read in blocks.

    Parameters
    ----------
    source : str, PathLike, or object
        A path: text with a document a line (``-``: standard input), JSON lines, CSV, TSV, Parquet, Arrow, a folder
        or archive (.tar, .zip) with a document a file, or a folder with the parts of one table. Text may be
        compressed (.gz, .xz, .bz2, .zst). Or an object: a DataFrame of pandas or polars, a table of pyarrow, a
        dataset of Hugging Face, an iterable of rows (mappings), of strings, or of lists of tokens.
    text, id : str
        The columns of a table that have the documents and their ids. Without ids, documents are numbered: from 1 in
        files, from 0 in objects. In a folder or an archive, the id of a document is its path.
    format : "auto", "lines", "files", "jsonl", "csv", "tsv", "parquet" or "arrow"
        What a path holds; "auto" goes by its suffix.
    pattern : str
        Which files of a folder or an archive are read, by their paths: ``"*.txt"``, say; ``*`` matches ``/`` too.
        Hidden ones are not.
    encoding, errors : str
        How bytes become text; errors are replaced by U+FFFD ("replace") or raised ("strict").

    Examples
    --------
    >>> for id, text in read(["the first document", "the second"]):
    ...     print(id, text)
    0 the first document
    1 the second

    """
    columns = _checked_columns(text, id)
    decoding = Decoding.checked(encoding, errors)
    if format not in _FORMATS:
        raise ValueError(f"format={format!r} is not one of {', '.join(map(repr, _FORMATS))}")
    if not isinstance(pattern, str):
        raise TypeError(f"pattern={pattern!r} is not a string; use pattern='*.txt', say")
    if isinstance(source, (str, os.PathLike)):
        return _path_source(os.fsdecode(source), columns, format, pattern, decoding)
    for name, value, usual in (("format", format, "auto"), ("pattern", pattern, "*")):
        if value != usual:
            raise ValueError(f"{name}={value!r} is for files, but source is a {type(source).__name__}; leave it out")
    _refuse_encoding(decoding, f"a {type(source).__name__}")
    return object_source(source, columns, errors)


def _checked_columns(text: Any, id: Any) -> Columns:
    if not isinstance(text, str):
        raise TypeError(f"text={text!r} is not the name of a column; use text='text', say")
    if id is not None and not isinstance(id, str):
        raise TypeError(f"id={id!r} is not the name of a column; use id='id', say, or None to number documents")
    return Columns(text, id)


def _refuse_encoding(decoding: Decoding, what: str) -> None:
    if not decoding.is_utf8:
        raise ValueError(f"encoding={decoding.encoding!r} has no meaning for {what}, which holds text; leave it out")


def _path_source(path: str, columns: Columns, format: str, pattern: str, decoding: Decoding) -> Source:
    name = "standard input" if path == "-" else printable(path)
    _refuse_our_own(path, name)
    kinds, total, holds_many = _inside(path, pattern)
    if pattern != "*" and not holds_many:
        raise ValueError(f"pattern={pattern!r} is for folders and archives, but {name} is neither; leave it out")
    if format == "auto":
        if kind_of(path)[0] == "json":
            raise ValueError(f"{name} may be JSON lines or one value: give format='jsonl' if every line is an object")
        format = _format_of(kinds, holds_many)
    if format not in _TABLES and columns.are_given:
        what = f"{name} is read as format={format!r}, which has none"
        raise ValueError(f"{columns.asked} names a column, but {what}; leave it out, or give the format")
    if format in ("parquet", "arrow"):
        _refuse_encoding(decoding, f"format={format!r}")
        pyarrow(f"format={format!r}")
    if kind_of(path)[1] == ".zst":
        zstandard()
    make = partial(_path_blocks, path, columns, format, pattern, decoding)
    return Source(name, make, total=total, unit="bytes", once=path == "-")


def _refuse_our_own(path: str, name: str) -> None:
    """A folder that paravec made holds arrays, not documents."""
    for what, marks in (
        ("corpus", ("tokens.bin", "offsets.bin")),
        ("model", ("settings.json", "vocabulary.safetensors")),
    ):
        if all(os.path.isfile(os.path.join(path, mark)) for mark in marks):
            raise SourceError(f"{name} is a paravec {what}, which holds no text; give the documents it was made of")


def _inside(path: str, pattern: str) -> tuple[set[str], int | None, bool]:
    """The kinds of files a path stands for, their size if known, and whether they may be many."""
    if path == "-":
        return {"lines"}, None, False
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:
        code = getattr(error, "errno", None) or errno.ENOENT
        raise OSError(code, os.strerror(code), path if len(path) < 200 else f"{path[:200]}...") from None
    if os.path.isdir(path):
        return *folder(path, pattern), True
    kind = kind_of(path)[0]
    return {kind}, (found.st_size if os.path.isfile(path) else None), kind in ARCHIVES


def _format_of(kinds: set[str], holds_many: bool) -> str:
    """The format that the names of files tell: a table if all are of one kind of table."""
    if len(kinds) == 1 and (only := next(iter(kinds))) in _TABLES:
        return only
    return "files" if holds_many else "lines"


def _path_blocks(path: str, columns: Columns, format: str, pattern: str, decoding: Decoding) -> Iterator[Block]:
    with closing(parts(path, pattern)) as found:
        if format == "files":
            yield from _file_blocks(found, decoding)
            return
        for part in found:
            yield from _part_blocks(part.stream, columns, format, decoding)


def _part_blocks(stream: Stream, columns: Columns, format: str, decoding: Decoding) -> Iterator[Block]:
    if format == "lines":
        return _line_blocks(stream, decoding)
    if format == "jsonl":
        return json_blocks(stream, columns, decoding)
    if format == "parquet":
        return parquet_blocks(stream, columns, decoding.errors)
    if format == "arrow":
        return arrow_blocks(stream, columns, decoding.errors)
    return csv_blocks(stream, columns, decoding, "," if format == "csv" else "\t")


def _line_blocks(stream: Stream, decoding: Decoding) -> Iterator[Block]:
    for piece in pieces(stream, decoding):
        data = piece.data
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n")
            data = data[:-1] + b"\n" if data.endswith(b"\r") else data
        yield Block(data, None, counted(stream.name, "line", piece.line), stream.position(), **piece.notes)


def _file_blocks(files: Iterator[Part], decoding: Decoding) -> Iterator[Block]:
    gathering = Gathering(str)
    done = 0
    for file in files:
        gathering.add(document(file.stream, decoding, gathering.notes), file.id, file.stream.name)
        done = file.stream.position()
        if gathering.is_full:
            yield gathering.block(done)
    if len(gathering):
        yield gathering.block(done)
