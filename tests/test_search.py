"""Exact search finds what a plain matrix product finds, whatever the blocks, and names what it cannot answer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import paravec
from paravec import ModelFormatError, ParagraphVector, search
from test_memory import megabytes

TEXTS = [f"the {a} {b} sat on the {c}" for a in ("cat", "dog", "hen") for b in ("big", "red") for c in ("mat", "rug")]
IDS = [f"id {i}" for i in range(len(TEXTS))]


def fitted(**settings) -> ParagraphVector:
    return ParagraphVector(**{"vector_size": 6, "epochs": 2, "min_count": 1, **settings}).fit(TEXTS, ids=IDS)


def cosines(parts, queries):
    """The definition: the mean over the halves of the cosines of all rows."""
    halves = np.split(np.asarray(queries, dtype=np.float64), len(parts), axis=1)
    both = zip(parts, halves, strict=True)
    return np.mean([search.unit(half) @ search.unit(part.astype(np.float64)).T for part, half in both], axis=0)


@given(
    lengths=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    n_queries=st.integers(1, 7),
    n_parts=st.integers(1, 2),
    k=st.integers(1, 40),
    block=st.integers(1, 200),
    start=st.integers(0, 50),
    seed=st.integers(0, 2**32),
)
def test_blocks_and_segments_find_what_one_matrix_product_finds(lengths, n_queries, n_parts, k, block, start, seed):
    rng = np.random.default_rng(seed)
    tables = [
        search.Rows(tuple(rng.integers(-2, 3, (n, 3)).astype(np.float32) for _ in range(n_parts))) for n in lengths
    ]
    queries = rng.standard_normal((n_queries, 3 * n_parts))
    total = sum(lengths)
    out = np.flatnonzero((rng.random(total) < 0.2) & (np.arange(total) >= start))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_SCORES_AT_ONCE", block)
        patch.setattr(search, "ROWS_AT_ONCE", 7)
        patch.setattr(search, "_QUERIES_AT_ONCE", 3)
        patch.setattr(search, "_FEW_ROWS", 2)
        rows, scores = search.nearest(tables, queries, k, out, start)
    whole = [np.concatenate([table.parts[part] for table in tables]) for part in range(n_parts)]
    every = cosines(whole, queries)
    every[:, out] = -np.inf
    every[:, :start] = -np.inf
    best = -np.sort(-every, axis=1)[:, : min(k, max(0, total - start) - len(out))]
    assert rows.shape == best.shape
    assert np.allclose(scores, best, atol=1e-5)
    assert np.allclose(np.take_along_axis(every, rows, 1), best, atol=1e-5)
    assert all(len(set(found)) == len(found) for found in rows.tolist())


@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_few_rows_have_the_scores_of_many(n_parts):
    rng = np.random.default_rng(0)
    for scale in (1.0, 0.0, 1e30):  # zeros, and squares that overflow
        parts = tuple(rng.standard_normal((9, 4), dtype=np.float32) for _ in range(n_parts))
        parts[0][3] *= np.float32(scale)
        (way,) = search.directions(rng.standard_normal((1, 4 * n_parts)), n_parts)
        assert np.allclose(search.scores_of(search.Rows(parts), way), cosines(parts, way[None])[0], atol=1e-5)
    parts[0][5] = np.nan
    with pytest.raises(ModelFormatError, match="holds NaN"):
        search.scores_of(search.Rows(parts), way)


def test_equals_are_found_in_the_order_of_rows(monkeypatch):
    monkeypatch.setattr(search, "_SCORES_AT_ONCE", 8)
    table = search.Rows((np.ones((50, 3), dtype=np.float32),))
    rows, scores = search.nearest([table, table], np.ones((2, 3)), 7)
    assert rows.tolist() == [list(range(7))] * 2
    assert np.allclose(scores, 1)


def test_a_matrix_of_queries_is_answered_as_each_of_them():
    model = fitted()
    queries = model.transform(TEXTS[:5])
    for some, query in zip(model.similar(queries, 4), queries, strict=True):
        alone = model.similar(query, 4)
        assert np.allclose([score for _, score in some], [score for _, score in alone], atol=1e-6)
        near = dict(model.similar(query, len(TEXTS)))  # those with the same words are equally near, but for rounding
        assert all(abs(near[one] - near[other]) < 1e-6 for (one, _), (other, _) in zip(some, alone, strict=True))


def test_only_documents_among_some_are_found():
    model = fitted()
    some = {"id 3", "id 7", "id 9"}
    everything = model.similar(TEXTS[0], len(TEXTS))
    among = model.similar(TEXTS[0], among=some)
    assert [id for id, _ in among] == [id for id, _ in everything if id in some]
    assert [id for id, _ in model.similar(id="id 3", among=some)] == [
        id for id, _ in model.similar(id="id 3", k=11) if id in some
    ]
    assert model.similar(TEXTS[0], among=[]) == []
    with pytest.raises(KeyError, match="no document has the id 'id 99'"):
        model.similar(TEXTS[0], among=["id 3", "id 99"])
    with pytest.raises(TypeError, match="'id 3' is a single id"):
        model.similar(TEXTS[0], among="id 3")


def test_both_halves_weigh_the_same():
    model = fitted(model="dm+dbow", combine="mean", window=3)
    (segment,) = model._fitted.documents.segments
    before = model.similar(id="id 2", k=11)
    model._fitted.documents = type(model._fitted.documents)(
        (type(segment)((segment.parts[0] * 1000, segment.parts[1]), segment.ids),)
    )
    assert [id for id, _ in model.similar(id="id 2", k=11)] == [id for id, _ in before]
    halves = np.split(model.document_vectors_, 2, axis=1)
    expected = np.mean([search.unit(half) @ search.unit(half[2]) for half in halves], axis=0)
    assert before[0][1] == pytest.approx(np.sort(expected)[-2], abs=1e-5)


def test_more_than_there_are_is_refused_and_nothing_said_means_ten_or_all():
    model = fitted(train_words=True)
    assert len(model.similar(TEXTS[0])) == 10
    assert len(model.similar_words("cat")) == len(model.vocabulary_) - 1
    with pytest.raises(ValueError, match="k=13 is more than the 12 documents there are; use k <= 12"):
        model.similar(TEXTS[0], 13)
    with pytest.raises(ValueError, match=r"k=100 is more than the \d+ words there are"):
        model.similar_words("cat", 100)
    assert len(model.similar(TEXTS[0], 12, among=IDS[:3])) == 3


@pytest.mark.parametrize("shape", [(5,), (2, 5), (2, 2, 6), (0, 5)])
def test_vectors_of_another_length_are_refused(shape):
    with pytest.raises(ValueError, match=r"the query has shape .*; this model's vectors have \(6,\)"):
        fitted().similar(np.zeros(shape))


def test_a_vector_may_be_a_list_or_integers_and_a_matrix_empty():
    model = fitted()
    vector = model.transform(TEXTS[:1])[0].round(2)
    assert model.similar(vector.tolist(), 3) == model.similar(vector.astype(np.float64), 3)
    assert model.similar(np.arange(6), 3) == model.similar(np.arange(6.0), 3)
    assert model.similar(np.zeros((0, 6))) == []
    with pytest.raises(TypeError, match=r"the query begins with the number 0\.5, but not all of it are numbers"):
        model.similar([0.5, "cat"])
    with pytest.raises(TypeError, match="among=8 is a single id"):
        model.similar(TEXTS[0], among=8)


def test_nothing_is_near_to_zero():
    model = fitted(train_words=True)
    with pytest.raises(ValueError, match="the query vector is zero, as of a text without known words: nothing is near"):
        model.similar(np.zeros(6))
    with pytest.raises(ValueError, match="the query in row 1 is zero"):
        model.similar(np.eye(6)[:2] * [[1.0], [0.0]])
    with pytest.raises(ValueError, match="the words given cancel each other out"):
        model.analogy(["cat"], ["cat"])


def test_large_numbers_do_not_overflow_and_none_are_named():
    large = search.Rows((np.array([[1e30, 0], [1, 1], [0, 1e-30]], dtype=np.float32),))
    rows, scores = search.nearest([large], np.array([[1e30, 1e29]]), 3)
    assert rows.tolist() == [[0, 1, 2]]
    assert scores[0, 0] == pytest.approx(1, abs=0.01)
    broken = search.Rows((np.array([[1, 1], [np.nan, 1]], dtype=np.float32),))
    with pytest.raises(ModelFormatError, match="the vector of document 1 holds NaN"):
        search.nearest([broken], np.ones((1, 2)), 1)


def test_searching_a_mapped_model_takes_little_memory(tmp_path):
    script = """
from paravec.documents import Documents, Segment
fitted = paravec.ParagraphVector(vector_size=50, epochs=1, min_count=1).fit(["a b", "b c"])
vectors = np.random.default_rng(0).standard_normal((500_000, 50)).astype(np.float32)
fitted._fitted.documents = Documents((Segment((vectors,), range(500_000)),))
fitted.save(sys.argv[1])
del fitted, vectors
queries = np.random.default_rng(1).standard_normal((300, 50)).astype(np.float32)
opened = paravec.ParagraphVector.load(sys.argv[1])
opened.similar(queries[:1])
grown(lambda: opened.similar(queries))
"""
    assert megabytes(script, tmp_path / "model") < 100  # of 600 MB of scores


def test_the_command_line_looks_among_some(folder, tmp_path):
    (tmp_path / "some").write_text("3\n17\n150\n")
    done = paravec("similar", folder / "model", "open a file", "--among", tmp_path / "some", "--json")
    assert {json.loads(line)["id"] for line in done.stdout.splitlines()} == {3, 17, 150}
    done = paravec("similar", folder / "model", "open a file", "-k", "1000", code=1)
    assert "k=1000 is more than the 200 documents there are" in done.stderr
