"""An encoded corpus as a folder: plain arrays, one a file, and a manifest that says what they are.

``docs/corpus.md`` tells the format.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core, manifest
from paravec.arguments import DocumentId
from paravec.corpus.data import Corpus, EncodedCorpus
from paravec.corpus.encoder import Chunk, Encoder, Tell
from paravec.corpus.labels import Labels, packed
from paravec.errors import CorpusFormatError
from paravec.folders import check_target, replacing
from paravec.settings import Encoding
from paravec.sources import Source
from paravec.tensors import crc32, write_all
from paravec.vocab import GivenVocabulary, Vocabulary

FORMAT = "paravec corpus"
VERSION = 1
MANIFEST = "manifest.json"


def encode_to_folder(
    source: Source,
    path: str | os.PathLike[str],
    encoding: Encoding,
    given: GivenVocabulary | None = None,
    tell: Tell | None = None,
    ids: list[DocumentId] | None = None,
) -> EncodedCorpus:
    """Reads a source, and writes it as a corpus, without ever holding all of it in memory."""
    target = check_corpus_target(path)
    with replacing(target) as folder:
        spool = FileSpool(folder)
        try:
            encoder = Encoder(encoding, spool, given, tell, ids)
            encoder.read(source)
            labels, vocabulary = encoder.ids(), encoder.vocabulary()
            _write(folder, encoder.encoded(), vocabulary, labels, encoding)
        finally:
            spool.close()
    return open_corpus(target, check=False)


def save(corpus: EncodedCorpus, path: str | os.PathLike[str]) -> None:
    """Writes a corpus that is in memory, or copies one that is mapped."""
    target = check_corpus_target(path)
    with replacing(target) as folder:
        chunks = iter([(corpus.documents.tokens, corpus.documents.offsets)])
        _write(folder, chunks, corpus.vocabulary, corpus.ids, corpus.encoding)


def check_corpus_target(path: str | os.PathLike[str]) -> Path:
    """Where a corpus may be written."""
    return check_target(path, "corpus", is_corpus)


def is_corpus(path: str | os.PathLike[str]) -> bool:
    """Whether a folder says that it is an encoded corpus, or has the files of one that is damaged."""
    if all((Path(path) / name).is_file() for name in ("tokens.bin", "offsets.bin")):
        return True
    return manifest.says(Path(path) / MANIFEST, FORMAT)


class FileSpool:
    """Provisional numbers in two files, which are gone when the folder is finished."""

    def __init__(self, folder: Path) -> None:
        self.n_documents = 0
        self.n_tokens = 0
        self._sizes: list[tuple[int, int]] = []
        self._paths = (folder / "tokens.part", folder / "lengths.part")
        self._tokens, self._lengths = (open(path, "w+b", buffering=0) for path in self._paths)  # noqa: SIM115

    def add(self, tokens: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        """See :class:`paravec.corpus.encoder.Spool`."""
        write_all(self._tokens, tokens)
        write_all(self._lengths, np.diff(offsets))
        self._sizes.append((len(tokens), len(offsets) - 1))
        self.n_documents += len(offsets) - 1
        self.n_tokens += len(tokens)

    def __iter__(self) -> Iterator[Chunk]:
        self._tokens.seek(0)
        self._lengths.seek(0)
        for n_tokens, n_documents in self._sizes:
            tokens = np.fromfile(self._tokens, dtype=np.int32, count=n_tokens)
            lengths = np.fromfile(self._lengths, dtype=np.int64, count=n_documents)
            yield tokens, np.concatenate([[0], np.cumsum(lengths)])

    def close(self) -> None:
        """Removes the files."""
        for file, path in zip((self._tokens, self._lengths), self._paths, strict=True):
            file.close()
            path.unlink(missing_ok=True)


class _ArrayFile:
    """An array on its way to a file."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115
        self._length, self._checksum = 0, 0

    def __enter__(self) -> _ArrayFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, array: NDArray[Any]) -> None:
        data = np.ascontiguousarray(array, dtype=self._dtype)
        write_all(self._file, data)
        self._checksum = zlib.crc32(data.data, self._checksum)
        self._length += len(data)

    def finish(self) -> dict[str, Any]:
        """Sees the file to disk; says what the manifest has to know."""
        os.fsync(self._file.fileno())
        return {"dtype": str(self._dtype.name), "length": self._length, "crc32": f"{self._checksum:08x}"}


def _write(
    folder: Path, chunks: Iterator[Chunk], vocabulary: Vocabulary, ids: Sequence[DocumentId], encoding: Encoding
) -> None:
    files: dict[str, dict[str, Any]] = {}
    n_tokens = 0
    with _ArrayFile(folder / "tokens.bin", np.int32) as tokens, _ArrayFile(folder / "offsets.bin", np.int64) as offsets:
        offsets.write(np.zeros(1, dtype=np.int64))
        for part, ends in chunks:
            tokens.write(part)
            offsets.write(ends[1:] + n_tokens)
            n_tokens += len(part)
        files["tokens.bin"], files["offsets.bin"] = tokens.finish(), offsets.finish()
    arrays: dict[str, NDArray[Any]] = {"counts": vocabulary.counts}
    if len(vocabulary.prefix):
        arrays |= {"prefix": vocabulary.prefix, "last": vocabulary.last}
    arrays |= packed("words", vocabulary.words)
    if not isinstance(ids, range):
        arrays |= packed("ids", ids)
    for name, array in arrays.items():
        with _ArrayFile(folder / f"{name}.bin", array.dtype) as file:
            file.write(array)
            files[f"{name}.bin"] = file.finish()
    about = {
        "n_documents": files["offsets.bin"]["length"] - 1,
        "n_tokens": n_tokens,
        "n_words": len(vocabulary.words),
        "n_ngrams": len(vocabulary.prefix),
        "first_number": ids.start if isinstance(ids, range) else None,
        "unicode": _core.UNICODE_VERSION,
        "encoding": encoding.as_dict(),
        "files": files,
    }
    manifest.write(folder / MANIFEST, FORMAT, VERSION, about)


def open_corpus(path: str | os.PathLike[str], check: bool = True) -> EncodedCorpus:
    """Maps the arrays of a corpus; with `check`, reads them once to see that they are what the manifest says."""
    folder = Path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no corpus folder at {folder}")
    about = manifest.read(folder / MANIFEST, FORMAT, VERSION, CorpusFormatError, "; encode the corpus again")
    try:
        return _opened(folder, about, check)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        if isinstance(error, CorpusFormatError):
            raise
        raise CorpusFormatError(f"{folder} is damaged: {error!s:.200}; encode the corpus again") from error


def _opened(folder: Path, about: dict[str, Any], check: bool) -> EncodedCorpus:
    n_documents, n_tokens, n_words, n_ngrams = (
        int(about[name]) for name in ("n_documents", "n_tokens", "n_words", "n_ngrams")
    )
    files = about["files"]

    def array(name: str, dtype: Any, length: int | None = None) -> NDArray[Any]:
        return _mapped(folder / name, files[name], np.dtype(dtype), length, check)

    corpus = Corpus(array("tokens.bin", np.int32, n_tokens), array("offsets.bin", np.int64, n_documents + 1))
    counts = array("counts.bin", np.int64, n_words + n_ngrams)
    none = np.zeros(0, dtype=np.int32)
    prefix, last = (array(f"{x}.bin", np.int32, n_ngrams) if n_ngrams else none for x in ("prefix", "last"))
    words = _unpacked("words", files, array, n_words)
    first = about["first_number"]
    ids = range(first, first + n_documents) if first is not None else _unpacked("ids", files, array, n_documents)
    vocabulary = Vocabulary(tuple(words.tolist()), np.array(counts), np.array(prefix), np.array(last))
    if check:
        _check_values(corpus, vocabulary)
    encoding = about["encoding"]
    if encoding["tokenizer"] is None:
        encoding = {**encoding, "tokenizer": _own_tokenizer}
    return EncodedCorpus(corpus, vocabulary, ids, Encoding(**encoding), folder)


def _own_tokenizer(text: str) -> list[str]:
    raise ValueError(
        "the corpus was encoded with a tokenizer of its own, which is not saved; give it to the estimator "
        "(tokenizer=...), or give documents as lists of tokens"
    )


def _mapped(path: Path, told: dict[str, Any], dtype: np.dtype[Any], length: int | None, check: bool) -> NDArray[Any]:
    """The array of a file, if it is as long as the manifest says, and, with `check`, holds what it says."""
    if told["dtype"] != dtype.name or (length is not None and told["length"] != length):
        raise CorpusFormatError(
            f"{path}: the manifest says {told['length']} x {told['dtype']}, where {length} x {dtype.name} is expected"
        )
    try:
        size = path.stat().st_size
    except OSError as error:
        raise CorpusFormatError(f"{path} cannot be read: {error.strerror}; encode the corpus again") from None
    if size != told["length"] * dtype.itemsize:
        raise CorpusFormatError(
            f"{path} has {size} bytes, but its manifest says {told['length'] * dtype.itemsize}; encode the corpus again"
        )
    if not size:
        return np.zeros(0, dtype=dtype)
    if not path.is_file():
        raise CorpusFormatError(f"{path} is not a file")
    if check and f"{crc32(path):08x}" != told["crc32"]:
        raise CorpusFormatError(f"{path} does not have the checksum of its manifest; encode the corpus again")
    mapped: NDArray[Any] = np.memmap(path, dtype=dtype.newbyteorder("<"), mode="r")
    return np.asarray(mapped)


def _unpacked(name: str, files: dict[str, Any], array: Any, length: int) -> Labels:
    if f"{name}_offsets.bin" not in files:
        return Labels(array(f"{name}.bin", np.int64, length))
    offsets = array(f"{name}_offsets.bin", np.int64, length + 1)
    data = array(f"{name}.bin", np.uint8)
    _check_offsets(f"{name}_offsets.bin", offsets, len(data))
    return Labels(data, offsets)


def _check_offsets(name: str, offsets: NDArray[np.int64], end: int) -> None:
    if offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise CorpusFormatError(f"{name} is damaged: its offsets do not run from 0 to {end}")


def _check_values(corpus: Corpus, vocabulary: Vocabulary) -> None:
    """What a checksum cannot tell: that numbers stay in their ranges."""
    _check_offsets("offsets.bin", corpus.offsets, len(corpus.tokens))
    if len(corpus.tokens) and not (corpus.tokens.min() >= 0 and corpus.tokens.max() < vocabulary.size):
        raise ValueError("tokens.bin has a token that is not in the vocabulary")
    vocabulary.check()
