from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paravec import _core, tensors
from paravec.corpus import labels as module
from paravec.corpus.labels import LabelIndex, Labels, packed
from paravec.errors import TensorError

TEXTS = st.text(st.characters())  # with lone surrogates
INTEGERS = st.integers(-(2**63), 2**63 - 1)
IDS = st.lists(TEXTS, unique=True) | st.lists(INTEGERS, unique=True)


def labels_of(ids, indexed=False) -> Labels:
    found = Labels(*packed("ids", ids).values())
    return Labels(found.data, found.offsets, LabelIndex.of(found)) if indexed else found


def arrays(*texts: bytes):
    offsets = np.cumsum([0, *map(len, texts)])
    return np.frombuffer(b"".join(texts), dtype=np.uint8), offsets


@given(ids=IDS, others=st.lists(TEXTS | st.integers()), indexed=st.booleans())
def test_every_id_is_found_and_no_other(ids, others, indexed):
    labels = labels_of(ids, indexed)
    assert [labels.index(id) for id in ids] == list(range(len(ids)))
    for other in set(others) - set(ids):
        assert other not in labels
        with pytest.raises(ValueError, match="there is no id"):
            labels.index(other)


@given(ids=IDS, more=IDS)
def test_many_ids_are_found_as_each_of_them_and_the_last_of_equal_ones(ids, more):
    labels = labels_of([*ids, *ids[:3]])
    wanted = [*ids, *(id for id in more if not ids or type(id) is type(ids[0]))]
    rows = labels.rows_of(labels_of(wanted)).tolist()
    last = {id: row for row, id in enumerate([*ids, *ids[:3]])}
    assert rows == [last.get(id, -1) for id in wanted]
    assert [labels.index(id) for id in ids] == [last[id] for id in ids]


@given(ids=IDS, start=st.integers(-9, 9), stop=st.none() | st.integers(-9, 9), step=st.sampled_from([None, 1, 2, -1]))
def test_labels_are_a_sequence_like_a_list(ids, start, stop, step):
    labels = labels_of(ids)
    assert list(labels) == labels.tolist() == ids
    assert labels == ids
    assert labels[start:stop:step] == ids[start:stop:step]
    for i, id in enumerate(ids):
        assert labels[i] == labels[i - len(ids)] == id
        expected = i in range(*slice(start, stop).indices(len(ids)))
        assert found(labels, id, start, stop) == (i if expected else None)


def found(labels, id, start, stop):
    try:
        return labels.index(id, start, stop)
    except ValueError:
        return None


def test_blocks_come_one_after_another(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 3)
    for ids in ([f"d{i}" for i in range(10)], list(range(10)), []):
        assert list(labels_of(ids)) == ids


@pytest.mark.parametrize("ids", [["b", "", "a", "\ud800"], [3, -1, 2**63 - 1, -(2**63)]], ids=["text", "integers"])
def test_kinds_do_not_mix(ids):
    for labels in (labels_of(ids), labels_of(ids, indexed=True)):
        assert labels.index(ids[3]) == 3
        for other in (None, 1.5, b"a", "x", 7, 2**63, -(2**70), ("a",)):
            assert other not in labels
    assert labels_of([4, 5], indexed=True).index(np.int32(5)) == 1


def test_hashes_are_fnv1a():
    data, offsets = arrays(b"", b"a", b"foobar")
    assert _core.fnv1a(data, offsets).tolist() == [0xCBF29CE484222325, 0xAF63DC4C8601EC8C, 0x85944171F73967E8]
    assert _core.fnv1a(data, offsets[:0]).tolist() == []


def test_equal_hashes_are_looked_through(monkeypatch):
    monkeypatch.setattr(_core, "fnv1a", lambda data, offsets: np.diff(offsets).astype(np.uint64))
    ids = ["a", "bb", "cc", "", "dd", "e"]
    labels = labels_of(ids, indexed=True)
    assert labels.lookup.keys.tolist() == [0, 1, 1, 2, 2, 2]
    assert [labels.index(id) for id in ids] == list(range(6))
    for other in ("f", "ff", "fff"):
        assert other not in labels


def test_an_index_survives_a_file(tmp_path):
    ids = [f"document {i}" for i in range(1000)]
    labels = labels_of(ids, indexed=True)
    tensors.write(
        tmp_path / "ids",
        {"data": labels.data, "offsets": labels.offsets, "keys": labels.lookup.keys, "rows": labels.lookup.rows},
    )
    arrays, _ = tensors.read(tmp_path / "ids")
    mapped = Labels(arrays["data"], arrays["offsets"], LabelIndex(arrays["keys"], arrays["rows"]))
    assert mapped == ids
    assert [mapped.index(id) for id in ids] == list(range(1000))


@pytest.mark.parametrize("ids", [["a", "b", "c"], [7, 8, 9]], ids=["text", "integers"])
def test_a_damaged_index_never_gives_a_wrong_row(ids):
    labels = labels_of(ids, indexed=True)
    for rows, message in (([5, 5, 5], "leads to row 5 of 3"), ([-1, -1, -1], "leads to row -1 of 3")):
        damaged = Labels(labels.data, labels.offsets, LabelIndex(labels.lookup.keys, np.array(rows)))
        with pytest.raises(TensorError, match=message):
            damaged.index(ids[0])
    turned = Labels(labels.data, labels.offsets, LabelIndex(labels.lookup.keys, np.roll(labels.lookup.rows, 1)))
    unsorted = Labels(labels.data, labels.offsets, LabelIndex(labels.lookup.keys[::-1].copy(), labels.lookup.rows))
    for damaged in (turned, unsorted):
        for i, id in enumerate(ids):
            assert found(damaged, id, 0, None) in (None, i)
    with pytest.raises(TensorError, match="it has 3 keys and 2 rows for 3 ids"):
        Labels(labels.data, labels.offsets, LabelIndex(labels.lookup.keys, labels.lookup.rows[:2]))


@given(texts=st.lists(TEXTS))
def test_texts_are_unpacked(texts):
    data, offsets = arrays(*(text.encode("utf-8", "surrogatepass") for text in texts))
    assert _core.unpack(data, offsets) == texts


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xf5\x80\x80\x80", b"\xc0\x80"])
def test_bytes_that_are_no_text_are_an_error(bad):
    data, offsets = arrays(b"good", bad, b"good")
    with pytest.raises(UnicodeDecodeError):
        _core.unpack(data, offsets)
    with pytest.raises(TensorError, match="ids are damaged"):
        list(Labels(data, offsets))


@pytest.mark.parametrize("offsets", [[-1, 3], [0, 4], [2, 1], [0, 2**62, 3], [0, 3, -(2**63)], [5, 5]])
def test_offsets_out_of_bounds_are_refused(offsets):
    for function in (_core.unpack, _core.fnv1a):
        with pytest.raises(ValueError, match="offsets are out of order"):
            function(np.zeros(3, np.uint8), np.array(offsets))


def test_arrays_of_another_kind_are_refused():
    for function in (_core.unpack, _core.fnv1a):
        for data, offsets in ((np.zeros(3, np.int32), np.array([0, 3])), (np.zeros(3, np.uint8), np.array([0.0, 3.0]))):
            with pytest.raises(TypeError):
                function(data, offsets)
