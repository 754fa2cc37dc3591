"""Columns, frames, datasets and other objects give their documents and ids."""

from __future__ import annotations

import datetime
import os
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_files import KEYS, ROWS, TEXTS, TOKENS, parquet, texts_of, write

from paravec.errors import SourceError
from paravec.sources import StringColumn, block, read

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
import datasets

# Columns of strings

STRINGS = {
    "string": pa.array(TEXTS),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "string_view": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "binary": pa.array([text.encode() for text in TEXTS]),
    "sliced": pa.array(["before", *TEXTS, "after"]).slice(1, 5),
    "chunked": pa.chunked_array([TEXTS[:2], [], TEXTS[2:]]),
}


@pytest.mark.parametrize("kind", STRINGS)
def test_every_kind_of_string_column_gives_its_texts(kind, monkeypatch):
    table = pa.table({"text": STRINGS[kind], "id": range(5)})
    for source in (table, table.to_reader(), read(table.slice(0, 5)), STRINGS[kind]):
        source = source if hasattr(source, "blocks") else read(source)
        blocks = list(source.blocks())
        assert all(isinstance(each.documents, StringColumn) for each in blocks)
        assert [text for each in blocks for text in each.texts()] == TEXTS
        assert blocks[-1].done == 5
    for each in table.to_batches():
        assert texts_of(each) == TEXTS[: each.num_rows] or texts_of(each) == TEXTS[-each.num_rows :]
    for size in (1, 12):
        monkeypatch.setattr(block, "BLOCK_BYTES", size)
        blocks = list(read(table, id="id").blocks())
        assert [text for each in blocks for text in each.texts()] == TEXTS
        assert [id for each in blocks for id in each.ids] == list(range(5))
        assert all(len(each.documents) == 1 or len(each.documents.data) <= size for each in blocks)


def test_texts_are_not_copied():
    column = pa.array(["some text"] * 1000)
    (only,) = read(pa.table({"text": column})).blocks()
    assert only.documents.data.ctypes.data == column.buffers()[2].address
    assert only.documents.offsets.dtype == np.int64


@given(st.lists(st.binary(max_size=4) | st.sampled_from(["é".encode(), b"\xc3", b"\xa9"]), min_size=1))
def test_each_text_of_a_column_is_utf8_or_replaced(parts):
    (only,) = read(pa.table({"text": pa.array(parts, pa.binary())})).blocks()
    expected = [part.decode("utf-8", "replace") for part in parts]
    assert list(only.texts()) == expected
    wrong = [i for i, part in enumerate(parts) if expected[i].encode() != part]
    assert bool(only.replaced) == bool(wrong)
    assert only.first_replaced.startswith(f"document {wrong[0]}, byte " if wrong else "")


def test_a_column_that_is_not_utf8_is_told_when_strict(tmp_path):
    broken = pa.StringArray.from_buffers(2, pa.array([0, 2, 5], pa.int32()).buffers()[1], pa.py_buffer(b"okab\xe9"))
    path = write(tmp_path / "a.parquet", parquet(pa.table({"text": broken})))
    assert texts_of(path) == ["ok", "ab\ufffd"]
    (only,) = read(path).blocks()
    assert (only.replaced, only.first_replaced) == (1, f"{path}, row 2, byte 2")
    with pytest.raises(SourceError, match=r"a\.parquet, row 2 is not UTF-8: byte 2 is 0xe9"):
        texts_of(path, errors="strict")


# Objects in memory


def frames(texts, keys):
    columns = {"text": list(texts), "key": list(keys)}
    return {
        "pandas": pd.DataFrame(columns),
        "pandas of objects": pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in columns.items()}),
        "pandas of arrow": pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
        "pandas with an index": pd.DataFrame(columns, index=range(7, 7 + len(texts))),
        "polars": pl.DataFrame(columns),
        "pyarrow": pa.table(columns),
        "dataset": datasets.Dataset.from_dict(columns),
        "shuffled dataset": datasets.Dataset.from_dict({k: v[::-1] for k, v in columns.items()}).select(
            range(len(texts) - 1, -1, -1)
        ),
        "streamed dataset": datasets.Dataset.from_dict(columns).to_iterable_dataset(),
        "generated dataset": datasets.IterableDataset.from_generator(
            pd.DataFrame(columns).to_dict, gen_kwargs={"orient": "records"}
        ),
        "rows": pd.DataFrame(columns).to_dict("records"),
    }


@pytest.mark.parametrize("kind", frames(TEXTS, KEYS))
@pytest.mark.parametrize("keys", [KEYS, [3, 1, 4, 15, 9]])
def test_objects_give_their_columns_as_often_as_asked(kind, keys, monkeypatch):
    frame = frames(TEXTS, keys)[kind]
    for rows in (block.BLOCK_ROWS, 2):
        monkeypatch.setattr(block, "BLOCK_ROWS", rows)
        source = read(frame, id="key")
        assert list(source) == list(zip(keys, TEXTS, strict=True))
        assert {type(id) for id, _ in source} == {type(keys[0])}
        assert list(read(frame)) == list(enumerate(TEXTS))
        assert source.unit == "documents"
        assert source.total in (5, None)
        blocks = list(source.blocks())
        assert blocks[-1].done == 5
        assert blocks[-1].place(len(blocks[-1].documents) - 1) == "document 4"


@pytest.mark.parametrize("kind", frames(TOKENS, KEYS[:3]))
def test_objects_may_hold_lists_of_tokens(kind):
    assert texts_of(frames(TOKENS, KEYS[:3])[kind]) == TOKENS


def test_frames_of_strings_are_not_made_into_python_strings():
    made = frames(TEXTS, KEYS)
    for kind in ("pandas", "pandas of arrow", "polars", "dataset", "shuffled dataset", "streamed dataset"):
        assert all(isinstance(each.documents, StringColumn) for each in read(made[kind]).blocks()), kind


@pytest.mark.parametrize("kind", ["pandas", "pandas of objects", "pandas of arrow", "polars", "pyarrow", "dataset"])
def test_missing_texts_and_columns_of_frames_are_told(kind):
    frame = frames(["a", None, "c"], KEYS[:3])[kind]
    with pytest.raises(SourceError, match=r"^document 1 is missing; fill it or drop it$"):
        list(read(frame))
    with pytest.raises(SourceError, match=r"the id at document 1 is missing \(\S+\); fill it, or drop the row"):
        list(read(frame, text="key", id="text"))
    with pytest.raises(SourceError, match=r"the \w+ has no column 'body'; its columns are: 'text', 'key'; name one by"):
        read(frame, text="body")


def test_frames_are_read_without_pyarrow_too(monkeypatch):
    made = {**frames(TEXTS, KEYS)}
    monkeypatch.setattr("paravec.sources.frames.find_spec", lambda name: None)
    for kind in ("polars", "pandas of objects"):
        assert list(read(made[kind], id="key")) == list(zip(KEYS, TEXTS, strict=True))


def test_documents_and_rows_may_come_from_anything():
    for documents in (TEXTS, tuple(TEXTS), np.array(TEXTS), pd.Series(TEXTS), pl.Series(TEXTS), pa.array(TEXTS)):
        assert list(read(documents)) == list(enumerate(TEXTS))
        assert read(documents).total == 5
    for tokens in (TOKENS, pd.Series(TOKENS), pl.Series(TOKENS), pa.array(TOKENS), [np.array(each) for each in TOKENS]):
        assert texts_of(tokens) == TOKENS
    assert texts_of([{"text": "a", "id": np.int64(3)}], id="id") == ["a"]


def test_an_iterator_is_read_once():
    for source in (iter(TEXTS), (row for row in ROWS), pa.table({"text": TEXTS}).to_reader()):
        once = read(source)
        assert once.total is None
        assert list(once) == list(enumerate(TEXTS))
        with pytest.raises(SourceError, match=r"the \w+ can be read only once, and has been"):
            once.blocks()


def test_documents_are_taken_only_as_they_are_asked_for(monkeypatch):
    taken = []
    monkeypatch.setattr(block, "BLOCK_DOCUMENTS", 3)
    blocks = read(taken.append(i) or str(i) for i in range(10)).blocks()
    assert next(blocks).documents == ["0", "1", "2"]
    assert len(taken) == 3


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        (["a", None], "document 1 is missing"),
        (["a", float("nan")], "document 1 is missing"),
        (["a", pd.NA], "document 1 is missing"),
        (["a", 3], "document 1 is 3; a document is a string or a list of tokens"),
        (["a", b"b"], "document 1 is a bytes"),
        ([{"text": "a"}, {"body": "a"}], "document 1 has no column 'text'; its columns are: 'body'"),
        ([{"text": datetime.date(2000, 1, 1)}], "document 0 is a date"),
    ],
)
def test_bad_documents_are_told_by_number(documents, message):
    with pytest.raises(SourceError, match=re.escape(message)):
        list(read(documents))


@pytest.mark.parametrize(
    ("source", "options", "error", "message"),
    [
        (None, {}, TypeError, "source is a NoneType; give a path, a table, or a list"),
        (b"text", {}, TypeError, "source is a bytes"),
        ({"text": ["a"]}, {}, TypeError, "source is a dict"),
        (np.zeros((2, 2)), {}, ValueError, "source is an array of shape (2, 2)"),
        (["a"], {"format": "lines"}, ValueError, "format='lines' is for files, but source is a list"),
        (["a"], {"pattern": "*.txt"}, ValueError, "pattern='*.txt' is for files"),
        (["a"], {"encoding": "latin-1"}, ValueError, "encoding='iso8859-1' has no meaning for a list"),
        (pa.array(["a"]), {"id": "key"}, ValueError, "name columns, but the StringArray has none"),
        (pl.LazyFrame({"text": ["a"]}), {}, TypeError, "collect it first"),
        (datasets.DatasetDict(), {}, TypeError, "give one of its splits"),
    ],
)
def test_sources_that_are_none_are_refused_at_once(source, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        read(source, **options)


def test_plain_documents_have_no_columns():
    with pytest.raises(SourceError, match="id='key' names a column, but document 0 is a str, which has none"):
        list(read(["a"], id="key"))
