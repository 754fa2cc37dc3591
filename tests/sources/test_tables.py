"""Tables in files give the documents and ids of their columns; bad ones get a sentence."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import sys

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_files import KEYS, PACK, ROWS, TEXTS, TOKENS, anew, ipc, jsonl, parquet, separated, texts_of, write

from paravec.errors import SourceError
from paravec.sources import StringColumn, block, read

os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"


# Files

TEXT_TABLES = {
    "jsonl": jsonl(ROWS),
    "ndjson": jsonl(ROWS).replace(b"\n", b"\r\n"),
    "csv": separated(ROWS),
    "tsv": separated(ROWS, "excel-tab"),
}
COLUMN_TABLES = {
    "parquet": parquet(ROWS),
    "arrow": ipc(ROWS),
    "feather": ipc(ROWS, options=pa.ipc.IpcWriteOptions(compression="lz4")),
    "ipc": ipc(ROWS, pa.ipc.new_stream),
}


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("suffix", TEXT_TABLES)
def test_text_tables_give_their_columns_however_they_are_packed(tmp_path, suffix, packing):
    path = write(tmp_path / f"reviews.{suffix}{packing}", PACK[packing](TEXT_TABLES[suffix]))
    assert list(read(path)) == list(enumerate(TEXTS, start=1))
    assert list(read(path, id="key")) == list(zip(KEYS, TEXTS, strict=True))
    assert list(read(path, id="text", text="key")) == list(zip(TEXTS, KEYS, strict=True))
    source = read(path)
    assert [each.done for each in source.blocks()][-1] == source.total == path.stat().st_size


@pytest.mark.parametrize("suffix", COLUMN_TABLES)
def test_column_tables_give_their_columns(tmp_path, suffix):
    path = write(tmp_path / f"reviews.{suffix}", COLUMN_TABLES[suffix])
    source = read(path)
    assert list(source) == list(enumerate(TEXTS, start=1))
    assert list(source) == list(enumerate(TEXTS, start=1)), "reading starts anew"
    assert list(read(path, id="key")) == list(zip(KEYS, TEXTS, strict=True))
    blocks = list(source.blocks())
    assert all(isinstance(each.documents, StringColumn) for each in blocks)
    assert blocks[-1].place(len(blocks[-1].documents) - 1) == f"{path}, row 5"
    assert 0 < blocks[-1].done <= source.total == path.stat().st_size


@pytest.mark.parametrize("suffix", ["jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("tokens", [TOKENS, [[1, 2], [], [3]]])
def test_documents_may_be_lists_of_tokens(tmp_path, suffix, tokens):
    rows = [{"text": each} for each in tokens]
    data = {"jsonl": jsonl, "parquet": parquet, "arrow": ipc}[suffix](rows)
    assert texts_of(write(tmp_path / f"a.{suffix}", data)) == tokens


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "arrow"])
def test_a_folder_of_tables_of_one_kind_is_one_table(tmp_path, suffix):
    data = {**TEXT_TABLES, **COLUMN_TABLES}[suffix]
    write(tmp_path / f"part-2.{suffix}", data)
    write(tmp_path / "deeper" / f"part-1.{suffix}", data)
    write(tmp_path / ".hidden.txt", b"")
    source = read(tmp_path)
    assert list(source) == list(enumerate(TEXTS * 2, start=1))
    assert source.total == 2 * len(data)
    blocks = list(source.blocks())
    assert blocks[0].place(0).startswith(f"{tmp_path}/deeper/part-1.{suffix}, ")
    assert [each.done for each in blocks] == sorted(each.done for each in blocks)
    write(tmp_path / "notes.md", b"notes")
    if suffix in ("jsonl", "csv"):
        assert [id for id, _ in read(tmp_path)] == [f"deeper/part-1.{suffix}", "notes.md", f"part-2.{suffix}"]
    assert texts_of(tmp_path, pattern=f"*.{suffix}") == TEXTS * 2
    assert texts_of(tmp_path, pattern="part*", format=suffix) == TEXTS


@anew
@given(st.lists(st.fixed_dictionaries({"key": st.text(), "text": st.text()})), st.integers(1, 40))
def test_any_text_survives_json_lines_csv_and_parquet(tmp_path, monkeypatch, rows, size):
    monkeypatch.setattr(block, "BLOCK_BYTES", size)
    rows = [{"key": "first", "text": "row"}, *rows]
    for row in rows:
        row["text"] = row["text"].replace("\r", " ")  # which csv.writer leaves as it is
        row["key"] = row["key"].replace("\r", " ")
    expected = [(row["key"], row["text"]) for row in rows]
    assert list(read(write(tmp_path / "a.jsonl", jsonl(rows)), id="key")) == expected
    assert list(read(write(tmp_path / "a.csv", separated(rows)), id="key")) == expected
    assert list(read(write(tmp_path / "a.parquet", parquet(rows)), id="key")) == expected


def test_blocks_of_rows_are_bounded_and_tell_their_lines(tmp_path, monkeypatch):
    rows = [{"text": "x" * 10} for _ in range(10)]
    monkeypatch.setattr(block, "BLOCK_DOCUMENTS", 4)
    for suffix, data, first in (("jsonl", b"\n" + jsonl(rows), 2), ("csv", separated(rows), 2)):
        path = write(tmp_path / f"a.{suffix}", data)
        blocks = list(read(path).blocks())
        assert [len(each.documents) for each in blocks] == [4, 4, 2]
        assert [each.place(0) for each in blocks] == [f"{path}, line {first + i}" for i in (0, 4, 8)]
    monkeypatch.setattr(block, "BLOCK_BYTES", 25)
    path = write(tmp_path / "a.parquet", parquet(rows, use_dictionary=False))
    assert max(len(each.documents) for each in read(path).blocks()) <= 2


def test_a_row_that_spans_lines_is_told_by_its_first(tmp_path):
    path = write(tmp_path / "a.csv", b'text\n"one\n\ntwo"\n\nthree\n')
    (only,) = read(path).blocks()
    assert [only.place(i) for i in range(2)] == [f"{path}, line 2", f"{path}, line 6"]


def test_a_long_field_is_read_and_the_limit_of_csv_is_as_before(tmp_path):
    limit = 131_072
    csv.field_size_limit(limit)
    path = write(tmp_path / "a.csv", b"text\n" + b"x" * 3_000_000 + b"\nshort\n")
    for each in read(path).blocks():
        assert [len(text) for text in each.documents] == [3_000_000, 5]
        assert csv.field_size_limit() == limit
    with pytest.raises(SourceError):
        list(read(write(path, b"text\n" + b"x" * 300_000 + b",\n")))
    assert csv.field_size_limit() == limit


def test_tables_of_text_have_an_encoding_and_replace_what_is_wrong(tmp_path):
    path = write(tmp_path / "a.csv", "text\ncafé\n".encode("latin-1"))
    assert texts_of(path, encoding="latin-1") == ["café"]
    (only,) = read(path).blocks()
    assert (only.documents, only.replaced) == (["caf\ufffd"], 1)
    assert only.first_replaced == f"{path}, line 2, byte 8"
    with pytest.raises(SourceError, match=r"a\.csv is not UTF-8: byte 8 \(line 2\) is 0xe9"):
        list(read(path, errors="strict"))
    path = write(tmp_path / "a.jsonl", rb'{"text": "half \ud83d here"}')
    (only,) = read(path).blocks()
    assert (only.documents, only.replaced) == (["half \ufffd here"], 1)
    assert only.first_replaced == f"{path}, line 1, character 5"
    with pytest.raises(SourceError, match=r"a\.jsonl, line 1 has half a surrogate pair"):
        list(read(path, errors="strict"))


def test_standard_input_can_be_a_table(monkeypatch):
    for format, data in (("jsonl", jsonl(ROWS)), ("csv", separated(ROWS)), ("arrow", ipc(ROWS, pa.ipc.new_stream))):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        assert texts_of("-", format=format) == TEXTS
    with pytest.raises(SourceError, match=r"standard input is .* a pipe, where a Parquet file cannot be read"):
        texts_of("-", format="parquet")


# Bad files


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.jsonl", b'{"text": "a"}\n{"text": }', "a.jsonl, line 2, column 10 is not JSON: Expecting value"),
        ("a.jsonl", b'\n["a"]', "a.jsonl, line 2 is a list; a line is to be an object"),
        ("a.jsonl", b"3", "a.jsonl, line 1 is 3; a line is to be an object"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1 is not JSON that can be read"),
        ("a.jsonl", b'{"text": %s}' % (b"1" * 5000), "a.jsonl, line 1 is not JSON that can be read"),
        ("a.jsonl", b'{"text": null}', "the document at {path}, line 1 is missing; fill it or drop it"),
        ("a.jsonl", b'{"text": 5}', "line 1 is 5; a document is a string or a list of tokens"),
        ("a.jsonl", b'{"text": {}}', "line 1 is a dict; a document is a string or a list of tokens"),
        ("a.jsonl", b'{"body": 5, "id": 1}', "line 1 has no column 'text'; its columns are: 'body', 'id'; name one by"),
        ("a.csv", b"", "a.csv is empty; the first line is to have the names of the columns"),
        ("a.csv", b"body,id\na,1\n", "a.csv has no column 'text'; its columns are: 'body', 'id'; name one by text="),
        ("a.csv", b"text,text\na,1\n", "a.csv has 2 columns 'text'; rename all but one"),
        ("a.csv", b"text,b\na,1\na\n", "a.csv, line 3 has 1 fields, but the header has 2"),
        ("a.csv", b"text,b\na,1\na,b,c\n", "a.csv, line 3 has 3 fields, but the header has 2"),
        ("a.csv", b'text,b\na,1\n"a,b\nc\n', "a.csv, line 4 is not CSV: unexpected end of data"),
        ("a.csv", b"text,b\ra,1\r", "a.csv, line 1 is not CSV: new-line character"),
        ("a.parquet", b"", "a.parquet is broken, or not Parquet"),
        ("a.parquet", b"text", "a.parquet is broken, or not Parquet"),
        ("a.parquet", COLUMN_TABLES["parquet"][:-20], "a.parquet is broken, or not Parquet"),
        (
            "a.parquet",
            parquet([{"body": "a", "id": 1}]),
            "a.parquet has no column 'text'; its columns are: 'body', 'id'",
        ),
        ("a.parquet", parquet([{"text": 1.5}]), "row 1 is of type double; a document is a string or a list of tokens"),
        ("a.parquet", parquet([{"text": "a"}, {"text": None}]), "the document at {path}, row 2 is missing; fill it or"),
        ("a.parquet", parquet([{"text": ["a"]}, {"text": None}]), "the document at {path}, row 2 is missing; fill it"),
        ("a.arrow", b"", "a.arrow is broken, or not Arrow"),
        ("a.arrow", b"some text", "a.arrow is broken, or not Arrow"),
        ("a.arrow", COLUMN_TABLES["arrow"][:-20], "a.arrow is broken, or not Arrow"),
        ("a.arrow", COLUMN_TABLES["ipc"][:700], "a.arrow is broken, or not Arrow"),
        ("a.arrow", ipc([{"body": "a"}]), "a.arrow has no column 'text'; its columns are: 'body'"),
        ("a.arrow", ipc([{"body": "a"}], pa.ipc.new_stream), "a.arrow has no column 'text'; its columns are: 'body'"),
        ("a.arrow", ipc([{"text": None}]), "row 1 is missing"),
        (
            "a.parquet.gz",
            gzip.compress(COLUMN_TABLES["parquet"]),
            "where a Parquet file cannot be read; unpack it first",
        ),
    ],
)
def test_bad_tables_get_a_sentence(tmp_path, name, data, message):
    path = write(tmp_path / name, data)
    with pytest.raises(SourceError, match=re.escape(message.format(path=path))):
        list(read(path))


@pytest.mark.parametrize("value", [2.5, True, None, ["a"]])
def test_ids_are_strings_or_integers(tmp_path, value):
    rows = [{"text": "a", "id": value}]
    shown = "missing" if value is None else re.escape(repr(value)) if value != ["a"] else "a list"
    for path in (write(tmp_path / "a.jsonl", jsonl(rows)), write(tmp_path / "a.parquet", parquet(rows))):
        with pytest.raises(SourceError, match=rf"the id at {path}, (line|row) 1 is {shown}"):
            list(read(path, id="id"))
    with pytest.raises(SourceError, match=f"the id at document 0 is {shown}"):
        list(read(rows, id="id"))


@anew
@given(st.sampled_from(sorted(COLUMN_TABLES)), st.data())
def test_column_tables_with_bytes_changed_give_documents_or_a_source_error(tmp_path, suffix, draw):
    data = bytearray(COLUMN_TABLES[suffix])
    for _ in range(draw.draw(st.integers(1, 3))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    try:
        list(read(write(tmp_path / f"a.{suffix}", data)))
    except SourceError as error:
        assert f"a.{suffix}" in str(error)  # noqa: PT017


def test_a_parquet_file_that_changes_while_it_is_read_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(block, "BLOCK_ROWS", 1)  # so that reading ahead does not reach the end
    path = write(tmp_path / "a.parquet", COLUMN_TABLES["parquet"])
    blocks = read(path).blocks()
    next(blocks)
    os.utime(path, ns=(0, 0))
    with pytest.raises(SourceError, match=r"a\.parquet changed while it was read"):
        list(blocks)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_tables_without_pyarrow_name_the_extra(tmp_path, monkeypatch, suffix):
    path = write(tmp_path / f"a.{suffix}", COLUMN_TABLES[suffix])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=rf"format='{suffix}' needs pyarrow .*; pip install 'paravec\[tables\]'"):
        read(path)


def test_a_json_file_is_asked_what_it_is(tmp_path):
    path = write(tmp_path / "a.json", jsonl(ROWS))
    with pytest.raises(ValueError, match=r"a\.json may be JSON lines or one value: give format='jsonl'"):
        read(path)
    assert texts_of(path, format="jsonl") == TEXTS
    assert len(texts_of(tmp_path)) == 1  # in a folder it is a document
