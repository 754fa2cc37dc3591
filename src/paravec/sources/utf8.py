"""Text of any encoding to UTF-8 that is sound, a block of lines at a time."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.errors import SourceError
from paravec.sources import block
from paravec.sources.block import Notes
from paravec.sources.files import Stream

_REPLACEMENT = "\ufffd"
_MARKS = {  # the byte order marks at the start of a file; the longer ones begin like a shorter one
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def first_invalid(data: bytes | NDArray[np.uint8]) -> int:
    r"""The offset of the first byte that is not part of UTF-8, or -1.

    >>> first_invalid(b"caf\xc3\xa9"), first_invalid(b"caf\xe9!")
    (-1, 3)
    """
    return _core.first_invalid(data)


@dataclass(frozen=True)
class Decoding:
    """How bytes are read as text."""

    encoding: str = "utf-8"
    errors: str = "replace"

    @classmethod
    def checked(cls, encoding: Any, errors: Any) -> Decoding:
        """The same with the usual name of the encoding, if there is one of that name."""
        if errors not in ("replace", "strict"):
            raise ValueError(f"errors={errors!r} is not one of 'replace', 'strict'")
        if not isinstance(encoding, str):
            raise TypeError(f"encoding={encoding!r} is not the name of an encoding; use encoding='utf-8', say")
        try:
            codecs.getincrementaldecoder(encoding)
            b"a".decode(encoding, "replace")  # refuses codecs that are not of text
            name = codecs.lookup(encoding).name
        except (LookupError, ValueError, TypeError):
            raise ValueError(f"encoding={encoding!r} is not known; use 'utf-8', 'utf-16' or 'latin-1', say") from None
        return cls("utf-8" if name == "utf-8-sig" else name, errors)

    @property
    def is_utf8(self) -> bool:
        """Whether bytes need only be checked."""
        return self.encoding == "utf-8"

    def refuse(self, name: str, offset: int, line: int, byte: int) -> NoReturn:
        """Says which byte is wrong."""
        example = "latin-1" if self.is_utf8 else "utf-8"
        raise SourceError(
            f"{name} is not {self.encoding.upper()}: byte {offset} (line {line}) is 0x{byte:02x}; "
            f'give its encoding (encoding="{example}", say), or errors="replace"'
        )


@dataclass(frozen=True)
class Piece:
    """Some whole lines of UTF-8; the last line of a stream may lack its newline."""

    data: bytes
    line: int  # the number of the first line, from 1
    notes: dict[str, Any]  # what was replaced, as fields of a block


def pieces(stream: Stream, text: Decoding) -> Iterator[Piece]:
    """The text of a stream in pieces of about a block."""
    return _sound(stream, text, whole=False)


def document(stream: Stream, text: Decoding, notes: Notes) -> bytes:
    """The text of a stream as one document."""
    for piece in _sound(stream, text, whole=True):
        notes.add(**piece.notes)
        return piece.data
    return b""


def _sound(stream: Stream, text: Decoding, whole: bool) -> Iterator[Piece]:
    notes = Notes()
    first = stream.read(max(block.BLOCK_BYTES, 4))
    offset = _mark(first, stream.name) if text.is_utf8 else 0
    chunks = _chunks(first[offset:], stream)
    line = 1
    for data in _cut(chunks if text.is_utf8 else _transcoded(chunks, stream.name, text, notes), whole):
        clean = _checked(data, stream.name, text, notes, offset, line) if text.is_utf8 else data
        yield Piece(clean, line, notes.take())
        line += data.count(b"\n")
        offset += len(data)


def _mark(first: bytes, name: str) -> int:
    """The length of the mark that a UTF-8 file begins with; those of other encodings are refused."""
    for mark, encoding in _MARKS.items():
        if first.startswith(mark):
            raise SourceError(f'{name} is not UTF-8: it starts with the mark of {encoding}; give encoding="{encoding}"')
    return len(codecs.BOM_UTF8) if first.startswith(codecs.BOM_UTF8) else 0


def _chunks(first: bytes, stream: Stream) -> Iterator[bytes]:
    yield first
    while data := stream.read(block.BLOCK_BYTES):
        yield data


def _cut(chunks: Iterable[bytes], whole: bool) -> Iterator[bytes]:
    """Joins chunks to end at a newline each, or all of them; a chunk is copied once however long a line is."""
    kept: list[bytes | memoryview] = []
    for chunk in chunks:
        end = 0 if whole else chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*kept, memoryview(chunk)[:end]])
            kept.clear()
        kept.append(chunk[end:])
    if last := b"".join(kept):
        yield last


def _checked(data: bytes, name: str, text: Decoding, notes: Notes, offset: int, line: int) -> bytes:
    """Some lines with what is not UTF-8 replaced, as Python does it."""
    at = first_invalid(data)
    if at < 0:
        return data
    line += data.count(b"\n", 0, at)
    if text.errors == "strict":
        text.refuse(name, offset + at, line, data[at])
    fixed, count = replaced(data)
    notes.add(count, f"{name}, line {line}, byte {offset + at}")
    return fixed


def replaced(data: bytes) -> tuple[bytes, int]:
    """Some bytes with U+FFFD for what is not UTF-8, and how often."""
    fixed = data.decode("utf-8", "replace").encode()
    mark = _REPLACEMENT.encode()
    return fixed, fixed.count(mark) - data.count(mark)


_wrong = threading.local()


def _note(error: UnicodeError) -> tuple[str, int]:
    """Replaces what cannot be decoded, and notes it: (bytes up to the end of the input, the byte)."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _wrong.places.append((len(error.object) - error.start, error.object[error.start]))
    return _REPLACEMENT, error.end


codecs.register_error("paravec.note", _note)


def _transcoded(chunks: Iterable[bytes], name: str, text: Decoding, notes: Notes) -> Iterator[bytes]:
    """Chunks of UTF-8 of chunks in another encoding."""
    decoder = codecs.getincrementaldecoder(text.encoding)("paravec.note")
    taken, line, mark = 0, 1, "\ufeff"
    for chunk, is_last in _with_last(chunks):
        taken += len(chunk)
        wrong = _wrong.places = []
        decoded = decoder.decode(chunk, is_last)
        if wrong:
            at = line + decoded.count("\n", 0, decoded.find(_REPLACEMENT))
            offset = taken - wrong[0][0]
            if text.errors == "strict":
                text.refuse(name, offset, at, wrong[0][1])
            notes.add(len(wrong), f"{name}, line {at}, byte {offset}")
        line += decoded.count("\n")
        yield decoded.removeprefix(mark).encode("utf-8", "replace")
        mark = "" if decoded else mark


def _with_last(chunks: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    for chunk in chunks:
        yield chunk, False
    yield b"", True
