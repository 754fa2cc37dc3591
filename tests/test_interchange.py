"""Vectors for other programs, and from them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import paravec
from paravec import ModelFormatError, ParagraphVector, SourceError, read_word_vectors
from paravec.interchange import vectors as blocks
from paravec.interchange import word2vec
from paravec.interchange.export import FORMATS, export
from paravec.interchange.vectors import Vectors

TEXTS = [f"the {a} {b} sat on the {b} café" for a in ("cat", "dog", "hen") for b in ("mat", "rug", "log", "bed")]
IDS = [f"doc-{i}" for i in range(len(TEXTS))]
WORD2VEC = {"v.txt": False, "v.vec": False, "v.bin": True}


@pytest.fixture(scope="module")
def model() -> ParagraphVector:
    return ParagraphVector("dm", 6, combine="mean", window=3, min_count=1, epochs=2).fit(TEXTS, ids=IDS)


@pytest.fixture
def small_vector_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "_BLOCK", 30)  # five vectors of six numbers


def exported(model, path, what):
    """What `export` wrote: the names and the vectors."""
    if path.suffix == ".npy":
        return None, np.load(path)
    if path.suffix == ".npz":
        found = np.load(path)
        return found["ids" if what == "documents" else "words"].tolist(), found["vectors"]
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        names = table.column("id" if what == "documents" else "word").to_pylist()
        return names, np.stack(table.column("vector").to_numpy())
    return read_word_vectors(path)


@pytest.mark.parametrize("name", [*WORD2VEC, "v.npy", "v.npz", "v.parquet"])
@pytest.mark.parametrize("what", ["documents", "words"])
def test_every_format_gives_back_names_and_vectors_to_the_bit(tmp_path, model, name, what, small_vector_blocks):
    model.export(tmp_path / name, what)
    names, found = exported(model, tmp_path / name, what)
    expected = model.document_vectors_ if what == "documents" else model.word_vectors_
    assert found.dtype == np.float32
    assert np.array_equal(found, expected)
    assert names is None or names == (IDS if what == "documents" else list(model.vocabulary_))
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize(("name", "binary"), WORD2VEC.items())
def test_gensim_reads_what_is_exported_and_its_files_are_read(tmp_path, model, name, binary):
    model.export(tmp_path / name, "words")
    theirs = KeyedVectors.load_word2vec_format(tmp_path / name, binary=binary)
    assert theirs.index_to_key == list(model.vocabulary_)
    assert np.array_equal(theirs.vectors, model.word_vectors_)
    again = tmp_path / f"again.{name}"
    theirs.save_word2vec_format(str(again), binary=binary)
    words, vectors = read_word_vectors(again)
    assert words == theirs.index_to_key
    assert np.array_equal(vectors, theirs.vectors)


NAMES = st.text(st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=9)
TABLES = st.integers(1, 4).flatmap(
    lambda size: st.lists(
        st.tuples(NAMES, arrays(np.float32, size, elements=st.floats(width=32, allow_nan=False, allow_infinity=False))),
        min_size=1,
        max_size=12,
        unique_by=lambda row: row[0],
    )
)


@pytest.mark.parametrize("binary", [False, True])
@settings(max_examples=60)
@given(rows=TABLES)
def test_any_words_and_numbers_come_back_from_the_word2vec_format(tmp_path_factory, binary, rows):
    path = tmp_path_factory.mktemp("w") / "x"
    words, matrix = [word for word, _ in rows], np.stack([row for _, row in rows])
    write = word2vec.write_binary if binary else word2vec.write_text
    with open(path, "wb") as file:
        write(file, Vectors("word", words, [matrix], False))
    found, vectors = read_word_vectors(path, format="word2vec-binary" if binary else "word2vec")
    assert found == words
    assert vectors.tobytes() == matrix.tobytes()  # minus zero, too


@pytest.mark.parametrize("at_once", [1, 7, 64])
@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_files_are_read_alike_in_pieces_of_any_size(tmp_path, model, monkeypatch, at_once, name):
    model.export(tmp_path / name)
    monkeypatch.setattr(word2vec, "_AT_ONCE", at_once)
    words, vectors = read_word_vectors(tmp_path / name)
    assert words == IDS
    assert np.array_equal(vectors, model.document_vectors_)


def test_compressed_files_and_those_of_other_programs_are_read(tmp_path):
    (tmp_path / "v.vec.gz").write_bytes(gzip.compress(b"2 3\r\ncat 1 2e-3 .5 \r\ndog -1 +0 3\r\n"))
    words, vectors = read_word_vectors(tmp_path / "v.vec.gz")
    assert words == ["cat", "dog"]
    assert np.allclose(vectors, [[1, 0.002, 0.5], [-1, 0, 3]])
    (tmp_path / "v.bin").write_bytes(b"1 1\ncat \x00\x00\x80\x3f")  # without line feeds, as gensim writes
    assert read_word_vectors(tmp_path / "v.bin")[1].tolist() == [[1.0]]


def test_both_halves_lie_side_by_side_and_numbers_are_ids(tmp_path, small_vector_blocks):
    model = ParagraphVector("dm+dbow", 3, combine="mean", min_count=1, epochs=1).fit(TEXTS)
    for name in ("v.npz", "v.parquet", "v.txt"):
        model.export(tmp_path / name)
        names, found = exported(model, tmp_path / name, "documents")
        assert np.array_equal(found, model.document_vectors_)
        assert [int(name) for name in names] == list(range(len(TEXTS)))


def test_exported_word_vectors_are_where_another_fit_begins(tmp_path, model):
    model.export(tmp_path / "words.bin", "words")
    given = read_word_vectors(tmp_path / "words.bin")
    frozen = ParagraphVector("dm", 6, combine="mean", min_count=1, epochs=1, word_vectors=given, freeze_words=True)
    frozen.fit(TEXTS)
    assert np.array_equal(frozen.word_vectors_, model.word_vectors_)
    with pytest.raises(ValueError, match="word_vectors have 6 dimensions, but vector_size=7"):
        ParagraphVector("dm", 7, combine="mean", word_vectors=given).fit(TEXTS)
    twice = (["cat", "dog", "cat"], np.zeros((3, 6)))
    with pytest.raises(ValueError, match="word_vectors has the word 'cat' twice"):
        ParagraphVector("dm", 6, combine="mean", word_vectors=twice).fit(TEXTS)


ONE = np.float32(1).tobytes()
BROKEN = {
    "no_header.txt": (b"cat 1 2\n", r"begins with b'cat 1 2', not with the number of words"),
    "header.txt": (b"2\ncat 1 2\n", "begins with b'2'"),
    "negative.txt": (b"-1 2\n", "begins with"),
    "none.txt": (b"0 5\n", "has 0 words of 5 dimensions, so there is nothing to read"),
    "flat.txt": (b"5 0\n", "has 5 words of 0 dimensions"),
    "empty.txt": (b"", "its first line has no end"),
    "huge.txt": (b"999999999999999 999999999\n", "for which there is not the memory"),
    "space.txt": (b"2 2\nnew york 1 2\nx 1 2\n", "'new' is followed by b'york 1 2', not by 2 numbers"),
    "short.txt": (b"2 2\ncat 1 2\ndog 1\n", "'dog' is followed by b'1', not by 2 numbers"),
    "alone.txt": (b"1 2\ncat\n", "'cat' is followed by b'', not by 2 numbers"),
    "letters.txt": (b"1 2\ncat 1 x\n", "'cat' is followed by b'1 x'"),
    "few.txt": (b"3 1\ncat 1\ndog 1\n", "is cut off after word 2 of 3"),
    "many.txt": (b"1 1\ncat 1\ndog 1\n", "goes on with b'dog 1' after the 1 words"),
    "twice.txt": (b"2 1\ncat 1\ncat 2\n", "has the word 'cat' twice"),
    "nan.txt": (b"2 1\ncat 1\ndog nan\n", "the vector of 'dog' holds NaN or infinity"),
    "large.txt": (b"2 1\ncat 1\ndog 1e39\n", "the vector of 'dog' holds NaN or infinity"),
    "latin.txt": (b"1 1\ncaf\xe9 1\n", r"word 1, b'caf\\xe9', is not UTF-8"),
    "binary.txt": (b"2 1\ncat " + ONE + b"\ndog " + ONE, "if the file is binary"),
    "half.bin": (b"2 2\ncat " + 2 * ONE + b"dog " + ONE, "is cut off in the vector of word 2 of 2, 'dog'"),
    "word.bin": (b"2 1\ncat " + ONE + b"do", "word 2 of 2 has no end"),
    "more.bin": (b"1 1\ncat " + ONE + b"\ndog " + ONE, "goes on with b'dog "),
    "nan.bin": (b"1 1\ncat \x00\x00\xc0\x7f", "the vector of 'cat' holds NaN or infinity"),
    "unnamed.bin": (b"1 1\n " + ONE, "word 1 is empty"),
    "cut.txt.gz": (gzip.compress(b"1 1\ncat 1\n")[:-9], "is broken"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_refused_with_a_sentence(tmp_path, name):
    data, message = BROKEN[name]
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=message):
        read_word_vectors(tmp_path / name)


@settings(max_examples=200)
@given(data=st.binary(max_size=60), binary=st.booleans())
def test_any_bytes_are_read_or_refused(tmp_path_factory, data, binary):
    path = tmp_path_factory.mktemp("w") / "x"
    path.write_bytes(b"2 2\n" + data)
    try:
        words, vectors = read_word_vectors(path, format="word2vec-binary" if binary else "word2vec")
    except SourceError:
        return
    assert len(set(words)) == 2
    assert np.isfinite(vectors).all()


def test_formats_and_places_that_make_no_sense_are_refused_before_the_work(tmp_path, model):
    for path, what, format, message in (
        ("x.csv", "documents", "auto", "the ending of .*x.csv tells no format; give format, one of 'word2vec'"),
        ("x.txt", "documents", "csv", "format='csv' is not one of 'auto', 'word2vec'"),
        ("x.txt", "vectors", "auto", "what='vectors' is not one of 'documents', 'words'"),
    ):
        with pytest.raises(ValueError, match=message):
            model.export(tmp_path / path, what, format=format)
    with pytest.raises(ValueError, match="tells no format"):
        read_word_vectors(tmp_path / "x.csv")
    with pytest.raises(SourceError, match="No such file"):
        read_word_vectors(tmp_path / "x.txt")
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"x\.txt exists; give another path, or remove it"):
        model.export(tmp_path / "x.txt")
    assert (tmp_path / "x.txt").read_text() == "mine"
    with pytest.raises(OSError, match="cannot be written there"):
        model.export("/proc/nowhere/x.txt")
    with pytest.raises(ValueError, match="model='dbow' has no word vectors"):
        ParagraphVector(min_count=1, epochs=1).fit(TEXTS).export(tmp_path / "y.txt", "words")
    assert os.listdir(tmp_path) == ["x.txt"]


@pytest.mark.parametrize(
    ("id", "refused"),
    [
        ("my doc", {"word2vec", "word2vec-binary"}),
        ("my\u00a0doc", {"word2vec", "word2vec-binary"}),
        ("line\n", {"word2vec", "word2vec-binary"}),
        ("", {"word2vec", "word2vec-binary"}),
        ("nul\0", {"npz"}),
        ("\ud800", {"word2vec", "word2vec-binary", "parquet"}),
    ],
)
def test_a_name_that_a_format_cannot_hold_is_refused_and_others_give_it_back(tmp_path, id, refused):
    model = ParagraphVector(vector_size=2, min_count=1, epochs=1).fit(TEXTS[:2], ids=["other", id])
    for format, (ending, *_) in FORMATS.items():
        path = tmp_path / f"x{ending}"
        if format in refused:
            with pytest.raises(ValueError, match="cannot hold; use format="):
                model.export(path)
            assert not path.exists()
        else:
            model.export(path)
            assert exported(model, path, "documents")[0] in (None, ["other", id])


def test_a_mapped_model_whose_vectors_are_damaged_is_told(tmp_path, model):
    model.save(tmp_path / "model")
    file = tmp_path / "model" / "documents.safetensors"
    data = bytearray(file.read_bytes())
    data[-4:] = np.float32(np.nan).tobytes()
    file.write_bytes(data)
    with pytest.raises(ModelFormatError, match=f"the vector of the id '{IDS[-1]}' holds NaN or infinity"):
        ParagraphVector.load(tmp_path / "model").export(tmp_path / "v.bin")
    assert os.listdir(tmp_path) == ["model"]


LIMITED = """
import resource, signal, sys
from paravec import ParagraphVector
model = ParagraphVector(vector_size=400, epochs=1, min_count=1).fit(["a b c d e f g h i j k l m n o p"] * 20)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000,) * 2)
for path in sys.argv[1:]:
    try:
        model.export(path)
    except OSError as error:
        print(error.strerror, error.filename)
"""


def test_a_full_disk_is_told_and_leaves_nothing(tmp_path):
    paths = [str(tmp_path / f"v{endings[0]}") for endings in FORMATS.values()]
    command = [sys.executable, "-c", LIMITED, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"File too large {path}" for path in paths]
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", [".txt", ".bin", ".npy", ".npz", ".parquet"])
def test_an_interrupt_leaves_nothing_and_the_next_export_is_whole(
    tmp_path, model, ending, monkeypatch, small_vector_blocks
):
    whole = Vectors.vector_blocks

    def interrupted(self):
        yield next(whole(self))
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Vectors, "vector_blocks", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.export(tmp_path / f"v{ending}")
    assert os.listdir(tmp_path) == []
    model.export(tmp_path / f"v{ending}")
    assert os.listdir(tmp_path) == [f"v{ending}"]


PEAK = """
import sys
from pathlib import Path
import numpy as np
from paravec.interchange.export import export
from paravec import store
from paravec.documents import Documents, Segment
def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
fitted = store.load(sys.argv[1])
export(fitted, sys.argv[2] + "/warm" + sys.argv[3])  # libraries and buffers
rows = 400_000
one = fitted.documents.segments[0].parts[0][:1]
fitted.documents = Documents((Segment((np.broadcast_to(one, (rows, fitted.n_features)),), range(rows)),))
before = peak()
export(fitted, sys.argv[2] + "/v" + sys.argv[3])
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is read from /proc")
@pytest.mark.parametrize("ending", [".bin", ".npy", ".npz", ".parquet"])
def test_vectors_are_never_whole_in_memory(tmp_path, ending):
    model = ParagraphVector(vector_size=64, epochs=1, min_count=1).fit(TEXTS)
    model.save(tmp_path / "model")
    command = [sys.executable, "-c", PEAK, tmp_path / "model", tmp_path, ending]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    assert (tmp_path / f"v{ending}").stat().st_size > 100_000_000
    assert int(done.stdout) < 40_000  # KB, of 102,400 that the vectors have


def test_the_command_line_exports_and_trains_from_word_vectors(tmp_path, folder):
    dm = ("--model", "dm", "--combine", "mean", "--vector-size", "8", "--epochs", "1", "--quiet")
    paravec("train", folder / "corpus.txt", "-o", tmp_path / "dm", *dm)
    for what, name in (("documents", "d.parquet"), ("words", "w.bin")):
        done = paravec("export", tmp_path / "dm", "-o", tmp_path / name, "--what", what)
        assert done.stdout == ""
        assert f"{what}, 8 dimensions: {tmp_path / name}" in done.stderr
    given = ("--word-vectors", tmp_path / "w.bin", "--freeze-words")
    paravec("train", folder / "corpus.txt", "-o", tmp_path / "frozen", *dm, *given)
    loaded = [ParagraphVector.load(tmp_path / name) for name in ("dm", "frozen")]
    assert np.array_equal(loaded[0].word_vectors_, loaded[1].word_vectors_)
    loud = [each for each in dm if each != "--quiet"]
    done = paravec("train", folder / "corpus.txt", "-o", tmp_path / "frozen", *loud, *given, "--resume")
    assert "is complete: it was trained on this corpus with these settings" in done.stderr
    done = paravec("train", folder / "corpus.txt", "-o", tmp_path / "dm", *loud, *given[:2], "--resume")
    assert "is complete" not in done.stderr  # it was trained without them
    again = paravec("export", tmp_path / "dm", "-o", tmp_path / "w.bin", code=1)
    assert "w.bin exists; give another path, or remove it" in again.stderr
    for wrong in (("--freeze-words",), ("--word-vectors", tmp_path / "w.bin", "--model", "dbow")):
        assert "word_vectors" in paravec("train", "x", "-o", tmp_path / "x", *dm, *wrong, code=2).stderr
    longer = paravec("train", folder / "corpus.txt", "-o", tmp_path / "x", *dm, "--vector-size", "9", *given, code=1)
    assert "word_vectors have 8 dimensions, but vector_size=9" in longer.stderr


def test_vectors_of_a_fitted_half_are_told_apart(tmp_path):
    vectors = export(ParagraphVector("dm+dbow", 3, min_count=1, epochs=1).fit(TEXTS)._fitted, tmp_path / "v.npy")
    assert (len(vectors), vectors.size) == (len(TEXTS), 6)


def test_documents_that_were_added_are_exported_and_removed_ones_are_not(tmp_path, small_vector_blocks):
    model = ParagraphVector("dm+dbow", 6, min_count=1, epochs=1, window=2).fit(
        ["a b c", "b c d", "c d e"], ids=["x", "y", "z"]
    )
    model.add_documents(["a b", "d e"], ids=["v", "w"]).remove_documents(["y", "v"])
    model.export(tmp_path / "some.npz")
    with np.load(tmp_path / "some.npz") as found:
        assert found["ids"].tolist() == ["x", "z", "w"]
        assert np.array_equal(found["vectors"], model.document_vectors_)


@pytest.mark.parametrize("ids", [None, list("abc")], ids=["numbers", "strings"])
def test_a_model_without_documents_is_written_as_empty_arrays(ids, tmp_path):
    model = ParagraphVector(vector_size=4, epochs=1, min_count=1).fit(["a b", "b c", "c a"], ids=ids)
    model.remove_documents(model.document_ids_)
    for ending in ("npz", "parquet", "npy", "txt", "bin"):
        model.export(tmp_path / f"none.{ending}")
    with np.load(tmp_path / "none.npz") as found:
        assert found["vectors"].shape == (0, 4)
        assert (found["ids"].shape, found["ids"].dtype.kind) == ((0,), "U" if ids else "i")
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_a_remedy_is_one_that_works(tmp_path):
    model = ParagraphVector(vector_size=4, epochs=1, min_count=1).fit(["a b", "b c"], ids=["x", "\ud800"])
    for ending in ("txt", "bin", "parquet"):
        with pytest.raises(ValueError, match=r"has half a surrogate pair.*; use format='npz'"):
            model.export(tmp_path / f"half.{ending}")
    model.export(tmp_path / "half.npz")


def test_one_long_id_does_not_make_an_npz_of_gigabytes(tmp_path, monkeypatch):
    monkeypatch.setattr("paravec.interchange.export._WIDEST", 1 << 20)
    model = ParagraphVector(vector_size=2, epochs=1, min_count=1)
    model.fit(["a b"] * 300, ids=["x" * 1000, *map(str, range(299))])
    with pytest.raises(ValueError, match=r"has 1000 characters, and .* gives all 300 its width, 1 MB; use .*'parquet'"):
        model.export(tmp_path / "wide.npz")
    model.export(tmp_path / "wide.parquet")
