"""Folders and archives give a document a file; bad ones, and bad arguments, get a sentence."""

from __future__ import annotations

import contextlib
import gc
import gzip
import lzma
import os
import re
import socket
import sys
import tarfile
import zipfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from source_files import PACK, anew, tar_of, texts_of, zip_of
from source_files import write_files as write

from paravec.errors import SourceError
from paravec.sources import block, read

FILES = {"a-b.txt": b"one", "a/x.txt": b"two\nlines\n", "a/y/z.txt": b"", "b.txt": "vier: é".encode()}


def test_a_folder_has_a_document_a_file_sorted_by_path(tmp_path):
    write(tmp_path, {**FILES, ".hidden": b"no", ".git/x": b"no", "packed.txt.xz": lzma.compress(b"packed")})
    expected = {**FILES, "packed.txt.xz": b"packed"}
    source = read(tmp_path)
    assert list(source) == [(name, expected[name].decode()) for name in sorted(expected)]
    (only,) = source.blocks()
    assert only.documents == [expected[name] for name in sorted(expected)]
    assert only.place(1) == f"{tmp_path}/a/x.txt"
    assert only.done == source.total == sum(path.stat().st_size for path in tmp_path.rglob("[!.]*.*") if path.is_file())


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst", ".zip", ".TAR"])
def test_an_archive_has_a_document_a_file_in_its_order(tmp_path, suffix):
    shuffled = {name: FILES[name] for name in ("b.txt", "a/x.txt", "a-b.txt", "a/y/z.txt")}
    files = {**shuffled, ".hidden": b"no", "a/.b/c": b"no", "packed.gz": gzip.compress(b"packed")}
    packing = {".tgz": ".gz"}.get(suffix, os.path.splitext(suffix)[1])
    data = zip_of(files) if suffix == ".zip" else PACK.get(packing, bytes)(tar_of(files))
    path = write(tmp_path, {f"all{suffix}": data}) / f"all{suffix}"
    expected = {**shuffled, "packed.gz": b"packed"}
    assert list(read(path)) == [(name, data.decode()) for name, data in expected.items()]
    assert read(path).total == path.stat().st_size
    (only,) = read(path).blocks()
    assert only.place(0) == f"{path}/b.txt"


def test_links_and_folders_in_archives_are_passed_over(tmp_path):
    files = {"folder": b"", "./one.txt": b"one", "link": b"", "hard": b""}
    data = tar_of(files, folder=tarfile.DIRTYPE, link=tarfile.SYMTYPE, hard=tarfile.LNKTYPE)
    assert list(read(write(tmp_path, {"a.tar": data}) / "a.tar")) == [("one.txt", "one")]
    link = zipfile.ZipInfo("link")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.mkdir("folder") if hasattr(archive, "mkdir") else archive.writestr("folder/", b"")
        archive.writestr(link, "one.txt")
        archive.writestr("one.txt", b"one")
    assert list(read(tmp_path / "a.zip")) == [("one.txt", "one")]


def test_archives_in_a_folder_or_an_archive_are_gone_into(tmp_path):
    inner = gzip.compress(tar_of({"x.txt": b"x"}))
    write(
        tmp_path, {"a.tar": tar_of({"in.tgz": inner, "m.txt": b"m"}), "b.zip": zip_of({"y.txt": b"y"}), "c.txt": b"c"}
    )
    expected = [("a.tar/in.tgz/x.txt", "x"), ("a.tar/m.txt", "m"), ("b.zip/y.txt", "y"), ("c.txt", "c")]
    assert list(read(tmp_path)) == expected
    write(tmp_path, {"d.tar": tar_of({"e.zip": zip_of({"y.txt": b"y"})})})
    with pytest.raises(SourceError, match=r"d.tar/e.zip is a zip file within .*; unpack the outer one first"):
        list(read(tmp_path))


def test_a_pattern_selects_by_path(tmp_path):
    write(tmp_path, {**FILES, "c.md": b"md", "d.tar": tar_of({"e.txt": b"e", "f.md": b"f"})})
    assert [id for id, _ in read(tmp_path, pattern="*.md")] == ["c.md", "d.tar/f.md"]
    assert [id for id, _ in read(tmp_path, pattern="a/*")] == ["a/x.txt", "a/y/z.txt"]
    assert [id for id, _ in read(tmp_path / "d.tar", pattern="*.md")] == ["f.md"]


def test_files_come_in_blocks_of_a_bounded_size(tmp_path, monkeypatch):
    write(tmp_path, {f"{i:02}.txt": b"x" * i for i in range(20)})
    monkeypatch.setattr(block, "BLOCK_DOCUMENTS", 6)
    assert [len(each.documents) for each in read(tmp_path).blocks()] == [6, 6, 6, 2]
    monkeypatch.setattr(block, "BLOCK_BYTES", 30)
    blocks = list(read(tmp_path).blocks())
    assert [len(each.documents) for each in blocks] == [6, 4, 3, 3, 2, 2]
    assert [id for each in blocks for id in each.ids] == [f"{i:02}.txt" for i in range(20)]


def test_files_in_other_encodings_and_with_errors(tmp_path):
    write(tmp_path, {"a.txt": b"fine", "b.txt": b"one\ncaf\xe9"})
    assert texts_of(tmp_path) == ["fine", "one\ncaf\ufffd"]
    assert texts_of(tmp_path, encoding="latin-1") == ["fine", "one\ncafé"]
    (only,) = read(tmp_path).blocks()
    assert (only.replaced, only.first_replaced) == (1, f"{tmp_path}/b.txt, line 2, byte 7")
    with pytest.raises(SourceError, match=r"b.txt is not UTF-8: byte 7 \(line 2\) is 0xe9"):
        list(read(tmp_path, errors="strict"))


def test_an_explicit_format_makes_a_folder_one_table(tmp_path):
    write(tmp_path, {"a.txt": b"one\ntwo", "b.txt.gz": gzip.compress(b"three\n")})
    source = read(tmp_path, format="lines")
    assert list(source) == [(1, "one"), (2, "two"), (3, "three")]
    places = [each.place(0).removeprefix(f"{tmp_path}/") for each in source.blocks()]
    assert places == ["a.txt, line 1", "a.txt, line 2", "b.txt.gz, line 1"]
    assert list(read(tmp_path / "a.txt", format="files")) == [("a.txt", "one\ntwo")]


def test_names_that_are_not_utf8_become_printable(tmp_path):
    with open(os.fsencode(tmp_path) + b"/caf\xe9.txt", "wb") as file:
        file.write(b"text")
    assert list(read(tmp_path)) == [("caf\ufffd.txt", "text")]
    archive = tar_of({"caf\udce9.txt": b"text"})
    assert list(read(write(tmp_path / "b", {"a.tar": archive}) / "a.tar")) == [("caf\ufffd.txt", "text")]


def test_links_to_folders_are_not_followed(tmp_path):
    write(tmp_path, {"a/x.txt": b"x"})
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    (tmp_path / "linked.txt").symlink_to(tmp_path / "a" / "x.txt")
    assert list(read(tmp_path)) == [("a/x.txt", "x"), ("linked.txt", "x")]


def nowhere(path):
    path.symlink_to("nowhere")


def to_itself(path):
    path.symlink_to(path.name)


def bound_socket(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))


@pytest.mark.parametrize("make", [nowhere, to_itself, os.mkfifo, bound_socket])
def test_what_is_no_file_in_a_folder_is_told(tmp_path, make, monkeypatch):
    write(tmp_path, {"a.txt": b"a"})
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    make(type(tmp_path)("odd"))
    with pytest.raises(SourceError, match=r"/odd .*; remove it, or leave it out by pattern="):
        list(read(tmp_path))
    assert texts_of(tmp_path, pattern="*.txt") == ["a"]


def test_a_file_that_may_not_be_read_is_told(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", path)

    write(tmp_path, {"a.txt": b"a"})
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(SourceError, match=r"a.txt cannot be read: Permission denied; remove it, or leave it out"):
        list(read(tmp_path))


# Broken files


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("harm", ["cut", "flipped", "other"])
def test_broken_compression_is_told(tmp_path, suffix, harm):
    data = bytearray(PACK[suffix](os.urandom(5000)))
    if harm == "cut":
        del data[-5:]
    elif harm == "flipped":
        data[4 if suffix == ".zst" else -6] ^= 0x55
    else:
        data[:4] = b"text"
    path = write(tmp_path, {f"a.txt{suffix}": data}) / f"a.txt{suffix}"
    with pytest.raises(SourceError, match=r"a\.txt\.\w+ is broken: .*; at byte \d+"):
        list(read(path))


def test_frames_of_zstd_one_after_another_are_one_text(tmp_path):
    pack = PACK[".zst"]
    data = pack(b"one\ntw") + zstandard.ZstdCompressor(write_content_size=False).compress(b"o\n") + pack(b"three")
    assert texts_of(write(tmp_path, {"a.txt.zst": data}) / "a.txt.zst") == ["one", "two", "three"]


@pytest.mark.parametrize("kept", [100, 512, 700, 1024, 1100, 1536, 2048])
def test_a_tar_that_is_cut_off_is_told_wherever_that_is(tmp_path, kept):
    data = tar_of({"a.txt": b"a" * 500, "b.txt": b"b" * 500})
    path = write(tmp_path, {"all.tar": data[:kept]}) / "all.tar"
    with pytest.raises(SourceError, match=r"all\.tar\S* is broken: .*; at byte \d+"):
        list(read(path))


def test_a_tar_with_a_broken_header_is_told(tmp_path):
    data = bytearray(tar_of({"a.txt": b"a" * 500, "b.txt": b"b" * 500}))
    data[1024 + 3] ^= 1
    with pytest.raises(SourceError, match=r"all\.tar is broken: bad checksum; at byte"):
        list(read(write(tmp_path, {"all.tar": data}) / "all.tar"))


def test_broken_and_encrypted_zips_are_told(tmp_path):
    data = zip_of({"a.txt": b"some text " * 100, "b.md": b"b"})
    flipped = bytearray(data)
    flipped[45] ^= 0xFF
    encrypted = bytearray(data)
    for start in (b"PK\3\4", b"PK\1\2"):
        encrypted[data.index(start) + (6 if start[2] == 3 else 8)] |= 1
    write(tmp_path, {"cut.zip": data[:-30], "flipped.zip": flipped, "locked.zip": encrypted, "none.zip": b""})
    for name in ("cut", "none"):
        with pytest.raises(SourceError, match=rf"{name}\.zip is broken: .*; at byte"):
            list(read(tmp_path / f"{name}.zip"))
    with pytest.raises(SourceError, match=r"flipped\.zip/a\.txt is broken: .*; at byte"):
        list(read(tmp_path / "flipped.zip"))
    with pytest.raises(
        SourceError, match=r"locked\.zip/a\.txt is encrypted; decrypt it first, or leave it out by pattern="
    ):
        list(read(tmp_path / "locked.zip"))
    assert texts_of(tmp_path / "locked.zip", pattern="*.md") == ["b"]


@anew
@given(st.sampled_from([".tar", ".zip", ".tar.gz", ".tar.zst", ".tar.xz"]), st.data())
def test_archives_with_bytes_changed_give_documents_or_a_source_error(tmp_path, suffix, draw):
    files = {"a.txt": b"some text " * 20, "a" * 120: b"long name", "é.txt": b"other"}
    data = zip_of(files) if suffix == ".zip" else PACK.get(os.path.splitext(suffix)[1], bytes)(tar_of(files))
    data = bytearray(data)
    for _ in range(draw.draw(st.integers(1, 3))):
        data[draw.draw(st.integers(0, len(data) - 1))] = draw.draw(st.integers(0, 255))
    path = write(tmp_path, {f"all{suffix}": data}) / f"all{suffix}"
    with contextlib.suppress(SourceError):
        list(read(path))


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "folder"])
def test_a_file_that_changes_while_it_is_read_is_told(tmp_path, small_blocks, name):
    text = b"one\ntwo\nthree\n" * 10
    write(tmp_path, {"a.txt": text, "a.txt.gz": gzip.compress(text), "folder/a.txt": text, "folder/b.txt": text})
    small_blocks(20)
    changed = tmp_path / "folder" / "b.txt" if name == "folder" else tmp_path / name
    blocks = read(tmp_path / name, format="lines").blocks()
    found = next(blocks)
    while "b.txt" not in found.place(0) and name == "folder":
        found = next(blocks)
    with open(changed, "ab") as file:
        file.write(b"more")
    with pytest.raises(SourceError, match=f"{changed} (changed while it was read; read it again|is broken)"):
        list(blocks)


def test_an_abandoned_source_closes_its_file(tmp_path, small_blocks):
    path = write(tmp_path, {"a.txt": b"one\ntwo\n"}) / "a.txt"
    small_blocks(4)
    before = len(os.listdir("/proc/self/fd"))
    blocks = read(path).blocks()
    next(blocks)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del blocks
    assert len(os.listdir("/proc/self/fd")) == before


# Arguments


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"format": "xml"}, ValueError, "format='xml' is not one of 'auto', 'lines'"),
        ({"errors": "ignore"}, ValueError, "errors='ignore' is not one of 'replace', 'strict'"),
        ({"encoding": "klingon"}, ValueError, "encoding='klingon' is not known"),
        ({"encoding": "hex"}, ValueError, "encoding='hex' is not known"),
        ({"encoding": None}, TypeError, "encoding=None is not the name"),
        ({"text": None}, TypeError, "text=None is not the name of a column"),
        ({"id": 3}, TypeError, "id=3 is not the name of a column"),
        ({"pattern": None}, TypeError, "pattern=None is not a string"),
        ({"pattern": "*.txt"}, ValueError, "pattern='*.txt' is for folders and archives"),
        ({"text": "body"}, ValueError, "text='body' names a column, but"),
        ({"id": "key"}, ValueError, "id='key' names a column, but"),
        ({"format": "parquet", "encoding": "latin-1"}, ValueError, "encoding='iso8859-1' has no meaning"),
    ],
)
def test_arguments_are_checked_before_any_work(tmp_path, options, error, message):
    path = write(tmp_path, {"a.txt": b"text"}) / "a.txt"
    with pytest.raises(error, match=re.escape(message)):
        read(path, **options)


@pytest.mark.parametrize("path", ["nowhere.txt", "no\0where", "x" * 5000])
def test_a_path_that_is_not_there_is_told(path):
    with pytest.raises(OSError, match=re.escape(repr(path[:200])[1:-1])) as found:
        read(path)
    assert isinstance(found.value, FileNotFoundError) or len(path) > 200


def test_a_zst_file_without_its_library_names_the_extra(tmp_path, monkeypatch):
    path = write(tmp_path, {"a.txt.zst": PACK[".zst"](b"text")}) / "a.txt.zst"
    monkeypatch.setitem(sys.modules, "zstandard", None)
    if sys.version_info < (3, 14):
        with pytest.raises(ImportError, match=r"a \.zst file needs zstandard .*; pip install 'paravec\[zst\]'"):
            read(path)


def test_a_broken_archive_is_closed_at_once(tmp_path):
    whole = tar_of({"a.txt": b"one" * 1000, "b.txt": b"two" * 1000})
    write(tmp_path, {"cut.tar": whole[:1500], "cut.tar.xz": lzma.compress(whole)[:-30]})
    gc.disable()
    try:
        for name in ("cut.tar", "cut.tar.xz"):
            with contextlib.suppress(SourceError):
                texts_of(tmp_path / name)
            held = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if fd.isdecimal()
                    and os.path.exists(f"/proc/self/fd/{fd}")]  # fmt: skip
            assert not [path for path in held if path.endswith(name)]
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("what", "marks"),
    [("corpus", ("tokens.bin", "offsets.bin")), ("model", ("settings.json", "vocabulary.safetensors"))],
)
def test_folders_of_our_own_are_no_documents(tmp_path, what, marks):
    write(tmp_path, dict.fromkeys(marks, b""))
    with pytest.raises(SourceError, match=f"is a paravec {what}, which holds no text"):
        read(tmp_path)
