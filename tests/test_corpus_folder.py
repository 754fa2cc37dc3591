from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

from paravec import CorpusFormatError, EncodedCorpus, ParagraphVector, encode, read

ROWS = [
    {"text": "the cat sat on the mat", "id": "a"},
    {"text": "", "id": "b"},
    {"text": "the dog sat", "id": "c\u00e9"},
]


def equal(one: EncodedCorpus, other: EncodedCorpus) -> None:
    assert one.vocabulary.same_as(other.vocabulary)
    assert np.array_equal(one.vocabulary.counts, other.vocabulary.counts)
    assert np.array_equal(one.documents.tokens, other.documents.tokens)
    assert np.array_equal(one.documents.offsets, other.documents.offsets)
    assert list(one.ids) == list(other.ids)
    assert one.encoding == other.encoding


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize("ids", ["text", "integers", "numbers"])
def test_a_corpus_is_the_same_in_memory_and_in_a_folder(tmp_path, ngrams, ids):
    rows = [{**row, "id": row["id"] if ids == "text" else i * 7 - 3} for i, row in enumerate(ROWS)]
    settings = {"ngrams": ngrams, "min_count": 1, "ngram_min_count": 1}
    source = read(rows, id=None if ids == "numbers" else "id")
    in_memory = encode(source, **settings)
    mapped = encode(source, tmp_path / "streamed", **settings)
    in_memory.save(tmp_path / "saved")
    for corpus in (mapped, EncodedCorpus.open(tmp_path / "streamed"), EncodedCorpus.open(tmp_path / "saved")):
        equal(in_memory, corpus)
    for name in os.listdir(tmp_path / "saved"):
        assert (tmp_path / "saved" / name).read_bytes() == (tmp_path / "streamed" / name).read_bytes()


@pytest.mark.parametrize("docs", [[[1, 2, -7], [2**62, 1]], [["a b", "\ud800", ""], ["a b", ""]]])
def test_tokens_of_any_kind_are_kept(tmp_path, docs):
    corpus = encode(docs, tmp_path / "corpus", min_count=1, ids=["x", "y"])
    again = EncodedCorpus.open(tmp_path / "corpus")
    assert [again.words(i) for i in range(2)] == docs
    equal(corpus, again)


def test_a_model_learns_the_same_from_a_folder_and_keeps_its_ids(tmp_path, python_docs):
    rows = [{"text": text, "id": name} for name, text in python_docs[:300]]
    encode(read(rows, id="id"), tmp_path / "corpus", ngrams=2)
    a = ParagraphVector(vector_size=8, epochs=2, ngrams=2).fit([row["text"] for row in rows])
    b = ParagraphVector(vector_size=8, epochs=2).fit(tmp_path / "corpus")
    c = ParagraphVector(vector_size=8, epochs=2).fit(str(tmp_path / "corpus"))
    assert np.array_equal(a.document_vectors_, b.document_vectors_)
    assert np.array_equal(a.document_vectors_, c.document_vectors_)
    assert b.document_ids_ == [row["id"] for row in rows]
    assert b.similar(id=rows[7]["id"], k=3) == [(rows[i]["id"], s) for i, s in a.similar(id=7, k=3)]
    b.save(tmp_path / "model")
    assert ParagraphVector.load(tmp_path / "model").document_ids_ == [row["id"] for row in rows]


def test_a_corpus_replaces_a_corpus_and_nothing_else(tmp_path):
    encode(["a b", "b a"], tmp_path / "corpus")
    encode(["c d", "d c"], tmp_path / "corpus")
    assert EncodedCorpus.open(tmp_path / "corpus").vocabulary.words == ("c", "d")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(FileExistsError, match="is no paravec corpus"):
        encode(["a b", "b a"], tmp_path / "other")
    assert os.listdir(tmp_path / "other") == ["mine.txt"]


def test_a_failure_on_the_way_leaves_what_was_there(tmp_path):
    encode(["a b", "b a"], tmp_path / "corpus")

    def broken():
        yield from ["c d"] * 30_000
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        encode(broken(), tmp_path / "corpus")
    assert EncodedCorpus.open(tmp_path / "corpus").vocabulary.words == ("a", "b")
    assert os.listdir(tmp_path) == ["corpus"]


FULL_DISK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
from paravec import encode
encode([f"word{i % 5000} and word{i % 70}" for i in range(100_000)], sys.argv[1])
"""


def test_a_full_disk_leaves_what_was_there(tmp_path):
    encode(["a b", "b a"], tmp_path / "corpus")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path / "corpus"], capture_output=True, text=True)
    assert "OSError: [Errno 27] File too large" in done.stderr
    assert EncodedCorpus.open(tmp_path / "corpus").vocabulary.words == ("a", "b")
    assert os.listdir(tmp_path) == ["corpus"]


def damaged(folder, name, change):
    path = folder / name
    path.write_bytes(change(path.read_bytes()))


def manifest(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGES = {
    "a truncated file": lambda f: damaged(f, "tokens.bin", lambda data: data[:-4]),
    "a longer file": lambda f: damaged(f, "offsets.bin", lambda data: data + bytes(8)),
    "a flipped bit": lambda f: damaged(f, "tokens.bin", lambda data: bytes([data[0] ^ 1]) + data[1:]),
    "flipped words": lambda f: damaged(f, "words.bin", lambda data: data[::-1]),
    "flipped ids": lambda f: damaged(f, "ids.bin", lambda data: data[::-1]),
    "a missing file": lambda f: (f / "counts.bin").unlink(),
    "a folder for a file": lambda f: ((f / "counts.bin").unlink(), (f / "counts.bin").mkdir()),
    "another version": lambda f: manifest(f, version=2),
    "another format": lambda f: manifest(f, format="paravec model"),
    "wrong counts": lambda f: manifest(f, n_tokens=3),
    "negative counts": lambda f: manifest(f, n_documents=-1),
    "huge counts": lambda f: manifest(f, n_words=2**62),
    "counts that are none": lambda f: manifest(f, n_words="many"),
    "no files": lambda f: manifest(f, files={}),
    "files that are none": lambda f: manifest(f, files=[]),
    "an unknown setting": lambda f: manifest(f, encoding={"tokenizer": "words", "magic": 1}),
    "a wrong setting": lambda f: manifest(f, encoding={"tokenizer": "words", "min_count": -1}),
    "no JSON": lambda f: damaged(f, "manifest.json", lambda data: data[:-20]),
    "deep JSON": lambda f: (f / "manifest.json").write_text("[" * 100_000),
    "endless JSON": lambda f: (f / "manifest.json").write_text("{" + " " * 3_000_000 + "}"),
    "no manifest": lambda f: (f / "manifest.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_folder_that_is_not_what_its_manifest_says_is_refused(tmp_path, damage):
    encode(read(ROWS, id="id"), tmp_path / "corpus", min_count=1)
    DAMAGES[damage](tmp_path / "corpus")
    with pytest.raises(CorpusFormatError):
        EncodedCorpus.open(tmp_path / "corpus")


def test_files_of_another_corpus_are_refused(tmp_path):
    encode(["a b", "b a"], tmp_path / "one")
    encode(["b a", "a b"], tmp_path / "two")
    shutil.copy(tmp_path / "two" / "tokens.bin", tmp_path / "one" / "tokens.bin")
    with pytest.raises(CorpusFormatError, match=r"tokens.bin does not have the checksum of its manifest"):
        EncodedCorpus.open(tmp_path / "one")


def rewritten(folder, name, array):
    """A hostile file whose checksum fits."""
    import zlib

    (folder / name).write_bytes(array.tobytes())
    about = json.loads((folder / "manifest.json").read_text())
    about["files"][name] = {"dtype": array.dtype.name, "length": len(array), "crc32": f"{zlib.crc32(array):08x}"}
    (folder / "manifest.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tokens.bin", lambda a: a + 100),
        ("tokens.bin", lambda a: a - 1),
        ("offsets.bin", lambda a: a[::-1].copy()),
        ("offsets.bin", lambda a: np.where(a == a[-1], 2**60, a)),
        ("counts.bin", lambda a: a * 0),
        ("words_offsets.bin", lambda a: a - 1),
        ("ids_offsets.bin", lambda a: a * 2),
        ("prefix.bin", lambda a: a + 1000),
        ("last.bin", lambda a: a - 1000),
    ],
)
def test_hostile_numbers_are_refused_even_with_a_good_checksum(tmp_path, name, change):
    encode(read(ROWS, id="id"), tmp_path / "corpus", min_count=1, ngrams=2, ngram_min_count=1)
    kind = {"tokens.bin": np.int32, "prefix.bin": np.int32, "last.bin": np.int32}.get(name, np.int64)
    rewritten(tmp_path / "corpus", name, change(np.fromfile(tmp_path / "corpus" / name, dtype=kind)))
    with pytest.raises(CorpusFormatError):
        EncodedCorpus.open(tmp_path / "corpus")


def test_there_must_be_a_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no corpus folder at"):
        EncodedCorpus.open(tmp_path / "nowhere")


def test_mixed_ids_are_refused_before_a_folder_appears(tmp_path):
    with pytest.raises(ValueError, match="strings and integers mixed"):
        encode(["a b", "b a"], tmp_path / "corpus", ids=["x", 1])
    assert os.listdir(tmp_path) == []


def test_a_corpus_with_a_tokenizer_of_its_own_asks_for_it_again(tmp_path):
    encode(["a b", "b a"], tmp_path / "corpus", tokenizer=str.split)
    fitted = ParagraphVector(vector_size=4, epochs=1).fit(tmp_path / "corpus")
    with pytest.raises(ValueError, match="encoded with a tokenizer of its own"):
        fitted.transform(["a b"])
    fitted = ParagraphVector(vector_size=4, epochs=1, tokenizer=str.split).fit(tmp_path / "corpus")
    assert fitted.transform(["a b"]).shape == (1, 4)


def test_a_corpus_is_not_encoded_again(tmp_path):
    encode(["a b", "b a"], tmp_path / "corpus")
    for again in (tmp_path / "corpus", str(tmp_path / "corpus"), EncodedCorpus.open(tmp_path / "corpus")):
        with pytest.raises(ValueError, match="is an encoded corpus already"):
            encode(again)


def test_ids_that_a_folder_cannot_hold_are_refused_before_anything_is_read(tmp_path):
    def documents():
        raise AssertionError("the corpus was read")
        yield

    for ids, message in ((["x", 1], "strings and integers mixed"), ([1, 2**70], "does not fit 64 bits")):
        with pytest.raises(ValueError, match=message):
            encode(documents(), tmp_path / "corpus", ids=ids)


def test_an_ngram_that_is_its_own_beginning_is_refused(tmp_path):
    encode(read(ROWS, id="id"), tmp_path / "corpus", min_count=1, ngrams=2, ngram_min_count=1)
    n_words = json.loads((tmp_path / "corpus" / "manifest.json").read_text())["n_words"]
    prefix = np.fromfile(tmp_path / "corpus" / "prefix.bin", dtype=np.int32)
    rewritten(tmp_path / "corpus", "prefix.bin", np.arange(n_words, n_words + len(prefix), dtype=np.int32))
    with pytest.raises(CorpusFormatError, match="n-grams of the vocabulary are damaged"):
        EncodedCorpus.open(tmp_path / "corpus")


@pytest.mark.parametrize("manifest", ["{", "", None])
def test_a_corpus_without_a_good_manifest_is_never_read_as_text(tmp_path, manifest):
    encode(["a b", "b a"], tmp_path / "corpus")
    path = tmp_path / "corpus" / "manifest.json"
    path.unlink() if manifest is None else path.write_text(manifest)
    for given in (tmp_path / "corpus", str(tmp_path / "corpus")):
        with pytest.raises(CorpusFormatError, match=r"manifest.json .*; encode the corpus again"):
            ParagraphVector().fit(given)
    encode(["c d", "d c"], tmp_path / "corpus")  # which replaces it
    assert EncodedCorpus.open(tmp_path / "corpus").words(-1) == ["d", "c"]
    with pytest.raises(IndexError, match="there are 2 documents, and none at 2"):
        EncodedCorpus.open(tmp_path / "corpus").words(2)
