"""The documents of a model in files: a first segment, those that were added to it, and which were removed.

``docs/format.md`` tells the format.
"""

from __future__ import annotations

import re
import secrets
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import parameters, tensors
from paravec.architecture import Architecture
from paravec.arguments import DocumentId
from paravec.corpus.labels import LabelIndex, Labels, as_labels, packed
from paravec.documents import Documents, Segment
from paravec.errors import ModelFormatError

Halves = Mapping[Path, Architecture]  # the folder of each model, and what it is

_FIRST, _IDS = "documents.safetensors", "ids.safetensors"
_LATER = re.compile(r"(documents|removed)-[0-9a-f]{16}\.safetensors")


def count(about: Mapping[str, Any], name: str) -> int:
    """A number of a manifest that cannot be negative."""
    value = about[name]
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError(f"{name} is {value!r:.40}")
    return value


def told(ids: Sequence[DocumentId]) -> dict[str, Any]:
    """What a manifest says of the ids of a segment."""
    numbered = isinstance(ids, range)
    return {
        "first_number": ids.start if isinstance(ids, range) else None,
        "integer_ids": numbered or (len(ids) > 0 and isinstance(ids[0], int)),
    }


def crc32_of(ids: Sequence[DocumentId]) -> str:
    """The checksum of ids."""
    if isinstance(ids, range):
        return f"{zlib.crc32(np.array([ids.start, ids.stop]).data):08x}"
    value = 0
    for array in packed("ids", ids).values():
        value = zlib.crc32(np.ascontiguousarray(array).data, value)
    return f"{value:08x}"


def crc32_of_vectors(documents: Documents) -> list[str]:
    """The checksum of the vectors of each half."""
    found = []
    for part in range(documents.n_parts):
        value = 0
        for block in documents.blocks(part):
            value = zlib.crc32(np.ascontiguousarray(block, dtype="<f4").data, value)
        found.append(f"{value:08x}")
    return found


def labels(name: str, length: int, about: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays of words or ids: integers, or text with offsets."""
    if about[f"integer_{name}"]:
        return {name: ("int64", (length,))}
    return {name: ("uint8", (None,)), f"{name}_offsets": ("int64", (length + 1,))}


def write_first(folder: Path, halves: Halves, documents: Documents, ids: Sequence[DocumentId], identity: str) -> None:
    """All documents as one segment: its vectors, and ids with an index from ids to rows, unless they are a range."""
    for part, (place, architecture) in enumerate(halves.items()):
        shape = (len(documents), architecture.vector_size)
        vectors = tensors.Blocks(np.dtype(np.float32), shape, lambda part=part: documents.blocks(part))  # type: ignore[misc]
        belongs = {"identity": identity, "model": architecture.model}
        tensors.write(folder / place / _FIRST, {"documents": vectors}, belongs)
    if not isinstance(ids, range):
        tensors.write(folder / _IDS, _id_arrays(ids), {"identity": identity})


def _id_arrays(ids: Sequence[DocumentId]) -> dict[str, NDArray[Any]]:
    arrays = packed("ids", ids)
    index = LabelIndex.of(as_labels(ids))
    return {**arrays, "ids_keys": index.keys, "ids_rows": index.rows}


def write_later(folder: Path, halves: Halves, before: Documents, after: Documents, about: Any) -> dict[str, Any]:
    """Writes the segments that have no file yet, and what was removed; tells what the manifest is to say of them."""
    known = {each["file"]: each for each in about.get("segments", ())}
    listed = []
    for segment in after.segments[1:]:
        listed.append(known[segment.name] if segment.name else _write_segment(folder, halves, segment, about))
    removed = about.get("removed")
    if len(after.removed) != len(before.removed):
        removed = {"file": _name("removed"), "count": len(after.removed)}
        tensors.write(folder / removed["file"], {"rows": after.removed}, {"identity": about["identity"]})
    return {"n_documents": len(after.segments[0]), "segments": listed, "removed": removed}


def _write_segment(folder: Path, halves: Halves, segment: Segment, about: Any) -> dict[str, Any]:
    entry = {"file": _name("documents"), "n_documents": len(segment), **told(segment.ids)}
    arrays: dict[str, Any] = dict(zip(_array_names(halves), segment.parts, strict=True))
    if entry["first_number"] is None:
        arrays |= _id_arrays(segment.ids)
    tensors.write(folder / entry["file"], arrays, {"identity": about["identity"]})
    return entry


def _name(kind: str) -> str:
    return f"{kind}-{secrets.token_hex(8)}.safetensors"


def _array_names(halves: Halves) -> list[str]:
    return ["documents"] if len(halves) == 1 else [architecture.model for architecture in halves.values()]


def sweep(folder: Path, about: Mapping[str, Any]) -> None:
    """Removes files of segments that a manifest does not name: a killed process left them, or others replace them."""
    named = {each["file"] for each in (*about.get("segments", ()), about.get("removed")) if each}
    for path in folder.iterdir():
        if _LATER.fullmatch(path.name) and path.name not in named:
            with suppress(OSError):  # another process was quicker, or it stays until the next time
                path.unlink()


def read(folder: Path, halves: Halves, about: Mapping[str, Any]) -> Documents:
    """The documents that a manifest tells of, mapped."""
    parts = []
    # The first version has no number of its own: all documents are those of the corpus.
    n_documents = count(about if "n_documents" in about else about["corpus"], "n_documents")
    for place, architecture in halves.items():
        expected = {"documents": ("float32", (n_documents, architecture.vector_size))}
        arrays = _belonging(folder / place / _FIRST, about, expected, architecture.model)
        parts.append(arrays["documents"])
    if about["first_number"] is None:
        arrays = _belonging(folder / _IDS, about, _expected_ids(n_documents, about))
    segments = [Segment(tuple(parts), _ids(n_documents, about, arrays), _FIRST)]
    later = about.get("segments", [])
    if len({each["file"] for each in later}) != len(later):
        raise ValueError("a segment is listed twice")
    segments += [_read_segment(folder, halves, entry, about) for entry in later]
    whole = Documents(tuple(segments))
    return whole if about.get("removed") is None else Documents(whole.segments, _read_removed(folder, whole, about))


def _read_segment(folder: Path, halves: Halves, entry: Mapping[str, Any], about: Mapping[str, Any]) -> Segment:
    length = count(entry, "n_documents")
    sizes = [architecture.vector_size for architecture in halves.values()]
    names = _array_names(halves)
    expected = {name: ("float32", (length, size)) for name, size in zip(names, sizes, strict=True)}
    if entry["first_number"] is None:
        expected |= _expected_ids(length, entry)
    arrays = _belonging(_later(folder, entry), about, expected)
    return Segment(tuple(arrays[name] for name in names), _ids(length, entry, arrays), entry["file"])


def _read_removed(folder: Path, documents: Documents, about: Mapping[str, Any]) -> NDArray[np.int64]:
    told_of = about["removed"]
    path = _later(folder, told_of)
    rows: NDArray[np.int64] = _belonging(path, about, {"rows": ("int64", (count(told_of, "count"),))})["rows"]
    if len(rows) and (rows[0] < 0 or rows[-1] >= documents.n_rows or (np.diff(rows) <= 0).any()):
        raise ModelFormatError(f"{path} is damaged: its rows are none of {documents.n_rows} in ascending order")
    return np.array(rows)


def _later(folder: Path, entry: Mapping[str, Any]) -> Path:
    if not isinstance(entry["file"], str) or not _LATER.fullmatch(entry["file"]):
        raise ValueError(f"a segment is said to be in {entry['file']!r:.60}")
    return folder / entry["file"]


def _expected_ids(length: int, about: Mapping[str, Any]) -> dict[str, Any]:
    keys = "int64" if about["integer_ids"] else "uint64"
    return {"ids_keys": (keys, (length,)), "ids_rows": ("int64", (length,)), **labels("ids", length, about)}


def _ids(length: int, about: Mapping[str, Any], arrays: Mapping[str, Any]) -> Sequence[DocumentId]:
    if about["first_number"] is not None:
        first = count(about, "first_number")
        return range(first, first + length)
    index = LabelIndex(arrays["ids_keys"], arrays["ids_rows"])
    return Labels(arrays["ids"], arrays.get("ids_offsets"), index)


def _belonging(
    path: Path, about: Mapping[str, Any], expected: parameters.Expected, half: str | None = None
) -> dict[str, Any]:
    """The arrays of a file that is mapped, and says to which model it belongs."""
    arrays, metadata = parameters.read(path, expected)
    if metadata.get("identity") != about["identity"] or metadata.get("model") != half:
        raise ModelFormatError(f"{path} belongs to another model")
    return arrays
