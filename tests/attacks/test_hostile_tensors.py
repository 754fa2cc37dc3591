"""Files of arrays that lie about themselves."""

from __future__ import annotations

import json
import os
import random
import socket

import numpy as np
import pytest

from paravec import tensors
from paravec.errors import TensorError

ONE = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}


def file_of(header, data=bytes(24)) -> bytes:
    """A file with a header as given: an object, or its text."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def with_one(**changes) -> bytes:
    return file_of({"a": {**ONE, **changes}})


def two(first, second, size=24) -> bytes:
    return file_of(
        {
            name: {"dtype": "F32", "shape": [(e - b) // 4], "data_offsets": [b, e]}
            for name, (b, e) in {"a": first, "b": second}.items()
        },
        bytes(size),
    )


HOSTILE = {
    "nothing": (b"", "it has 0 bytes"),
    "seven bytes": (bytes(7), "it has 7 bytes"),
    "no header": (bytes(8), "its header is said to have 0 bytes"),
    "an empty header": (bytes(100), "its header is said to have 0 bytes"),
    "a header beyond the end": ((93).to_bytes(8, "little") + b" " * 92, "said to have 93 bytes, of 92"),
    "a header of many exabytes": (b"\xff" * 100, "said to have 18446744073709551615 bytes"),
    "a header over a mebibyte": (file_of(b"{}" + b" " * (1 << 20)), "1048576 allowed"),
    "no UTF-8": (file_of(b'{"\xff": 1}'), "codec can't decode"),
    "UTF-16": (file_of('{"a": 1}'.encode("utf-16")), "codec can't decode"),
    "a byte order mark": (file_of(b"\xef\xbb\xbf{}"), "BOM"),
    "no JSON": (file_of(b"{'a': 1}"), "Expecting property name"),
    "only spaces": (file_of(b" " * 8), "Expecting value"),
    "more than JSON": (file_of(b"{} {}"), "Extra data"),
    "deep JSON": (file_of(b"[" * 100_000), "recursion|Expecting value"),
    "deep objects": (file_of(b'{"a":' * 100_000), "recursion|Expecting value"),
    "NaN": (file_of(b'{"a": NaN}'), "NaN is not JSON"),
    "infinity": (file_of(b'{"a": -Infinity}'), "-Infinity is not JSON"),
    "a name twice": (file_of(b'{"a": 1, "a": 2}'), "'a' is there twice"),
    "a field twice": (file_of(b'{"a": {"dtype": "F32", "dtype": "U8"}}'), "'dtype' is there twice"),
    "a long number": (file_of(b'{"a": ' + b"9" * 500_000 + b"}"), "does not fit 64 bits"),
    "a list": (file_of([1]), "its header is no object"),
    "a string": (file_of("a"), "its header is no object"),
    "an array that is a number": (file_of({"a": 1}), "has not just a dtype"),
    "an array without a shape": (file_of({"a": {"dtype": "F32", "data_offsets": [0, 24]}}), "has not just a dtype"),
    "an array with more": (with_one(more=1), "has not just a dtype"),
    "an unknown dtype": (with_one(dtype="F64"), "the dtype 'F64'"),
    "a dtype that is none": (with_one(dtype=["F32"]), r"the dtype \['F32'\]"),
    "a shape that is none": (with_one(shape=6), "the shape 6"),
    "a negative shape": (with_one(shape=[-2, -3]), "the shape"),
    "a broken shape": (with_one(shape=[2.0, 3]), "the shape"),
    "a true shape": (with_one(shape=[True, 6]), "the shape"),
    "a text for a shape": (with_one(shape="23"), "the shape"),
    "nine dimensions": (with_one(shape=[1] * 7 + [2, 3]), "the shape"),
    "a million dimensions": (file_of({"a": {**ONE, "shape": [1] * 300_000}}), "the shape"),
    "an overflow to 24": (with_one(shape=[2**62 + 6]), "too large"),
    "an overflow to nothing": (with_one(shape=[2**32, 2**32], data_offsets=[0, 0]), "too large"),
    "nothing of something huge": (with_one(shape=[0, 2**62, 2**62], data_offsets=[0, 0]), "too large"),
    "one offset": (with_one(data_offsets=[24]), "data_offsets"),
    "three offsets": (with_one(data_offsets=[0, 24, 24]), "data_offsets"),
    "offsets that are none": (with_one(data_offsets=None), "data_offsets"),
    "broken offsets": (with_one(data_offsets=[0.0, 24]), "data_offsets"),
    "false offsets": (with_one(data_offsets=[False, 24]), "data_offsets"),
    "negative offsets": (with_one(data_offsets=[-24, 0]), "data_offsets"),
    "offsets out of order": (with_one(data_offsets=[24, 0]), "data_offsets"),
    "offsets too far apart": (with_one(data_offsets=[0, 28]), "data_offsets"),
    "offsets too close": (with_one(data_offsets=[0, 20]), "data_offsets"),
    "offsets beyond the end": (with_one(data_offsets=[2**60, 2**60 + 24]), "begins at byte"),
    "offsets that wrap": (with_one(data_offsets=[2**63, 2**63 + 24]), "begins at byte"),
    "offsets of more than 64 bits": (with_one(data_offsets=[2**64, 2**64 + 24]), "does not fit 64 bits"),
    "more than the file": (with_one(shape=[2, 2**20], data_offsets=[0, 2**23]), "its arrays end at"),
    "overlaps": (two((0, 16), (8, 24)), "begins at byte"),
    "the same twice": (two((0, 24), (0, 24)), "begins at byte"),
    "a hole": (two((0, 8), (16, 24)), "begins at byte"),
    "a hole before": (two((8, 16), (16, 24)), "begins at byte"),
    "a longer file": (two((0, 8), (8, 20)), "its arrays end at"),
    "a shorter file": (two((0, 8), (8, 28)), "its arrays end at"),
    "data without arrays": (file_of({}), "its arrays end at"),
    "arrays that are not aligned": (
        file_of(
            {"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "b": {**ONE, "data_offsets": [1, 25]}},
            bytes(25),
        ),
        "which float32 cannot",
    ),
    "metadata that are none": (file_of({"__metadata__": [], "a": ONE}), "metadata"),
    "metadata that are null": (file_of({"__metadata__": None, "a": ONE}), "metadata"),
    "metadata with numbers": (file_of({"__metadata__": {"a": 1}, "a": ONE}), "metadata"),
    "metadata with more": (file_of({"__metadata__": {"a": {"b": "c"}}, "a": ONE}), "metadata"),
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_file_that_lies_is_refused_with_a_sentence(tmp_path, attack):
    content, message = HOSTILE[attack]
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(TensorError, match=message) as caught:
        tensors.read(tmp_path / "x")
    assert str(caught.value).startswith(f"{tmp_path / 'x'} is no good safetensors file: ")
    assert len(str(caught.value)) < 400 + len(str(tmp_path))


def test_the_file_they_are_all_made_from_is_good(tmp_path):
    (tmp_path / "x").write_bytes(with_one())
    assert tensors.read(tmp_path / "x")[0]["a"].shape == (2, 3)


def link(path):
    tensors.write(path.parent / "good", {})
    path.symlink_to(path.parent / "good")


def bound(path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # long names are refused


SPECIAL = {
    "a link": link,
    "a link to nothing": lambda path: path.symlink_to(path.parent / "nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a folder": lambda path: path.mkdir(),
    "a pipe": lambda path: os.mkfifo(path),
    "a socket": bound,
}


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.skipif(os.name != "posix", reason="not every system has them")
def test_only_plain_files_are_opened(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    SPECIAL[kind](tmp_path / "x")
    with pytest.raises(TensorError, match=r"x is no good .*: it is a symbolic link, a folder, a pipe or a device"):
        tensors.read(tmp_path / "x")


@pytest.mark.parametrize("kind", ["a link", "a pipe"])
@pytest.mark.skipif(os.name != "posix", reason="not every system has them")
def test_a_plain_file_that_is_exchanged_before_it_is_opened_is_refused(tmp_path, kind, monkeypatch):
    tensors.write(tmp_path / "plain", {})
    SPECIAL[kind](tmp_path / "x")
    lstat = os.lstat
    monkeypatch.setattr(os, "lstat", lambda path: lstat(tmp_path / "plain"))
    with pytest.raises(TensorError, match=r"cannot be read|it is a symbolic link"):
        tensors.read(tmp_path / "x")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="not every system has it")
def test_a_device_is_refused():
    with pytest.raises(TensorError, match="it is a symbolic link, a folder, a pipe or a device"):
        tensors.read("/dev/zero")


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(TensorError, match="nowhere cannot be read: No such file"):
        tensors.read(tmp_path / "nowhere")


def changed(good: bytes, rng: random.Random) -> bytes:
    """Some bytes of the header flipped, put in, taken out, or exchanged for others of the header."""
    length = 8 + int.from_bytes(good[:8], "little")
    header, data = bytearray(good[8:length]), good[length:]
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(header))
        match rng.randrange(5):
            case 0:
                header[at] ^= 1 << rng.randrange(8)
            case 1:
                header.insert(at, rng.choice(b'0123456789[]{}",:-. \x00\xff'))
            case 2:
                del header[at]
            case 3:
                header[at] = rng.choice(header)
            case 4:
                header[at] = rng.choice(b"0123456789")
    told = length - 8 if rng.random() < 0.2 else len(header)
    return told.to_bytes(8, "little") + bytes(header) + data


def test_a_header_with_random_changes_is_read_within_the_file_or_refused(tmp_path):
    rng = random.Random(5)
    path = tmp_path / "x"
    arrays = {"documents": np.zeros((4, 3), np.float32), "rows": np.zeros(0, np.int64), "text": np.zeros(7, np.uint8)}
    tensors.write(path, arrays, {"format": "paravec", "version": "2"})
    good, refused = path.read_bytes(), 0
    for _ in range(5_000):
        path.write_bytes(changed(good, rng))
        try:
            found, _ = tensors.read(path)
        except TensorError:
            refused += 1
            continue
        assert sum(array.nbytes for array in found.values()) < len(good)
        for array in found.values():
            array.sum()
    assert 2_000 < refused < 5_000
