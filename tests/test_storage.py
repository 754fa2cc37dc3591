"""Output weights that have 16 bits while they are trained, on the processor."""

from __future__ import annotations

from threading import Thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from conftest import documents, make_case
from paravec import ParagraphVector, _core
from paravec.engines.cpu import CpuEngine
from paravec.engines.room import zeros
from paravec.engines.rounding import nearest, rounded

CONCAT = {"model": "dm", "vector_size": 6, "window": 3, "epochs": 3, "min_count": 1, "random_state": 3}
TEXTS = [" ".join(tokens) for tokens in documents([9, 12, 3, 30, 7, 1, 22, 18] * 4)]


def outputs_of(**settings):
    return ParagraphVector(**{**CONCAT, **settings}).fit(TEXTS)._fitted.models[0].outputs


def has_16_bits(array) -> bool:
    return not (np.ascontiguousarray(array).view(np.uint32) & 0xFFFF).any()


@pytest.mark.parametrize("output", ["negative", "hs"])
def test_concat_has_16_bits_unless_it_is_told_otherwise(output):
    found = outputs_of(output=output)
    assert np.abs(found).max() > 0.01
    assert has_16_bits(found)
    assert np.array_equal(found, outputs_of(output=output, storage="bfloat16"))
    assert not has_16_bits(outputs_of(output=output, storage="float32"))


@pytest.mark.parametrize("combine", ["mean", "sum"])
def test_wide_rows_of_the_tree_have_16_bits_and_narrow_ones_have_not(combine):
    settings = {"combine": combine, "output": "hs"}
    assert has_16_bits(outputs_of(**{**settings, "vector_size": 256}))
    assert not has_16_bits(outputs_of(**{**settings, "vector_size": 255}))
    assert not has_16_bits(outputs_of(**{**settings, "vector_size": 256, "storage": "float32"}))
    assert not has_16_bits(outputs_of(**{**settings, "vector_size": 256, "output": "negative"}))


@pytest.mark.parametrize(
    "settings",
    [
        {"draw_errors": False},
        {"output": "softmax"},
        {"combine": "mean", "draw_errors": True},
        {"combine": "mean", "draw_errors": True, "vector_size": 256},
        {"model": "dbow"},
    ],
    ids=str,
)
def test_other_models_have_32_bits_and_refuse_16(settings):
    estimator = ParagraphVector(**{**CONCAT, **settings}).fit(TEXTS)
    assert not has_16_bits(estimator._fitted.models[0].outputs)
    with pytest.raises(ValueError, match="storage='bfloat16' is for"):
        estimator.set_params(storage="bfloat16").fit(TEXTS)


@pytest.mark.parametrize("kernels", _core.available_kernels())
@given(rows=some.integers(1, 4), columns=some.integers(1, 70), bias=some.booleans(), seed=some.integers(0, 99))
def test_rows_are_packed_to_the_nearest_numbers_and_back(kernels, rows, columns, bias, seed):
    draw = np.random.default_rng(seed)
    given = (draw.normal(size=(rows, columns)) * 10.0 ** draw.integers(-20, 20, size=(rows, columns))).astype(
        np.float32
    )
    array, more = zeros(rows, columns, spare=1), given[:, 0].copy() if bias else None
    array[:] = given
    _core.pack_outputs(array, more, kernels)
    _core.unpack_outputs(array, more, kernels)
    assert np.array_equal(array, nearest(given))
    assert np.abs(array / given - 1).max() <= 2**-8
    assert more is None or np.array_equal(more, nearest(given[:, 0]))
    whole = np.lib.stride_tricks.as_strided(array, (rows, array.strides[0] // 4), array.strides)
    assert whole.shape[1] > columns
    assert not whole[:, columns:].any()


@pytest.mark.parametrize("output", ["negative", "hs"])
def test_numbers_that_left_their_range_are_seen_while_they_are_packed(output):
    case = make_case(model="dm", output=output)
    engine = CpuEngine(1)
    engine.train(case.model, case.corpus, case.tables, case.work())
    assert engine.is_finite(case.model)
    engine.settle(case.model)
    assert engine.is_finite(case.model)
    case.model.outputs[1, 2] = np.inf
    engine.train(case.model, case.corpus, case.tables, case.work())
    assert not engine.is_finite(case.model)


def test_a_thread_that_infers_while_such_a_model_is_trained_changes_nothing():
    def fitted(callback):
        return ParagraphVector(**{**CONCAT, "epochs": 8}).fit(TEXTS * 300, callbacks=[callback])

    threads = []

    def infer_beside(epoch):
        threads.append(Thread(target=epoch.transform, args=(TEXTS[:1],)))
        threads[-1].start()

    beside = fitted(infer_beside)
    for thread in threads:
        thread.join()
    alone = fitted(lambda epoch: None)
    assert threads
    assert np.array_equal(beside._fitted.models[0].outputs, alone._fitted.models[0].outputs)


def test_small_changes_are_not_lost():
    """A 64th of the distance to the next number, 1,024 times: each line has its turn, and 16 steps are made."""
    x = np.full(64, 1.0, dtype=np.float32)
    for line in range(1024):
        x = rounded(x + np.float32(2**-7 / 64), 7 * line)
    assert (x == 1 + 16 * 2**-7).all()
