"""The vectors of a fitted model in the formats of other programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO

from paravec.fitted import Fitted
from paravec.folders import check_new, new_file
from paravec.interchange import word2vec
from paravec.interchange.arrays import write_npy, write_npz, write_parquet
from paravec.interchange.vectors import Vectors, of_documents
from paravec.sources.columns import pyarrow

FORMATS = {**word2vec.FORMATS, "npy": (".npy",), "npz": (".npz",), "parquet": (".parquet",)}
WHAT = ("documents", "words")
_WIDEST = 1 << 30  # bytes of names, most of which are zeros
_WRITERS: dict[str, Callable[[BinaryIO, Vectors], None]] = {
    "word2vec": word2vec.write_text,
    "word2vec-binary": word2vec.write_binary,
    "npy": write_npy,
    "npz": write_npz,
    "parquet": write_parquet,
}


def format_for(path: str | os.PathLike[str], what: str, format: str) -> str:
    """The format in which `what` is to be written; refuses what is none."""
    if what not in WHAT:
        raise ValueError(f"what={what!r} is not one of {', '.join(map(repr, WHAT))}")
    return word2vec.format_of(os.fsdecode(path), format, FORMATS)


def export(fitted: Fitted, path: str | os.PathLike[str], what: str = "documents", format: str = "auto") -> Vectors:
    """Writes the vectors of documents or words to a new file, block by block, and tells what was written."""
    chosen = format_for(path, what, format)
    target = check_new(path)
    if chosen == "parquet":
        pyarrow("a .parquet file")
    if what == "documents":
        vectors = of_documents(fitted.known_documents())
    else:
        words = fitted.vocabulary.words
        vectors = Vectors("word", words, [fitted.word_vectors()], isinstance(words[0], int))
    _check_names(vectors, chosen)
    with new_file(target) as file:
        _WRITERS[chosen](file, vectors)
    return vectors


def _check_names(vectors: Vectors, format: str) -> None:
    """Refuses names that a format does not give back, or not in a bearable size."""
    total, longest = 0, ""
    for block in vectors.name_blocks():
        for name in block:
            if not isinstance(name, str):
                return
            fault = _fault(name, format)
            if fault is not None:
                other = next(each for each in ("parquet", "npz", "npy") if _fault(name, each) is None)
                raise ValueError(
                    f"the {vectors.what} {name!r:.80} {fault}, which format={format!r} cannot hold; "
                    f"use format={other!r}"
                )
            total, longest = total + len(name), max(longest, name, key=len)
    width = 4 * len(longest) * len(vectors)  # UTF-32
    if format == "npz" and width > _WIDEST and len(longest) * len(vectors) > 8 * total:
        raise ValueError(
            f"the {vectors.what} {longest!r:.40} has {len(longest)} characters, and format='npz' gives all "
            f"{len(vectors)} its width, {width >> 20} MB; use format='parquet'"
        )


def _fault(name: str, format: str) -> str | None:
    if format in word2vec.FORMATS and name.split() != [name]:
        return "has a space in it" if name else "is empty"
    if format == "npz" and name.endswith("\0"):
        return "ends with a NUL"
    if format not in ("npy", "npz") and not _is_unicode(name):
        return "has half a surrogate pair"
    return None


def _is_unicode(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
