"""The word2vec format, text and binary, as many programs read and write it.

A line with the number of words and the length of a vector; then for each word the word, a space, and its vector: as
text and to the end of the line, or as 32-bit floats, little-endian. There is no way to write a word with a space.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError
from paravec.interchange.vectors import Vectors
from paravec.sources.files import COMPRESSIONS, Stream, opened, stream_of

FORMATS = {"word2vec": (".txt", ".vec"), "word2vec-binary": (".bin",)}
_AT_ONCE = 1 << 20  # bytes that are read at once
_LONGEST = 1 << 16  # bytes of a word, and of the first line


def write_text(file: BinaryIO, vectors: Vectors) -> None:
    """Writes text: nine digits, from which a 32-bit float is read back to the bit."""
    line = "%s " + " ".join(["%.9g"] * vectors.size) + "\n"
    file.write(_header(vectors))
    for names, block in vectors.blocks():
        rows = zip(names, block.tolist(), strict=True)
        file.write("".join([line % (name, *row) for name, row in rows]).encode())


def write_binary(file: BinaryIO, vectors: Vectors) -> None:
    """Writes 32-bit floats; each vector ends with a line feed, as the first program of this format wrote it."""
    file.write(_header(vectors))
    for names, block in vectors.blocks():
        data, size = block.tobytes(), 4 * vectors.size
        for i, name in enumerate(names):
            file.write(b"%s %s\n" % (str(name).encode(), data[size * i : size * (i + 1)]))


def _header(vectors: Vectors) -> bytes:
    return f"{len(vectors)} {vectors.size}\n".encode()


def read_word_vectors(path: str | os.PathLike[str], *, format: str = "auto") -> tuple[list[str], NDArray[np.float32]]:
    r"""Words and their vectors of a file in the word2vec format, as `word_vectors` takes them.

    `format` is "word2vec" (text), "word2vec-binary", or "auto": text for .txt and .vec, binary for .bin. The file may
    be compressed (.gz, .xz, .bz2, .zst).

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> path = Path(mkdtemp()) / "few.vec"
    >>> _ = path.write_text("2 3\ncat 1 0 0.5\ndog 0.5 0 1\n")
    >>> words, vectors = read_word_vectors(path)
    >>> words, vectors.shape
    (['cat', 'dog'], (2, 3))

    """
    name = os.fsdecode(path)
    root, ending = os.path.splitext(name)
    compression = ending.lower() if ending.lower() in COMPRESSIONS else ""
    chosen = format_of(root if compression else name, format, FORMATS)
    with opened(name, name) as raw, stream_of(raw, name, compression) as stream:
        reader = _Reader(stream)
        words, vectors = reader.text() if chosen == "word2vec" else reader.binary()
    _check(name, words, vectors)
    return words, vectors


def format_of(path: str, format: str, formats: dict[str, tuple[str, ...]]) -> str:
    """The format that is named, or the one that the ending of a path tells."""
    if format in formats:
        return format
    if format != "auto":
        raise ValueError(f"format={format!r} is not one of 'auto', {', '.join(map(repr, formats))}")
    ending = os.path.splitext(path)[1].lower()
    for name, endings in formats.items():
        if ending in endings:
            return name
    known = ", ".join(f"{name!r} ({', '.join(endings)})" for name, endings in formats.items())
    raise ValueError(f"the ending of {path} tells no format; give format, one of {known}")


def _check(name: str, words: list[str], vectors: NDArray[np.float32]) -> None:
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise SourceError(f"{name}: the vector of {words[bad[0]]!r} holds NaN or infinity; remove or repair it")
    seen: set[str] = set()
    twice = next((word for word in words if word in seen or seen.add(word)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise SourceError(f"{name} has the word {twice!r} twice; remove one of them")


class _Reader:
    """Takes a file of the format apart, and says where it is none."""

    def __init__(self, stream: Stream) -> None:
        self.name = stream.name
        self._stream = stream
        self._held = b""
        self._at = 0
        first = self._until(b"\n", "its first line")
        found = re.fullmatch(rb"\s*([0-9]{1,18})\s+([0-9]{1,9})\s*", first)
        if found is None:
            raise SourceError(
                f"{self.name} begins with {first[:40]!r}, not with the number of words and the length of a vector, "
                f"'400000 100' say; put such a line before it if it has none"
            )
        self.count, self.size = int(found[1]), int(found[2])
        if self.count < 1 or self.size < 1:
            raise SourceError(
                f"{self.name} has {self.count} words of {self.size} dimensions, so there is nothing to read"
            )
        self.vectors = self._room()

    def _room(self) -> NDArray[np.float32]:
        try:
            return np.empty((self.count, self.size), dtype=np.float32)
        except (MemoryError, ValueError):
            raise SourceError(
                f"{self.name} says that it has {self.count} words of {self.size} dimensions, for which there is not "
                f"the memory"
            ) from None

    def _more(self) -> bool:
        data = self._stream.read(_AT_ONCE)
        self._held, self._at = self._held[self._at :] + data, 0
        return bool(data)

    def _until(self, mark: bytes, what: str) -> bytes:
        """The bytes before a mark, which is passed over."""
        while (end := self._held.find(mark, self._at)) < 0:
            if len(self._held) - self._at > _LONGEST or not self._more():
                raise SourceError(f"{self.name} is no file in the word2vec format, or is cut off: {what} has no end")
        found = self._held[self._at : end]
        self._at = end + 1
        return found

    def _word(self, data: bytes, number: int) -> str:
        try:
            word = data.decode()
        except UnicodeDecodeError:
            raise SourceError(f"{self.name}: word {number + 1}, {data[:40]!r}, is not UTF-8") from None
        if not word:
            raise SourceError(f"{self.name}: word {number + 1} is empty")
        return word

    def binary(self) -> tuple[list[str], NDArray[np.float32]]:
        """The words and vectors of a binary file."""
        words, size = [], 4 * self.size
        for number in range(self.count):
            words.append(self._word(self._until(b" ", f"word {number + 1} of {self.count}").lstrip(b"\n"), number))
            while len(self._held) - self._at < size:
                if not self._more():
                    raise SourceError(
                        f"{self.name} is cut off in the vector of word {number + 1} of {self.count}, {words[-1]!r}; "
                        f"copy or make it again"
                    )
            self.vectors[number] = np.frombuffer(self._held, dtype="<f4", count=self.size, offset=self._at)
            self._at += size
        self._end()
        return words, self.vectors

    def text(self) -> tuple[list[str], NDArray[np.float32]]:
        """The words and vectors of a text file."""
        words: list[str] = []
        for lines in self._lines():
            if not lines:
                continue
            cut = [line.partition(b" ") for line in lines[: self.count - len(words)]]
            first = len(words)
            words += [self._word(word, first + i) for i, (word, _, _) in enumerate(cut)]
            self.vectors[first : len(words)] = self._numbers(words[first:], [rest for _, _, rest in cut])
            if len(lines) > len(cut):
                self._refuse_more(lines[len(cut)])
        if len(words) < self.count:
            raise SourceError(
                f"{self.name} is cut off after word {len(words)} of {self.count}; copy or make it again, "
                f"or put the right number into its first line"
            )
        return words, self.vectors

    def _lines(self) -> Iterator[list[bytes]]:
        """Blocks of lines, without those that are blank."""
        more = True
        while more:
            more = self._more()
            end = self._held.rfind(b"\n") + 1 if more else len(self._held)
            lines = [line.rstrip() for line in self._held[:end].split(b"\n")]
            self._at = end
            yield [line for line in lines if line]

    def _numbers(self, words: list[str], rows: list[bytes]) -> NDArray[np.float32]:
        """The vectors of some lines; if one is none, that line is looked for and told."""
        found = self._parsed(rows)
        if found is not None:
            return found
        word, row = next(pair for pair in zip(words, rows, strict=True) if self._parsed([pair[1]]) is None)
        raise SourceError(
            f"{self.name}: the word {word!r} is followed by {row[:40]!r}, not by {self.size} numbers as the first line "
            f"says; a word cannot have a space in it (if the file is binary, give format='word2vec-binary')"
        )

    def _parsed(self, rows: list[bytes]) -> NDArray[np.float32] | None:
        if not all(rows):
            return None
        try:
            with np.errstate(over="ignore"):  # which becomes infinity, and is told then
                found = np.loadtxt(rows, dtype=np.float32, comments=None, encoding="latin-1", ndmin=2)
        except ValueError:
            return None
        return found if found.shape == (len(rows), self.size) else None

    def _end(self) -> None:
        while True:
            rest = self._held[self._at :].lstrip(b"\n")
            if rest:
                self._refuse_more(rest)
            if not self._more():
                return

    def _refuse_more(self, rest: bytes) -> None:
        raise SourceError(
            f"{self.name} goes on with {rest[:40]!r} after the {self.count} words that its first line tells of"
        )
