"""Approximate search: an index that is built on request, kept beside the model, and never stands for another one."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from conftest import paravec
from paravec import (
    ModelFormatError,
    ParagraphVector,
    UnknownWordsWarning,
    add_documents,
    build_index,
    remove_documents,
    search,
)
from paravec.documents import Documents, Segment
from paravec.index import Index

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def corpus(python_docs):
    return [name for name, _ in python_docs[:3000]], [text for _, text in python_docs[:3000]]


@pytest.fixture(scope="module", params=["dbow", "dm+dbow"])
def original(request, tmp_path_factory, corpus):
    names, texts = corpus
    place = tmp_path_factory.mktemp("index") / "model"
    model = ParagraphVector(request.param, vector_size=16, epochs=2, window=4, combine="mean", n_jobs=2)
    model.fit(texts[:2500], ids=names[:2500]).save(place)
    assert build_index(place, n_jobs=2) >= 0.95
    return place


@pytest.fixture
def place(original, tmp_path):
    return shutil.copytree(original, tmp_path / "model")


def recall(model: ParagraphVector, queries, k: int = 10) -> float:
    pairs = zip(model.similar(queries, k), model.similar(queries, k, approximate=True), strict=True)
    return np.mean([len({id for id, _ in true} & {id for id, _ in found}) / k for true, found in pairs])


def test_an_index_finds_most_of_what_is_near_with_the_same_scores(original, corpus):
    model = ParagraphVector.load(original)
    queries = model.transform(corpus[1][2500:2600])
    assert recall(model, queries) > 0.93
    true = dict(model.similar(queries[0], 2500))
    found = model.similar(queries[0], 20, approximate=True)
    assert len(found) == 20
    assert all(score == pytest.approx(true[id], abs=1e-5) for id, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_the_document_itself_is_left_out(original):
    model = ParagraphVector.load(original)
    id = model.document_ids_[7]
    found = model.similar(id=id, k=10, approximate=True)
    assert id not in [name for name, _ in found]
    assert len({name for name, _ in found} & {name for name, _ in model.similar(id=id, k=10)}) >= 8


def test_documents_added_and_removed_since_are_found_and_not_found(place, corpus):
    names, texts = corpus
    add_documents(place, texts[2500:2700], names[2500:2700])
    gone = [names[i] for i in range(0, 2700, 3)]
    remove_documents(place, gone)
    model = ParagraphVector.load(place)
    queries = model.transform(texts[2500:2600])
    assert recall(model, queries) > 0.93
    found = [id for some in model.similar(queries, 10, approximate=True) for id, _ in some]
    assert not set(found) & set(gone)
    assert set(found) & set(names[2500:2700])
    assert model.similar(model.transform([texts[2501]])[0], 1, approximate=True)[0][0] == names[2501]


def test_an_index_built_in_memory_is_saved_with_the_model(corpus, tmp_path):
    names, texts = corpus
    model = ParagraphVector(vector_size=8, epochs=1).fit(texts[:300], ids=names[:300])
    with pytest.raises(ValueError, match=r"there is no index .*; call build_index\(\) first"):
        model.similar(texts[0], approximate=True)
    assert model.build_index(recall=0.9) >= 0.9
    expected = model.similar(texts[0], approximate=True)
    model.save(tmp_path / "model")
    assert ParagraphVector.load(tmp_path / "model").similar(texts[0], approximate=True) == expected
    assert pickle.loads(pickle.dumps(model)).similar(texts[0])
    again = ParagraphVector.load(tmp_path / "model")  # which has not asked its index
    again.add_documents(texts[300:301], ids=names[300:301]).save(tmp_path / "again")
    assert len(ParagraphVector.load(tmp_path / "again").similar(texts[0], 20, approximate=True)) == 20
    with pytest.warns(UserWarning, match="the index is not saved with the model: documents were removed"):
        model.remove_documents(names[:1]).save(tmp_path / "model")  # rows are others now
    with pytest.raises(ValueError, match=r"there is no index in .*; build it: paravec index"):
        ParagraphVector.load(tmp_path / "model").similar(texts[0], approximate=True)


def test_an_index_of_another_model_is_refused(place, corpus, tmp_path):
    names, texts = corpus
    ParagraphVector(vector_size=16, epochs=1).fit(texts[:300], ids=names[:300]).save(tmp_path / "other")
    shutil.copytree(place / "index", tmp_path / "other" / "index")
    with pytest.raises(ValueError, match=r"the index in .* was built for another model .*, of 2500 documents"):
        ParagraphVector.load(tmp_path / "other").similar(texts[0], approximate=True)
    assert len(ParagraphVector.load(tmp_path / "other").similar(texts[0])) == 10


def test_an_index_of_an_earlier_version_is_to_be_built_again(place, corpus):
    about = place / "index" / "index.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"version": 1}))
    with pytest.raises(ModelFormatError, match="build it again"):
        ParagraphVector.load(place).similar(corpus[1][0], approximate=True)


def test_documents_are_removed_and_indexed_without_a_look_at_the_weights(place, corpus):
    for path in place.rglob("model.safetensors"):
        path.unlink()
    assert remove_documents(place, corpus[0][:1]) == 2499
    assert build_index(place) >= 0.95


def test_an_index_that_is_late_does_not_replace_that_of_another_model(place, corpus, monkeypatch):
    names, texts = corpus
    build = Index.build

    def while_another_is_saved(*arguments):
        index = build(*arguments)
        monkeypatch.undo()
        model = ParagraphVector.load(place)
        replaced = model.remove_documents(names[:1250]).add_documents(texts[1250:2500], ids=names[:1250])
        with pytest.warns(UserWarning, match="the index is not saved with the model: documents were removed"):
            replaced.save(place)
        build_index(place)
        return index

    monkeypatch.setattr(Index, "build", while_another_is_saved)
    with pytest.raises(ValueError, match=r"another model was saved to .* meanwhile; begin again"):
        build_index(place)
    model = ParagraphVector.load(place)
    assert recall(model, model.transform(texts[2500:2600])) > 0.9


def test_an_index_that_is_damaged_is_refused(place, corpus):
    def refused(match: str) -> None:
        with pytest.raises(ModelFormatError, match=match):
            ParagraphVector.load(place).similar(corpus[1][0], approximate=True)

    lists, about = place / "index" / "lists.faiss", place / "index" / "index.json"
    whole, said = lists.read_bytes(), about.read_text()
    lists.write_bytes(whole[:-100])
    refused("lists.faiss is not what was written; build it again")
    lists.unlink()
    refused("is damaged")
    lists.write_bytes(whole)
    for place_of_one in (5, len(whole) // 2, len(whole) - 1):
        lists.write_bytes(whole[:place_of_one] + bytes([whole[place_of_one] ^ 4]) + whole[place_of_one + 1 :])
        refused("lists.faiss is not what was written; build it again")
    lists.write_bytes(whole)
    for change in ({"width": -1}, {"width": "64"}, {"n_rows": -1}, {"recall": None}, {"bytes": None}):
        about.write_text(json.dumps(json.loads(said) | change))
        refused("is damaged")
    about.write_text("{")
    refused("is not JSON")


@pytest.mark.parametrize("recall", [0, -1, 1.5, True, "much", float("nan")])
def test_a_recall_that_cannot_be_is_refused(recall, corpus):
    model = ParagraphVector(vector_size=4, epochs=1).fit(corpus[1][:50])
    with pytest.raises(ValueError, match=r"recall=.* is no part of what is to be found"):
        model.build_index(recall)


def test_documents_of_unknown_words_are_found_when_all_are_wanted(corpus):
    model = ParagraphVector(vector_size=4, epochs=1).fit(corpus[1][:50])
    with pytest.warns(UnknownWordsWarning):
        model.add_documents(["xyzzy"] * 3)
    model.build_index()
    queries = model.document_vectors_[:4]
    assert [len(found) for found in model.similar(queries, 53, approximate=True)] == [53] * 4
    model.remove_documents(range(45))
    exact, quick = (model.similar(queries, 5, approximate=approximate) for approximate in (False, True))
    assert [[id for id, _ in found] for found in quick] == [[id for id, _ in found] for found in exact]


def test_many_documents_that_were_added_are_searched_as_quickly_as_exactly():
    rng = np.random.default_rng(0)
    documents = Documents((Segment((rng.standard_normal((500, 50), dtype=np.float32),), range(500)),))
    index = Index.build(documents, 0.9, 1)
    grown = documents.adding(
        Segment((rng.standard_normal((200_000, 50), dtype=np.float32),), documents.numbers(200_000))
    )
    queries = rng.standard_normal((1, 50), dtype=np.float32)
    none = np.zeros(0, dtype=np.int64)

    def seconds(work) -> float:
        found, began = work(), time.perf_counter()
        for _ in range(10):
            assert np.array_equal(work()[0], found[0])
        return time.perf_counter() - began

    exact = seconds(lambda: search.nearest(grown.segments, queries, 10))
    assert seconds(lambda: index.nearest(grown, queries, 10, none)) < 4 * exact  # lengths found anew would make it 12


def test_a_model_that_was_opened_before_its_index_grew_is_told_to_be_loaded_again(place, corpus):
    names, texts = corpus
    opened = ParagraphVector.load(place)
    add_documents(place, texts[2500:2510], names[2500:2510])
    build_index(place)
    with pytest.raises(
        ValueError, match="has documents that were added after the model was opened; load the model again"
    ):
        opened.similar(texts[0], approximate=True)


FULL = """
import resource, signal, sys
import paravec
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000,) * 2)
try:
    paravec.build_index(sys.argv[1])
except OSError as error:
    print(error.strerror, error.filename)
"""


def test_a_full_disk_is_told_and_leaves_the_index_that_was_there(place, corpus):
    before = (place / "index" / "lists.faiss").read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL, place], capture_output=True, text=True, check=True)
    assert done.stdout == f"File too large {place / 'index'}\n"
    assert (place / "index" / "lists.faiss").read_bytes() == before
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def test_less_than_was_asked_for_is_told(monkeypatch):
    monkeypatch.setattr("paravec.index._CANDIDATES", (1,))
    vectors = np.random.default_rng(0).standard_normal((5000, 100), dtype=np.float32)
    with pytest.warns(UserWarning, match=r"finds 0\.\d+ of the nearest documents, and recall=1 was asked for"):
        assert Index.build(Documents((Segment((vectors,), range(5000)),)), 1, 1).recall < 1


@pytest.mark.parametrize("n", [1, 2, 3, 11])
def test_very_few_documents_have_an_index(n, corpus):
    model = ParagraphVector(vector_size=3, epochs=1, min_count=1).fit(corpus[1][:n])
    assert model.build_index() == 1
    assert len(model.similar(corpus[1][0], n, approximate=True)) == n


@pytest.mark.parametrize("width", [2, 7, 130])
def test_vectors_of_any_length_have_an_index(width):
    vectors = np.random.default_rng(0).standard_normal((1500, width), dtype=np.float32)
    documents = Documents((Segment((vectors,), range(1500)),))
    index = Index.build(documents, 0.9, 1)
    assert index.recall >= 0.9
    assert len(index.nearest(documents, vectors[:3], 5, search.NO_ROWS)[0][0]) == 5


def test_few_documents_and_many_wanted(corpus):
    model = ParagraphVector(vector_size=4, epochs=1).fit(corpus[1][:50])
    model.build_index()
    assert len(model.similar(corpus[1][0], 50, approximate=True)) == 50
    assert len(model.similar(id=3, k=50, approximate=True)) == 49
    with pytest.raises(ValueError, match="the model has no documents to build an index of"):
        model.remove_documents(range(50)).build_index()


def test_without_faiss_the_extra_is_named(corpus, monkeypatch):
    model = ParagraphVector(vector_size=4, epochs=1).fit(corpus[1][:50])
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r"pip install 'paravec\[index\]'"):
        model.build_index()


def test_the_command_line_builds_and_asks_an_index(folder, tmp_path):
    place = shutil.copytree(folder / "model", tmp_path / "model")
    done = paravec("similar", place, "open a file", "--approximate", code=1)
    assert "there is no index in" in done.stderr
    assert paravec("index", place).stdout.startswith("recall@10 ")
    exact, quick = (paravec("similar", place, "open a file", *more).stdout for more in ((), ("--approximate",)))
    assert len(set(exact.splitlines()) & set(quick.splitlines())) >= 8
