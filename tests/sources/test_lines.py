"""Text with a document a line: every line comes once and in order, in any encoding."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_files import PACK, anew, texts_of
from source_files import write_files as write

from paravec.errors import SourceError
from paravec.sources import read
from paravec.sources.utf8 import first_invalid

TEXTS = ["the first", "", "dritte Zeile: äöü", "四", "a\0b", "last"]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_lines_are_documents_however_they_are_packed(tmp_path, suffix, end):
    path = tmp_path / f"reviews.txt{suffix}"
    path.write_bytes(PACK[suffix](((end or "\n").join(TEXTS) + end).encode()))
    source = read(path)
    assert list(source) == list(enumerate(TEXTS, start=1))
    assert list(source) == list(enumerate(TEXTS, start=1)), "reading starts anew"
    assert source.unit == "bytes"
    assert [each.done for each in source.blocks()][-1] == source.total == path.stat().st_size


@anew
@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", "é".encode(), "四".encode(), b"\xff", b"\0", b" "])),
    st.integers(1, 9),
)
def test_blocks_of_any_size_hold_the_lines_that_python_reads(tmp_path, small_blocks, parts, size):
    path = tmp_path / "any.txt"
    path.write_bytes(b"".join(parts))
    small_blocks(size)
    with open(path, encoding="utf-8", errors="replace", newline="\n") as file:
        expected = [line.removesuffix("\n").removesuffix("\r") for line in file]
    assert texts_of(path) == expected
    blocks = list(read(path).blocks())
    assert sum(each.replaced for each in blocks) == parts.count(b"\xff")
    assert sum(each.documents.count(b"\n") + (each.documents[-1:] != b"\n") for each in blocks) == len(expected)
    assert all(each.documents for each in blocks)


def test_a_block_is_whole_lines_and_says_where_they_are(tmp_path, small_blocks):
    path = tmp_path / "reviews.txt"
    path.write_bytes(b"one\ntwo\nthree is longer\nfour\nfive")
    small_blocks(10)
    blocks = list(read(path).blocks())
    assert [each.documents for each in blocks] == [b"one\ntwo\n", b"three is longer\nfour\n", b"five"]
    assert [each.place(0) for each in blocks] == [f"{path}, line {line}" for line in (1, 3, 5)]
    assert blocks[0].place(1) == f"{path}, line 2"
    assert all(each.ids is None for each in blocks)


def test_a_line_of_any_length_is_one_document(tmp_path, small_blocks):
    path = tmp_path / "long.txt"
    path.write_bytes(b"x" * 3_000_000 + b"\nshort\n")
    small_blocks(1000)
    assert [len(text) for text in texts_of(path)] == [3_000_000, 5]


def test_a_file_without_a_byte_has_no_document(tmp_path):
    for name, data in {"a.txt": b"", "b.txt": b"\xef\xbb\xbf", "c.jsonl": b"", "d.txt.gz": gzip.compress(b"")}.items():
        (tmp_path / name).write_bytes(data)
        assert list(read(tmp_path / name).blocks()) == []
    assert texts_of(write(tmp_path / "e", {"only.txt": b"\n"}) / "only.txt") == [""]


def test_a_mark_at_the_start_is_no_text(tmp_path):
    path = tmp_path / "marked.txt"
    path.write_bytes(b"\xef\xbb\xbfone\ntwo \xff\n")
    assert texts_of(path) == ["one", "two \ufffd"]
    (only,) = read(path).blocks()
    assert only.first_replaced == f"{path}, line 2, byte 11"


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo")))
    source = read("-")
    assert list(source) == [(1, "one"), (2, "two")]
    assert source.total is None
    with pytest.raises(SourceError, match="standard input can be read only once"):
        list(source)


def test_a_pipe_is_read_as_it_comes(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"one\ntwo\n",))
    writer.start()
    assert texts_of(tmp_path / "pipe") == ["one", "two"]
    writer.join()


# Encodings


@given(st.binary())
def test_the_first_invalid_byte_is_where_python_stops(data):
    try:
        data.decode()
        expected = -1
    except UnicodeDecodeError as error:
        expected = error.start
    assert first_invalid(data) == expected


@anew
@given(
    st.lists(
        st.sampled_from([b"\xff", b"\xc3", b"\xe2\x82", b"\xf0\x9f", b"\xed\xa0\x80", b"a", b"\n", "\ufffd".encode()])
    ),
    st.integers(1, 9),
)
def test_replaced_text_is_what_python_makes_of_it(tmp_path, small_blocks, parts, size):
    data = b"a" + b"".join(parts)
    path = write(tmp_path, {"any.txt": data}) / "any.txt"
    small_blocks(size)
    expected = data.decode("utf-8", "replace")
    blocks = list(read(path).blocks())
    assert b"".join(each.documents for each in blocks) == expected.encode()
    assert sum(each.replaced for each in blocks) == expected.count("\ufffd") - data.count("\ufffd".encode())
    first = next((each.first_replaced for each in blocks if each.replaced), None)
    at = first_invalid(data)
    assert first == (None if at < 0 else f"{path}, line {1 + data[:at].count(10)}, byte {at}")


def test_strict_says_which_byte_is_wrong_and_what_to_do(tmp_path, small_blocks):
    path = write(tmp_path, {"reviews.txt": b"good\n" * 16 + b"caf\xe9\n"}) / "reviews.txt"
    small_blocks(11)
    remedy = 'give its encoding (encoding="latin-1", say), or errors="replace"'
    told = f"{path} is not UTF-8: byte 83 (line 17) is 0xe9; {remedy}"
    with pytest.raises(SourceError, match=f"^{re.escape(told)}$"):
        list(read(path, errors="strict"))
    assert texts_of(path, encoding="latin-1")[-1] == "café"


@anew
@given(
    st.text(st.sampled_from("aé四\n\r😀\ufffd\ufeff"), max_size=30).map("a{}".format),
    st.sampled_from(["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "gb18030", "utf-7"]),
    st.integers(1, 9),
)
def test_other_encodings_give_the_same_text(tmp_path, small_blocks, text, encoding, size):
    path = tmp_path / "other.txt"
    path.write_bytes(text.encode(encoding))
    small_blocks(size)
    expected = [line.removesuffix("\n").removesuffix("\r") for line in io.StringIO(text)]
    assert texts_of(path, encoding=encoding, errors="strict") == expected


@pytest.mark.parametrize(
    ("encoding", "data", "byte", "line"),
    [
        ("cp1252", b"one\ntwo\n\x81!", 8, 3),
        ("ascii", b"one\ncaf\xe9", 7, 2),
        ("utf-16", "one\ntwo".encode("utf-16") + b"!", 16, 2),
        ("shift_jis", "東京\n".encode("shift_jis") + b"a\xfd", 6, 2),
    ],
)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_bytes_wrong_in_other_encodings_are_replaced_or_told(tmp_path, small_blocks, encoding, data, byte, line, size):
    path = write(tmp_path, {"other.txt": data}) / "other.txt"
    small_blocks(size)
    blocks = list(read(path, encoding=encoding).blocks())
    assert b"".join(each.documents for each in blocks).decode() == data.decode(encoding, "replace")
    assert sum(each.replaced for each in blocks) == 1
    assert max(each.first_replaced for each in blocks) == f"{path}, line {line}, byte {byte}"
    with pytest.raises(SourceError, match=rf"byte {byte} \(line {line}\) is 0x"):
        list(read(path, encoding=encoding, errors="strict"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_text_with_the_mark_of_another_encoding_is_told(tmp_path, encoding):
    path = write(tmp_path, {"other.txt": "one\n".encode(encoding)}) / "other.txt"
    with pytest.raises(SourceError, match=f'give encoding="{encoding}"'):
        list(read(path))
