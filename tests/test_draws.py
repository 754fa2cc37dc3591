from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paravec import _core, draws
from paravec.draws import Purpose
from paravec.vocab import Noise

# The published known-answer tests of Philox4x32-10: counter, key, output.
KNOWN = [
    ([0, 0, 0, 0], (0, 0), [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        (0xA4093822, 0x299F31D0),
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_numbers(counter, key, expected):
    out = draws.philox(tuple(np.array([c], dtype=np.uint32) for c in counter), key)
    assert [int(o[0]) for o in out] == expected


@pytest.mark.parametrize("kernels", _core.available_kernels())
@pytest.mark.parametrize("shape", [(1, 1), (3, 37), (5, 64), (2, 301)])
def test_core_and_definition_draw_the_same_bits(kernels, shape):
    ours = np.zeros(shape, dtype=np.float32)
    _core.fill_uniform(2**40 + 5, Purpose.WORD_VECTORS, True, ours, kernels)
    assert np.array_equal(ours, draws.uniform_rows(2**40 + 5, Purpose.WORD_VECTORS, True, *shape))


def test_streams_differ_by_seed_purpose_epoch_and_model():
    keys = {
        draws.stream(seed, purpose, epoch, dm)
        for seed in (0, 1, 2**32, 2**62)
        for purpose in Purpose
        for epoch in range(5)
        for dm in (False, True)
    }
    assert len(keys) == 4 * len(Purpose) * 5 * 2


@given(st.integers(0, 2**63 - 1), st.integers(0, 500))
def test_an_epochs_order_visits_every_document_once(seed, count):
    assert sorted(draws.document_order(seed, 3, False, count)) == list(range(count))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 100, 4097])
@pytest.mark.parametrize(("seed", "epoch", "dm"), [(0, 0, False), (2**63 - 1, 7, True)])
def test_core_and_definition_visit_documents_in_the_same_order(seed, epoch, dm, count):
    order = np.full(count, -1, dtype=np.int64)
    _core.fill_order(seed, epoch, dm, order)
    assert np.array_equal(order, draws.document_order(seed, epoch, dm, count))


@given(st.integers(0, 2**64 - 1), st.integers(0, 200))
def test_targets_are_shuffled_without_loss(document, count):
    assert sorted(draws.shuffle((1, 2), document, count)) == list(range(count))


def test_every_place_of_a_shuffle_is_equally_likely():
    first = np.bincount([draws.shuffle((5, 6), d, 8)[0] for d in range(8000)], minlength=8)
    assert np.all(np.abs(first - 1000) < 5 * np.sqrt(1000))


def test_noise_words_follow_counts_to_the_three_quarters():
    counts = np.array([1000, 300, 50, 9, 1, 1])
    noise = Noise.of(counts)
    numbers = draws.draw((1, 2), 7, np.arange(400_000), 0)
    words = noise.pick(draws.below(numbers[:, 0], len(counts)), numbers[:, 1])
    expected = counts**0.75 / (counts**0.75).sum() * len(words)
    assert np.all(np.abs(np.bincount(words, minlength=6) - expected) < 5 * np.sqrt(expected))


def test_the_alias_table_is_exact_for_a_large_vocabulary():
    counts = np.sort(np.random.default_rng(0).zipf(1.3, size=5000).clip(max=10**6))[::-1]
    noise = Noise.of(counts)
    share = (noise.threshold.astype(float) + 1) / 2**32
    mass = share + np.bincount(noise.alias, weights=1 - share, minlength=len(counts))
    weight = counts**0.75
    assert np.allclose(mass / len(counts), weight / weight.sum(), rtol=1e-5, atol=1e-12)


def test_hashes_of_documents_differ_by_order_and_length():
    docs = [[], [0], [0, 0], [1, 2], [2, 1], [1, 2, 0]]
    assert len({draws.hash_tokens(np.array(d, dtype=np.int32)) for d in docs}) == len(docs)
