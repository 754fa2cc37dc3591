"""The definition itself: its gradients are those of its objective, and its contexts are the paper's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import combinations, make_case, name_of
from paravec.engines import steps as definition
from paravec.settings import Settings

DOCS = [["a", "b", "c", "a", "d"], ["b", "b", "a", "c"], ["d"]]


@pytest.mark.parametrize("combination", combinations(), ids=name_of)
def test_gradients_agree_with_finite_differences(combination):
    case = make_case(DOCS, **combination)
    model = case.model.astype(np.float64)
    arrays = [a for a in (model.documents, model.words, model.outputs, model.bias) if a is not None]
    steps = [
        step
        for i in range(len(DOCS))
        for step in definition.document_steps(model.architecture, case.tables, case.corpus[i], i)
    ]
    steps = [
        replace(step, noise=definition.noise_words(model.architecture, case.tables, (1, 2), 3, number))
        for number, step in enumerate(steps)
    ]
    for step in steps[:: max(1, len(steps) // 4)]:
        found = {id(a): np.zeros_like(a) for a in arrays}
        for array, rows, gradient in definition.gradients(model, case.tables, step):
            np.add.at(found[id(array)], rows, gradient)
        for array in arrays:
            for place in np.ndindex(array.shape):
                kept = array[place]
                array[place] = kept + 1e-5
                above = definition.objective(model, case.tables, step)
                array[place] = kept - 1e-5
                below = definition.objective(model, case.tables, step)
                array[place] = kept
                assert abs((above - below) / 2e-5 - found[id(array)][place]) < 1e-6


@pytest.mark.parametrize("least", [0.5, 0.8, 1.0])
def test_drawn_errors_are_what_they_were_in_the_mean_and_small_ones_are_rounded(least):
    chance = (np.arange(1000) + 0.5) / 1000
    for error in (-1.0, -0.7, -0.5, -0.31, -0.02, 0.0, 0.02, 0.31, 0.5, 0.7, 1.0):
        found = definition.drawn(np.full(1000, error), chance, least)
        assert found.mean() == pytest.approx(error, abs=1e-3)
        assert set(found) <= ({error} if abs(error) >= least else {0.0, np.sign(error) * least})
    assert np.isnan(definition.drawn(np.array([np.nan]), chance[:1], least))


def test_errors_are_drawn_to_one_or_to_what_moves_a_logit_by_two_or_to_a_half():
    expected = [(0.05, 0.0, 1.0), (0.0, 3.0, 1.0), (0.05, 40.0, 1.0), (0.05, 50.0, 0.8), (0.05, 200.0, 0.5)]
    for rate, length, least in expected:
        assert definition.least_error(rate, length) == pytest.approx(least)


@pytest.mark.parametrize("output", ["negative", "hs"])
def test_a_step_with_drawn_errors_is_the_step_in_the_mean(output):
    case = make_case(DOCS, model="dm", combine="concat", output=output)
    model = case.model.astype(np.float64)
    step = list(definition.document_steps(model.architecture, case.tables, case.corpus[0], 0))[2]
    step = replace(step, noise=definition.noise_words(model.architecture, case.tables, (1, 2), 3, 4))
    h = definition.hidden(model, step)
    exact = definition.pulls(model, case.tables, step, h).pull
    found = [definition.pulls(model, case.tables, step, h, (key, 7)).pull for key in range(2000)]
    assert np.mean(found, axis=0) == pytest.approx(exact, abs=0.03)
    assert np.mean([(each == 0).mean() for each in found]) > 0.03


def test_steps_of_a_document_draw_numbers_of_their_own_and_the_same_noise_word_the_same_one():
    architecture = Settings(model="dm", combine="concat", negative=4).architectures()[0]
    seen = [
        tuple(definition.chances(architecture, (1, 2), definition.Step(9, 0, (), (5, 6, 5, 7), turn=turn), 5))
        for turn in range(9)
    ]
    for of_target, first, second, again, third in seen:
        assert first == again
        assert len({of_target, first, second, third}) == 4
    assert len({number for step in seen for number in step}) == 9 * 4


def contexts(n: int, **settings) -> dict[int, tuple]:
    """For each predicted word of the document 0, 1, ..., n - 1, its context; '-' for NULL."""
    architecture = Settings(model="dm", **settings).architectures()[0]
    words = list(range(n))
    return {
        t: tuple("-" if c == 99 else c for c in definition.contexts(architecture, words, t, 99))
        for t in definition.predicted(architecture, n)
    }


def test_left_context_is_the_window_before_the_target():
    assert contexts(4, window=3)[3] == (1, 2)


def test_all_words_are_predicted_with_null_for_what_is_missing():
    assert contexts(3, window=3) == {0: ("-", "-"), 1: ("-", 0), 2: (0, 1)}


def test_context_on_both_sides():
    assert contexts(5, window=3, context="both")[2] == (0, 1, 3, 4)


def test_short_padding_predicts_only_words_with_a_full_window():
    assert list(contexts(5, window=3, pad="short")) == [2, 3, 4]
    assert list(contexts(7, window=3, pad="short", context="both")) == [2, 3, 4]


def test_a_document_shorter_than_a_window_is_padded_to_one():
    assert contexts(2, window=4, pad="short") == {1: ("-", "-", 0)}
    assert contexts(1, window=4, pad="short") == {0: ("-", "-", "-")}
    assert contexts(3, window=3, pad="short", context="both") == {1: ("-", 0, 2, "-")}
    assert contexts(0, window=3, pad="short") == {}


def test_null_is_left_out_of_mean_and_sum_but_not_of_concat():
    for combine, expected in (("mean", 0.5), ("sum", 1.0)):
        case = make_case(DOCS, model="dm", combine=combine, window=3)
        step = definition.Step(0, 0, (4, 1))  # NULL is row 4
        d, w = case.model.documents[0], case.model.words[1]
        assert np.allclose(definition.hidden(case.model, step), expected * (d + w))
    case = make_case(DOCS, model="dm", combine="concat", window=3)
    parts = [case.model.documents[0], case.model.words[4], case.model.words[1]]
    assert np.array_equal(definition.hidden(case.model, definition.Step(0, 0, (4, 1))), np.concatenate(parts))


def test_a_noise_word_equal_to_the_target_is_skipped_and_one_drawn_twice_counts_twice():
    case = make_case(DOCS, output="negative")
    rows, labels = definition.output_rows(case.model, case.tables, definition.Step(2, 0, (), noise=(1, 2, 1)))
    assert rows.tolist() == [2, 1, 1]
    assert labels.tolist() == [1, 0, 0]


def test_probabilities_of_the_tree_sum_to_one():
    case = make_case(DOCS, output="hs")
    total = sum(np.exp(definition.objective(case.model, case.tables, definition.Step(w, 0, ()))) for w in range(4))
    assert abs(total - 1) < 1e-6
