"""Tables of rows: JSON lines, CSV, and rows or documents that come one by one."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from paravec.arguments import DocumentId
from paravec.errors import SourceError
from paravec.sources.block import Block, Document, Gathering, Notes, counted
from paravec.sources.files import Stream
from paravec.sources.utf8 import Decoding, Piece, pieces


@dataclass(frozen=True)
class Columns:
    """The names of the columns with the texts and with their ids."""

    text: str = "text"
    id: str | None = None

    @property
    def are_given(self) -> bool:
        """Whether anything but the default was asked for."""
        return self != Columns()

    @property
    def asked(self) -> str:
        """What was asked for, for messages."""
        return f"text={self.text!r}" if self.id is None else f"id={self.id!r}"

    @property
    def names(self) -> list[str]:
        """Each column that is needed, once."""
        return list(dict.fromkeys([self.text] if self.id is None else [self.text, self.id]))

    def check(self, names: Sequence[Any], where: str) -> None:
        """Refuses a table without these columns."""
        for argument, wanted in (("text", self.text), ("id", self.id)):
            if wanted is None or names.count(wanted) == 1:
                continue
            if wanted in names:
                raise SourceError(f"{where} has {names.count(wanted)} columns {wanted!r}; rename all but one")
            there = ", ".join(map(repr, names)) or "none"
            raise SourceError(f"{where} has no column {wanted!r}; its columns are: {there}; name one by {argument}=")


def document_of(value: Any, place: str, notes: Notes, errors: str) -> Document:
    """A cell as a document: text, or a list of tokens."""
    if isinstance(value, str):
        return _encodable(value, place, notes, errors)
    if is_missing(value):
        refuse_missing(place)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist()  # type: ignore[no-any-return]
    if hasattr(value, "to_list"):  # a list in a column of polars is a Series
        return value.to_list()  # type: ignore[no-any-return]
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return value
    raise SourceError(f"{document_at(place)} is {_shown(value)}; a document is a string or a list of tokens")


def id_of(value: Any, place: str) -> DocumentId:
    """A cell as an id."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if is_missing(value):
        raise SourceError(f"the id at {place} is missing ({value!r}); fill it, or drop the row")
    if isinstance(value, bool) or not isinstance(value, int):
        raise SourceError(f"the id at {place} is {_shown(value)}; an id is a string or an integer")
    return int(value)


def is_missing(value: Any) -> bool:
    """Whether a cell is what tables put where there is nothing."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def document_at(place: str) -> str:
    """A document in a message, by its place."""
    return place if place.startswith("document ") else f"the document at {place}"


def refuse_missing(place: str) -> NoReturn:
    """Says which document there is none of."""
    raise SourceError(f"{document_at(place)} is missing; fill it or drop it")


def _encodable(text: str, place: str, notes: Notes, errors: str) -> str:
    """A text without the halves of surrogate pairs, which escapes in JSON can leave and no encoding has."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        if errors == "strict":
            raise SourceError(
                f"{document_at(place)} has half a surrogate pair, {text[error.start]!r}, at character "
                f'{error.start}; mend it, or give errors="replace"'
            ) from None
        fixed = "".join("\ufffd" if "\ud800" <= each <= "\udfff" else each for each in text)
        notes.add(fixed.count("\ufffd") - text.count("\ufffd"), f"{place}, character {error.start}")
        return fixed
    return text


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float)) else f"a {type(value).__name__}"


def json_blocks(stream: Stream, columns: Columns, text: Decoding) -> Iterator[Block]:
    """A document a line, each line a JSON object; empty lines are passed over."""
    place = counted(stream.name, "line", 0)
    gathering = Gathering(place)
    for piece in pieces(stream, text):
        gathering.notes.add(**piece.notes)
        for number, line in enumerate(piece.data.decode().split("\n"), start=piece.line):
            if not line or line.isspace():
                continue
            row = _json_object(line, stream.name, number)
            document, id = _cells(row, columns, place(number), gathering.notes, text.errors)
            gathering.add(document, id, number)
            if gathering.is_full:
                yield gathering.block(stream.position())
    if len(gathering):
        yield gathering.block(stream.position())


def _json_object(line: str, name: str, number: int) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise SourceError(f"{name}, line {number}, column {error.colno} is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{name}, line {number} is not JSON that can be read: {error}") from None
    if not isinstance(row, dict):
        raise SourceError(f'{name}, line {number} is {_shown(row)}; a line is to be an object, {{"text": ...}}, say')
    return row


def _cells(
    row: Mapping[Any, Any], columns: Columns, place: str, notes: Notes, errors: str
) -> tuple[Document, DocumentId | None]:
    """The document and the id of a row."""
    if columns.text not in row or (columns.id is not None and columns.id not in row):
        columns.check(list(row), place)
    document = document_of(row[columns.text], place, notes, errors)
    return document, None if columns.id is None else id_of(row[columns.id], place)


def csv_blocks(stream: Stream, columns: Columns, text: Decoding, separator: str) -> Iterator[Block]:
    """A document a row; the first row has the names of the columns."""
    gathering = Gathering(counted(stream.name, "line", 0))
    lines = _lines(pieces(stream, text), gathering.notes)
    reader = csv.reader(lines, delimiter=separator, strict=True)
    with _csv_errors(reader, stream.name):
        header = next(reader, None)
    if header is None:
        raise SourceError(f"{stream.name} is empty; the first line is to have the names of the columns")
    columns.check(header, stream.name)
    while True:
        with _csv_errors(reader, stream.name):
            _gather_rows(reader, header, columns, gathering, stream.name)
        if not len(gathering):
            return
        yield gathering.block(stream.position())


def _gather_rows(reader: Any, header: list[str], columns: Columns, gathering: Gathering, name: str) -> None:
    """Rows until there is enough for a block, or no more."""
    of_text = header.index(columns.text)
    of_id = None if columns.id is None else header.index(columns.id)
    while not gathering.is_full:
        line = reader.line_num + 1
        row = next(reader, None)
        if row is None:
            return
        if row and len(row) != len(header):
            raise SourceError(
                f"{name}, line {line} has {len(row)} fields, but the header has {len(header)}; "
                f"mend the line; is a quote or the separator wrong?"
            )
        if row:
            gathering.add(row[of_text], None if of_id is None else row[of_id], line)


def _lines(pieces: Iterable[Piece], notes: Notes) -> Iterator[str]:
    for piece in pieces:
        notes.add(**piece.notes)
        yield from io.StringIO(piece.data.decode())


@contextmanager
def _csv_errors(reader: Any, name: str) -> Iterator[None]:
    """Fields of any size while rows are read, but not beyond: the limit is one for the whole process."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    except csv.Error as error:
        raise SourceError(f"{name}, line {reader.line_num} is not CSV: {error}; mend the line") from None
    finally:
        csv.field_size_limit(limit)


def item_blocks(items: Iterable[Any], columns: Columns, errors: str) -> Iterator[Block]:
    """Documents, or rows, that come one by one; they are numbered from 0."""
    place = counted("", "document", 0)
    gathering = Gathering(place)
    for number, item in enumerate(items):
        if isinstance(item, Mapping):
            document, id = _cells(item, columns, place(number), gathering.notes, errors)
        elif columns.are_given:
            raise SourceError(f"{columns.asked} names a column, but {place(number)} is {_shown(item)}, which has none")
        else:
            document, id = document_of(item, place(number), gathering.notes, errors), None
        gathering.add(document, id, number)
        if gathering.is_full:
            yield gathering.block(number + 1)
    if len(gathering):
        yield gathering.block(number + 1)


def list_blocks(
    texts: Sequence[Any], ids: list[DocumentId] | None, place: Callable[[int], str], done: int, errors: str
) -> Iterator[Block]:
    """Cells of a column that are Python objects."""
    gathering = Gathering(place)
    for i, value in enumerate(texts):
        document = document_of(value, place(i), gathering.notes, errors)
        gathering.add(document, None if ids is None else ids[i], i)
        if gathering.is_full or i == len(texts) - 1:
            yield gathering.block(done)
