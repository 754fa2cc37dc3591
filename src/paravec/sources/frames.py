"""Objects in memory: data frames, tables, datasets, and anything that gives rows or documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from paravec.sources import block
from paravec.sources.block import Block, Source, counted
from paravec.sources.columns import Slice, arrow_errors, batch_slices, column_blocks, pyarrow
from paravec.sources.tables import Columns, item_blocks

_ROWS_OF_A_STREAM = 256  # rows of a streamed dataset at once, whose size nobody knows


def object_source(source: Any, columns: Columns, errors: str) -> Source:
    """A source of an object that gives documents, rows or columns."""
    name = f"the {type(source).__name__}"
    make = _maker(source, columns, errors, name)
    total = len(source) if isinstance(source, Sized) else None
    once = isinstance(source, Iterator) or "pyarrow.RecordBatchReader" in _types(source)
    return Source(name, make, total=total, unit="documents", once=once)


def _maker(source: Any, columns: Columns, errors: str, name: str) -> Callable[[], Iterator[Block]]:
    for kind in [] if _is_untyped_stream(source) else _types(source):
        if kind in _REFUSED:
            raise TypeError(f"source is a {kind}; {_REFUSED[kind]}")
        if kind in _TABLES:
            names_of, slices_of = _TABLES[kind]
            columns.check(list(names_of(source)), name)
            return partial(_table_blocks, source, columns, slices_of, errors, name)
        if kind in ("pyarrow.Array", "pyarrow.ChunkedArray"):
            if columns.are_given:
                raise ValueError(f"text= and id= name columns, but {name} has none; give a table")
            return partial(_table_blocks, source, columns, _array_slices, errors, name)
    _check_items(source)
    return partial(item_blocks, source, columns, errors)


def _types(source: Any) -> list[str]:
    return [f"{each.__module__.split('.')[0]}.{each.__name__}" for each in type(source).__mro__]


def _is_untyped_stream(source: Any) -> bool:
    """Whether a dataset does not know its columns before it is read; then it is taken row by row."""
    return "datasets.IterableDataset" in _types(source) and source.features is None


def _check_items(source: Any) -> None:
    if isinstance(source, (bytes, Mapping)) or not isinstance(source, Iterable):
        raise TypeError(f"source is a {type(source).__name__}; give a path, a table, or a list of documents or of rows")
    if isinstance(source, np.ndarray) and source.ndim != 1:
        raise ValueError(f"source is an array of shape {source.shape}; give one column of texts: shape (n,)")


def _table_blocks(
    table: Any, columns: Columns, slices_of: Callable[[Any, Columns], Iterator[Slice]], errors: str, name: str
) -> Iterator[Block]:
    slices = slices_of(table, columns)
    if not find_spec("pyarrow"):
        yield from column_blocks(slices, _document, errors)
        return
    with arrow_errors(f"{name} cannot be read"):
        yield from column_blocks(slices, _document, errors)


def _document(row: int) -> Callable[[int], str]:
    return counted("", "document", row)


def _pandas_slices(frame: Any, columns: Columns) -> Iterator[Slice]:
    for start in range(0, len(frame), block.BLOCK_ROWS):
        texts = frame[columns.text].iloc[start : start + block.BLOCK_ROWS]
        ids = None
        if columns.id is not None:
            ids = frame[columns.id].iloc[start : start + block.BLOCK_ROWS].tolist()
        yield Slice(_pandas_texts(texts), ids, start + len(texts))


def _pandas_texts(texts: Any) -> Any:
    """A column as an array of Arrow where pandas keeps it as one."""
    of_arrow = type(texts.dtype).__name__ == "ArrowDtype"
    if not of_arrow and not str(getattr(texts.dtype, "storage", "")).startswith("pyarrow"):
        return texts.tolist()
    return _combined(pyarrow("a column of Arrow").array(texts))


def _combined(array: Any) -> Any:
    return array.combine_chunks() if hasattr(array, "combine_chunks") else array


def _polars_slices(frame: Any, columns: Columns) -> Iterator[Slice]:
    for start in range(0, len(frame), block.BLOCK_ROWS):
        rows = frame.slice(start, block.BLOCK_ROWS)
        texts = rows[columns.text]
        as_arrow = find_spec("pyarrow") and str(texts.dtype) != "Object"
        ids = None if columns.id is None else rows[columns.id].to_list()
        yield Slice(_combined(texts.to_arrow()) if as_arrow else texts.to_list(), ids, start + len(rows))


def _arrow_slices(batches: Iterable[Any], columns: Columns) -> Iterator[Slice]:
    start = 0
    for batch in batches:
        yield from batch_slices(batch, columns, start, lambda rows: rows)
        start += batch.num_rows


def _array_slices(array: Any, _: Columns) -> Iterator[Slice]:
    for start in range(0, len(array), block.BLOCK_ROWS):
        texts = _combined(array.slice(start, block.BLOCK_ROWS))
        yield Slice(texts, None, start + len(texts))


def _dataset_slices(dataset: Any, columns: Columns) -> Iterator[Slice]:
    """Rows of a dataset on disk, as many at a time as make about a block."""
    rows = dataset.select_columns(columns.names).with_format("arrow")
    start, count = 0, _ROWS_OF_A_STREAM
    while start < len(dataset):
        table = rows[start : start + count]
        yield from _shifted(_arrow_slices(table.to_batches(), columns), start)
        start += table.num_rows
        count = max(1, min(block.BLOCK_ROWS, block.BLOCK_BYTES * table.num_rows // max(table.nbytes, 1)))


def _shifted(slices: Iterator[Slice], start: int) -> Iterator[Slice]:
    return (Slice(each.texts, each.ids, start + each.done) for each in slices)


def _stream_slices(dataset: Any, columns: Columns) -> Iterator[Slice]:
    start = 0
    for table in dataset.with_format("arrow").iter(batch_size=_ROWS_OF_A_STREAM):
        yield from _shifted(_arrow_slices(table.to_batches(), columns), start)
        start += table.num_rows


_TABLES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Columns], Iterator[Slice]]]] = {
    "pandas.DataFrame": (lambda frame: frame.columns, _pandas_slices),
    "polars.DataFrame": (lambda frame: frame.columns, _polars_slices),
    "pyarrow.Table": (lambda table: table.column_names, lambda table, c: _arrow_slices(table.to_batches(), c)),
    "pyarrow.RecordBatch": (lambda batch: batch.schema.names, lambda batch, c: _arrow_slices([batch], c)),
    "pyarrow.RecordBatchReader": (lambda reader: reader.schema.names, _arrow_slices),
    "datasets.Dataset": (lambda dataset: dataset.column_names, _dataset_slices),
    "datasets.IterableDataset": (lambda dataset: dataset.column_names, _stream_slices),
}
_REFUSED = {
    "polars.LazyFrame": "collect it first: source.collect()",
    "datasets.DatasetDict": "give one of its splits: source['train'], say",
    "datasets.IterableDatasetDict": "give one of its splits: source['train'], say",
}
