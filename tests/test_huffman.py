from __future__ import annotations

import heapq

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paravec.huffman import huffman

counts = st.lists(st.integers(1, 10**6), min_size=2, max_size=60)


def best_cost(weights: list[int]) -> int:
    """The cost of an optimal prefix code, by the textbook."""
    heap, total = list(weights), 0
    heapq.heapify(heap)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


@given(counts)
def test_the_code_is_optimal(weights):
    weights = sorted(weights, reverse=True)
    lengths = np.diff(huffman(np.array(weights)).offsets)
    assert int((lengths * np.array(weights)).sum()) == best_cost(weights)


@given(counts)
def test_every_path_is_a_way_through_one_tree(weights):
    paths = huffman(np.array(sorted(weights, reverse=True)))
    seen: dict[tuple, int] = {}
    codes = set()
    for word in range(len(weights)):
        part = slice(paths.offsets[word], paths.offsets[word + 1])
        nodes, code = paths.nodes[part].tolist(), tuple(paths.codes[part].tolist())
        assert nodes[0] == 0  # the root
        for depth, node in enumerate(nodes):
            assert seen.setdefault(code[:depth], node) == node  # one node at the end of each prefix
        codes.add(code)
    assert len(codes) == len(weights)
    assert sorted(seen.values()) == list(range(len(weights) - 1))  # all inner nodes, each in one place
    assert not codes & set(seen)  # no code is the beginning of another


@given(counts)
def test_counts_need_not_be_sorted(weights):
    paths = huffman(np.array(weights))
    assert int((np.diff(paths.offsets) * np.array(weights)).sum()) == best_cost(weights)
