"""Every random draw of paravec: Philox4x32-10 keyed by (seed, purpose, epoch, model, document, position).

A draw is a pure function of its key, so it never depends on the number of threads, on the engine or on what was
drawn before. The C++ core has the same functions; ``tests/test_draws.py`` holds the two together, and Philox itself
to the published test vectors.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

U32 = NDArray[np.uint32]
_MASK = 0xFFFFFFFF
_MULTIPLIER = (0xD2511F53, 0xCD9E8D57)
_AT_ONCE = 65536
_WEYL = (0x9E3779B9, 0xBB67AE85)


class Purpose(IntEnum):
    """What a draw is for: each purpose has a stream of its own."""

    DOCUMENT_VECTORS = 1
    WORD_VECTORS = 2
    OUTPUT_WEIGHTS = 3
    DOCUMENT_ORDER = 4
    TARGET_ORDER = 5
    SAMPLE = 6
    NOISE = 7
    INFERENCE_NOISE = 8
    VALIDATION = 9
    ERRORS = 10


def philox(counter: tuple[U32, U32, U32, U32], key: tuple[int, int]) -> tuple[U32, U32, U32, U32]:
    """Philox4x32-10 (Salmon et al. 2011) of arrays of counters under one key."""
    c0, c1, c2, c3 = (np.asarray(c, dtype=np.uint64) for c in counter)
    k0, k1 = key
    for _ in range(10):
        product0 = c0 * np.uint64(_MULTIPLIER[0])
        product1 = c2 * np.uint64(_MULTIPLIER[1])
        c0, c1, c2, c3 = (
            (product1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            product1 & np.uint64(_MASK),
            (product0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            product0 & np.uint64(_MASK),
        )
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return c0.astype(np.uint32), c1.astype(np.uint32), c2.astype(np.uint32), c3.astype(np.uint32)


def stream(seed: int, purpose: Purpose, epoch: int, is_dm: bool) -> tuple[int, int]:
    """The key of one stream of draws."""
    counter = [np.array([value], dtype=np.uint32) for value in (purpose, epoch, int(is_dm), 0)]
    out = philox((counter[0], counter[1], counter[2], counter[3]), (seed & _MASK, (seed >> 32) & _MASK))
    return int(out[0][0]), int(out[1][0])


def draw(
    key: tuple[int, int], document: int | NDArray[np.uint64], position: NDArray[np.int64], block: int
) -> NDArray[np.uint32]:
    """Four 32-bit numbers, as columns, for each position (< 2^48) of a document; `block` (< 2^16) gives more."""
    where = np.asarray(position, dtype=np.uint64)
    who = np.broadcast_to(np.asarray(document, dtype=np.uint64), where.shape)
    low, high = np.uint64(_MASK), np.uint64(32)
    counter = (
        (where & low).astype(np.uint32),
        ((where >> high) << np.uint64(16) | np.uint64(block)).astype(np.uint32),
        (who & low).astype(np.uint32),
        (who >> high).astype(np.uint32),
    )
    return np.stack(philox(counter, key), axis=-1)


def one_each(key: tuple[int, int], document: int, count: int) -> U32:
    """One 32-bit number for each of the first `count` positions of a document: four positions share a block."""
    return draw(key, document, np.arange((count + 3) // 4), 0).reshape(-1)[:count]


def below(numbers: U32, bounds: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """Numbers in [0, bound), by multiplication: floor(number * bound / 2^32)."""
    return ((numbers.astype(np.uint64) * np.asarray(bounds, dtype=np.uint64)) >> np.uint64(32)).astype(np.int64)


def shuffle(key: tuple[int, int], document: int, count: int) -> NDArray[np.int64]:
    """The random order in which the `count` targets of a document are visited (Fisher-Yates)."""
    order = np.arange(count)
    swaps = below(one_each(key, document, count), np.arange(count) + 1)
    for i in range(count - 1, 0, -1):
        j = swaps[i]
        order[i], order[j] = order[j], order[i]
    return order


def document_order(seed: int, epoch: int, is_dm: bool, count: int) -> NDArray[np.int64]:
    """The order in which an epoch visits its documents: sorted by a 64-bit number drawn for each."""
    return _order(stream(seed, Purpose.DOCUMENT_ORDER, epoch, is_dm), count)


def validation_order(seed: int, count: int) -> NDArray[np.int64]:
    """The order in which documents are taken to be held out, which is the same for every model."""
    return _order(stream(seed, Purpose.VALIDATION, 0, False), count)


def _order(key: tuple[int, int], count: int) -> NDArray[np.int64]:
    numbers = np.empty(count, dtype=np.uint64)
    for first in range(0, count, _AT_ONCE):  # a few at a time, because drawing takes much more memory than the numbers
        documents = np.arange(first, min(first + _AT_ONCE, count), dtype=np.uint64)
        drawn = draw(key, documents, np.zeros(len(documents), dtype=np.int64), 0).astype(np.uint64)
        numbers[first : first + len(documents)] = drawn[:, 0] << np.uint64(32) | drawn[:, 1]
    return np.argsort(numbers, kind="stable")


def uniform_rows(seed: int, purpose: Purpose, is_dm: bool, rows: int, columns: int) -> NDArray[np.float32]:
    """Initial vectors: uniform in (-0.5, 0.5) divided by their length, in float32."""
    key = stream(seed, purpose, 0, is_dm)
    row = np.repeat(np.arange(rows, dtype=np.uint64), (columns + 3) // 4)
    block = np.tile(np.arange((columns + 3) // 4), rows)
    numbers = draw(key, row, block, 0).reshape(rows, -1)[:, :columns]
    unit = (numbers >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return (unit - np.float32(0.5)) / np.float32(columns)


def hash_tokens(tokens: NDArray[np.int32]) -> int:
    """A 64-bit hash of a document's token ids: the `document` of its draws in inference."""
    value = 0x9E3779B97F4A7C15
    for token in tokens.tolist():
        value = ((value ^ token) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        value ^= value >> 29
    return value
