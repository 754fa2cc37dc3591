"""Documents that are added to a fitted model, and removed from it, in memory."""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paravec import ParagraphVector, UnknownWordsWarning, documents, encode
from paravec.corpus.labels import as_labels
from paravec.documents import Documents, Segment

TEXTS = [f"the {a} {b} sat on the {c}" for a in ("cat", "dog", "hen") for b in ("big", "red") for c in ("mat", "rug")]
IDS = [f"id {i}" for i in range(len(TEXTS))]
MODELS = [{}, {"model": "dm+dbow", "combine": "mean", "window": 3}, {"logit": "cosine", "ngrams": 2}]


def fitted(n: int = 8, ids=IDS, **chosen) -> ParagraphVector:
    estimator = ParagraphVector(**{"vector_size": 6, "epochs": 2, "min_count": 1, **chosen})
    return estimator.fit(TEXTS[:n], ids=None if ids is None else ids[:n])


@pytest.mark.parametrize("chosen", MODELS, ids=str)
def test_documents_that_are_added_are_inferred_and_the_others_stay_to_the_bit(chosen):
    model = fitted(**chosen)
    before = model.document_vectors_.copy()
    assert model.add_documents(TEXTS[8:], ids=IDS[8:]) is model
    assert model.document_vectors_[:8].tobytes() == before.tobytes()
    assert np.array_equal(model.document_vectors_[8:], model.transform(TEXTS[8:]))
    assert list(model.document_ids_) == IDS
    assert model.n_documents_ == 12
    assert model.similar(model.document_vectors_[9], 1)[0][0] == "id 9"
    assert model.similar(id="id 9", k=11)


def test_removed_documents_are_no_longer_found_and_may_come_back():
    model = fitted().add_documents(TEXTS[8:], ids=IDS[8:])
    vectors = model.document_vectors_.copy()
    model.remove_documents(["id 2", "id 10"])
    kept = [i for i in range(12) if i not in (2, 10)]
    assert model.document_ids_ == [IDS[i] for i in kept]
    assert np.array_equal(model.document_vectors_, vectors[kept])
    assert {"id 2", "id 10"}.isdisjoint(id for id, _ in model.similar(TEXTS[2], 10))
    with pytest.raises(KeyError, match="no document has the id 'id 2'; there are 10"):
        model.similar(id="id 2")
    model.add_documents(TEXTS[:1], ids=["id 2"])
    assert model.document_ids_[-1] == "id 2"
    assert model.similar(TEXTS[0], 2, among=["id 2", "id 0"])[0][1] == pytest.approx(1, abs=1e-5)


def test_vectors_in_several_pieces_are_copied_once():
    model = fitted(model="dm+dbow", combine="mean", window=3).add_documents(TEXTS[8:], ids=IDS[8:])
    model.remove_documents(["id 2"])
    assert model.document_vectors_ is model.document_vectors_
    assert not model.document_vectors_.flags.writeable
    assert np.array_equal(model.document_vectors_[-4:], model.transform(TEXTS[8:]))


def test_numbers_go_on():
    model = fitted(ids=None)
    assert model.add_documents(TEXTS[8:10]).document_ids_ == list(range(10))
    assert model.add_documents(TEXTS[10:], ids=[70, 30]).add_documents(TEXTS[:1]).document_ids_[-3:] == [70, 30, 71]
    given = fitted(ids=[10**15, -3, 5, 6, 7, 8, 9, 11])
    assert given.add_documents(TEXTS[8:9]).document_ids_[-1] == 10**15 + 1
    with pytest.raises(ValueError, match="do not fit 64 bits"):
        fitted(ids=[2**63 - 1, *range(7)]).add_documents(TEXTS[8:9])


def test_a_corpus_or_a_table_brings_its_ids():
    model = fitted()
    model.add_documents(encode(TEXTS[8:10], ids=["x", "y"], min_count=1))
    assert list(model.document_ids_)[-2:] == ["x", "y"]
    assert np.array_equal(model.document_vectors_[-2:], model.transform(TEXTS[8:10]))
    with pytest.raises(ValueError, match="an encoded corpus has its own; leave ids out"):
        model.add_documents(encode(TEXTS[8:10], ids=["x", "y"], min_count=1), ids=["p", "q"])


@pytest.mark.parametrize(
    ("texts", "ids", "kind", "message"),
    [
        (TEXTS[:2], ["new", "id 3"], ValueError, "1 of the 2 given is there already, the first 'id 3'"),
        (TEXTS[:2], ["new", "new"], ValueError, "ids must differ, but 1 are given again, the first 'new'"),
        (TEXTS[:2], ["new"], ValueError, "there are 2 documents, but 1 ids"),
        (TEXTS[:2], [1, 2], ValueError, "the id 1 is new, but the model's ids are strings, not integers"),
        (TEXTS[:2], None, ValueError, "have strings for ids, and those to add have none; give ids"),
        ([], [], ValueError, "holds no document; give at least one"),
        ("a text", ["new"], TypeError, "is a single str"),
        ([["cat"], [3]], ["x", "y"], TypeError, "use strings only or integers only"),
        ([None], ["x"], TypeError, "document 0 is missing"),
    ],
)
def test_what_cannot_be_added_is_named_and_the_model_stays_as_it_was(texts, ids, kind, message):
    model = fitted()
    before = pickle.dumps(model)
    with pytest.raises(kind, match=message):
        model.add_documents(texts, ids=ids)
    assert pickle.dumps(model) == before


def test_what_cannot_be_removed_is_named_and_nothing_is_removed():
    model = fitted()
    for ids, kind, message in (
        (["id 1", "id 99"], KeyError, "no document has the id 'id 99'; there are 8"),
        ([1], KeyError, "no document has the id 1"),
        ([1 << 70], KeyError, "no document has the id 1180591620717411303424"),
        ([["id 1"]], TypeError, r"the id \['id 1'\] is neither a string nor an integer"),
        ([8.0], TypeError, "the id 8.0 is neither a string nor an integer"),
        (None, TypeError, "ids=None is no list of ids"),
        ("id 1", TypeError, "'id 1' is a single id; give a list"),
    ):
        with pytest.raises(kind, match=message):
            model.remove_documents(ids)
    assert model.document_ids_ == IDS[:8]


def test_all_documents_can_be_removed_and_others_added(tmp_path):
    model = fitted().remove_documents(IDS[:8])
    assert model.n_documents_ == 0
    assert model.document_vectors_.shape == (0, 6)
    assert model.similar(TEXTS[0]) == []
    with pytest.raises(ValueError, match="k=1 is more than the 0 documents"):
        model.similar(TEXTS[0], 1)
    model.save(tmp_path / "empty")
    again = ParagraphVector.load(tmp_path / "empty")
    assert (again.n_documents_, list(again.document_ids_), again.similar(TEXTS[0])) == (0, [], [])
    assert list(again.add_documents(TEXTS[:2], ids=["x", "y"]).document_ids_) == ["x", "y"]


def test_a_document_of_unknown_words_is_told_of_and_zero():
    model = fitted()
    with pytest.warns(UnknownWordsWarning, match="the first is document 'strange'"):
        model.add_documents(["xyzzy plugh"], ids=["strange"])
    assert not model.document_vectors_[-1].any()
    with pytest.raises(ValueError, match="has no word the model knows: nothing is near"):
        model.similar(id="strange")


def test_a_model_without_documents_takes_none(tmp_path):
    fitted().save(tmp_path / "model", documents=False)
    for work in (lambda m: m.add_documents(TEXTS[:1], ids=["x"]), lambda m: m.remove_documents(["id 1"])):
        with pytest.raises(ValueError, match="saved without its documents"):
            work(ParagraphVector.load(tmp_path / "model"))


@settings(max_examples=60)
@given(st.lists(st.one_of(st.integers(1, 9), st.lists(st.integers(0, 40), max_size=3)), max_size=12))
def test_adding_and_removing_is_what_a_list_does(steps):
    """Whatever is added (an integer: so many) and removed (a list of places), in any order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "MOST_MERGED", 12)
        patch.setattr(documents, "ROWS_AT_ONCE", 3)
        ours = Documents((Segment((np.zeros((1, 2), dtype=np.float32),), ["0"]),))
        theirs, count = {"0": 0.0}, 1
        for step in steps:
            if isinstance(step, int):
                absent = [str(i) for i in range(count + step) if str(i) not in theirs]  # some were removed before
                new = {id: float(count + i) for i, id in enumerate(absent[:step])}
                count += step
                vectors = np.array([[value, -value] for value in new.values()], dtype=np.float32)
                ours, theirs = ours.adding(Segment((vectors,), list(new))), theirs | new
            else:
                gone = {list(theirs)[place] for place in step if place < len(theirs)}
                ours = ours.removing(gone)
                theirs = {id: value for id, value in theirs.items() if id not in gone}
        assert ours.ids == list(theirs)
        assert len(ours) == len(theirs)
        found = np.concatenate(list(ours.blocks(0)))
        assert found[:, 0].tolist() == list(theirs.values())
        assert ours.vectors(0, ours.rows)[:, 0].tolist() == list(theirs.values())
        assert [ours.id(ours.row(id)) for id in theirs] == list(theirs)


def test_many_small_additions_make_few_segments():
    everything = Documents((Segment((np.zeros((100, 2), dtype=np.float32),), range(100)),))
    for i in range(300):
        everything = everything.adding(Segment((np.full((1, 2), i, dtype=np.float32),), everything.numbers(1)))
    assert len(everything.segments) < 12
    assert everything.ids == list(range(400))
    assert everything.segments[0].parts[0].shape == (100, 2)


def test_a_document_that_is_updated_a_thousand_times_makes_few_segments():
    everything = Documents((Segment((np.zeros((4, 2), dtype=np.float32),), list("abcd")),))
    for i in range(1000):
        everything = everything.removing(["a"]).adding(Segment((np.full((1, 2), i, dtype=np.float32),), ["a"]))
        assert everything.vectors(0, everything.rows_of(["a"]))[0, 0] == i
    assert len(everything.segments) < 12
    assert everything.ids == ["b", "c", "d", "a"]


def test_a_number_is_found_whatever_its_type_and_a_truth_value_is_none():
    model = fitted(ids=None)
    assert model.similar(id=np.int64(3), k=2) == model.similar(id=3, k=2)
    with pytest.raises(TypeError, match="the id True is neither a string nor an integer"):
        model.similar(id=True)
    with pytest.raises(KeyError, match="no document has the id '3'"):
        model.similar(id="3")


@pytest.mark.parametrize("ids", [range(300_000), [f"piece {i}" for i in range(300_000)]], ids=["numbers", "strings"])
def test_many_ids_are_found_at_once(ids):
    everything = Documents((Segment((np.zeros((len(ids), 1), dtype=np.float32),), as_labels(ids)),))
    everything = everything.removing(ids[:10])
    began = time.perf_counter()
    assert np.array_equal(everything.rows_of(ids[10:]), np.arange(10, len(ids)))
    assert time.perf_counter() - began < 2  # one by one it would be 5
    with pytest.raises(KeyError, match="no document has the id"):
        everything.rows_of(ids)


def test_ids_of_a_corpus_in_a_folder_are_found_through_an_index(tmp_path):
    count = 20_000
    encode(["a b"] * count, tmp_path / "corpus", ids=[f"piece {i}" for i in range(count)], min_count=1)
    model = ParagraphVector(vector_size=2, epochs=1, infer_max_iter=1).fit(tmp_path / "corpus")
    found = model._fitted.documents
    found.row("piece 0")
    began = time.perf_counter()
    assert [found.row(f"piece {i}") for i in range(0, count, 100)] == list(range(0, count, 100))
    assert time.perf_counter() - began < 0.2  # one after the other it would be 0.8
