"""Vectors as arrays of NumPy and columns of Parquet, written block by block."""

from __future__ import annotations

import zipfile
from typing import IO, Any, BinaryIO

import numpy as np

from paravec.corpus.labels import packed
from paravec.interchange.vectors import Vectors
from paravec.sources.columns import pyarrow


def write_npy(file: BinaryIO, vectors: Vectors) -> None:
    """Writes the matrix alone, to be mapped with ``numpy.load(path, mmap_mode="r")``, say."""
    _write_header(file, np.dtype("<f4"), (len(vectors), vectors.size))
    for block in vectors.vector_blocks():
        file.write(block.data)


def write_npz(file: BinaryIO, vectors: Vectors) -> None:
    """Writes two arrays, `vectors` and `ids` or `words`."""
    with zipfile.ZipFile(file, "w") as archive:
        with archive.open("vectors.npy", "w", force_zip64=True) as part:
            write_npy(part, vectors)  # type: ignore[arg-type]
        names = zipfile.ZipInfo(f"{vectors.what}s.npy")
        names.compress_type = zipfile.ZIP_DEFLATED  # all have the width of the longest: mostly zeros
        with archive.open(names, "w", force_zip64=True) as part:
            _write_names(part, vectors)


def _write_names(file: IO[bytes], vectors: Vectors) -> None:
    if vectors.integers:
        dtype = np.dtype("<i8")
    else:
        dtype = np.dtype(
            f"<U{max((len(str(name)) for block in vectors.name_blocks() for name in block), default=0) or 1}"
        )
    _write_header(file, dtype, (len(vectors),))
    for block in vectors.name_blocks():
        file.write(np.array(block, dtype=dtype).data)


def _write_header(file: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    about = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, about)


def write_parquet(file: BinaryIO, vectors: Vectors) -> None:
    """Writes two columns, `id` or `word`, and `vector`, a list of a fixed size."""
    pa = pyarrow("a .parquet file")
    kind = pa.int64() if vectors.integers else pa.large_string()
    schema = pa.schema([(vectors.what, kind), ("vector", pa.list_(pa.float32(), vectors.size))])
    with pa.parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        for names, block in vectors.blocks():
            # pa.array would import pandas, which takes longer than the vectors do.
            numbers = pa.Array.from_buffers(pa.float32(), block.size, [None, pa.py_buffer(block)])
            parts = [pa.py_buffer(part) for part in reversed(packed("names", list(names)).values())]
            column = pa.Array.from_buffers(kind, len(names), [None, *parts])
            lists = pa.FixedSizeListArray.from_arrays(numbers, vectors.size)
            writer.write_batch(pa.record_batch([column, lists], schema=schema))
