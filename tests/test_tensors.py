from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import zlib

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paravec import tensors
from test_memory import megabytes

DTYPES = [np.uint8, np.int32, np.int64, np.uint64, np.float32]
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=9).filter(lambda name: name != "__metadata__")
ARRAYS = st.dictionaries(
    NAMES, st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0)))
)
TEXTS = st.dictionaries(NAMES, st.text(st.characters(exclude_categories=["Cs"])))


def same(found, expected) -> bool:
    return found.keys() == expected.keys() and all(
        found[name].dtype == array.dtype
        and found[name].shape == array.shape
        and found[name].tobytes() == array.tobytes()
        for name, array in expected.items()
    )


@given(arrays=ARRAYS, metadata=TEXTS)
def test_what_is_written_is_read(tmp_path_factory, arrays, metadata):
    path = tmp_path_factory.getbasetemp() / "round"
    checksum = tensors.write(path, arrays, metadata, checksum=True)
    assert checksum == zlib.crc32(path.read_bytes()) == tensors.crc32(path)
    found, told = tensors.read(path)
    assert same(found, arrays)
    assert told == metadata
    for array in found.values():
        assert type(array) is np.ndarray
        assert not array.flags.writeable
        assert array.flags.aligned
    assert same(pickle.loads(pickle.dumps(found)), arrays)
    assert same(safetensors.numpy.load(path.read_bytes()), arrays)


@given(arrays=ARRAYS, metadata=TEXTS)
def test_files_of_the_safetensors_package_are_read(tmp_path_factory, arrays, metadata):
    path = tmp_path_factory.getbasetemp() / "theirs"
    safetensors.numpy.save_file(arrays, path, metadata or None)  # it writes {} as what is no JSON
    found, told = tensors.read(path)
    assert same(found, arrays)
    assert told == metadata


def test_arrays_begin_at_a_cache_line_and_the_widest_come_first(tmp_path):
    arrays = {name: np.ones(3, dtype) for name, dtype in zip("abcde", DTYPES, strict=True)}
    assert tensors.write(tmp_path / "x", arrays, {"a" * 100: "b"}) is None
    found, _ = tensors.read(tmp_path / "x")
    assert "".join(found) == "cdbea"
    assert found["c"].ctypes.data % 64 == 0


VIEWS = {
    "padded rows": lambda a: np.pad(a, [(0, 0), (0, 12)])[:, :100],
    "columns": lambda a: np.asfortranarray(a),
    "backwards": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "every other": lambda a: np.repeat(a, 2, axis=0)[::2],
    "one long row": lambda a: np.repeat(a.reshape(1, 1, -1), 2, axis=2)[:, :, ::2],
    "the other byte order": lambda a: a.astype(">f4"),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views_are_written_as_their_numbers(tmp_path, view):
    array = np.random.default_rng(1).random((9_000, 100), dtype=np.float32)  # more than three pieces
    viewed = VIEWS[view](array)
    checksum = tensors.write(tmp_path / "x", {"a": viewed, "b": array[:5]}, checksum=True)
    assert checksum == tensors.crc32(tmp_path / "x")
    found, _ = tensors.read(tmp_path / "x")
    assert np.array_equal(found["a"], viewed)
    assert np.array_equal(found["b"], array[:5])


def test_a_mapped_file_may_be_written_again_renamed_and_removed(tmp_path):
    tensors.write(tmp_path / "x", {"a": np.arange(100_000)})
    found, _ = tensors.read(tmp_path / "x")
    tensors.write(tmp_path / "x", {"a": found["a"][::-1]})
    again, _ = tensors.read(tmp_path / "x")
    (tmp_path / "x").rename(tmp_path / "y")
    (tmp_path / "y").unlink()
    assert np.array_equal(found["a"], np.arange(100_000))
    assert np.array_equal(again["a"], np.arange(100_000)[::-1])


def test_a_raw_file_may_take_less_than_it_is_given():
    class Slow:
        taken = b""

        def write(self, data):
            self.taken += bytes(data[:3])
            return len(data[:3])

    file = Slow()
    tensors.write_all(file, np.arange(10))
    assert file.taken == np.arange(10).tobytes()


@pytest.mark.parametrize("name", ["a", "__metadata__"])
def test_what_cannot_be_written_is_refused_before_a_file_appears(tmp_path, name):
    array = np.zeros(3, dtype=np.float64 if name == "a" else np.float32)
    with pytest.raises(ValueError, match=f"the array '{name}' is float.*, which cannot be written"):
        tensors.write(tmp_path / "x", {name: array})
    with pytest.raises(ValueError, match=r"the names and metadata of 0 arrays take .* bytes; write fewer"):
        tensors.write(tmp_path / "x", {}, {"a": "b" * 2_000_000})
    assert not (tmp_path / "x").exists()


def test_a_full_disk_is_named(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(tensors, "write_all", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        tensors.write(tmp_path / "x", {"a": np.zeros(3, np.float32)})
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(tmp_path / "x"))


LIMITED = """
import resource, sys
import numpy as np
from paravec import tensors
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
tensors.write(sys.argv[1], {"a": np.zeros(10_000_000, np.uint8)})
"""


def test_a_file_that_may_not_grow_is_named(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED, tmp_path / "x"], capture_output=True, text=True)
    assert f"OSError: [Errno 27] File too large: '{tmp_path / 'x'}'" in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="anonymous memory is read from /proc")
def test_neither_reading_nor_writing_holds_the_arrays(tmp_path):
    tensors.write(tmp_path / "x", {"a": np.zeros((500_000, 100), np.float32)})
    reading = """
from paravec import tensors
def work():
    found, _ = tensors.read(sys.argv[1])
    found["a"].max()
grown(work)
"""
    assert megabytes(reading, tmp_path / "x") < 5  # of 200 MB
    writing = """
from paravec import tensors
found, _ = tensors.read(sys.argv[1])
grown(lambda: tensors.write(sys.argv[2], {"a": found["a"][:, :90]}, checksum=True))
"""
    assert megabytes(writing, tmp_path / "x", tmp_path / "y") < 5
