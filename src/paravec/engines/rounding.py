"""The definition of bfloat16: how U is rounded where its numbers have 16 bits in training.

A bfloat16 is the upper half of a float32. A sum is rounded up or down at random, and right in the mean, to a 512th of
the distance between two such numbers: a change is not lost because it is small beside the number that it changes.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import draws

PHASES = 256  # lines of numbers that rows are rounded by ...
COLUMNS = 16  # ... and the numbers of a line
_UPPER = np.uint32(0xFFFF0000)


@cache
def _numbers() -> NDArray[np.uint32]:
    """Lines of numbers, one behind the other: evenly spread below 2^16 in each column, and shuffled."""
    columns = [draws.shuffle((0, 0), column, PHASES) for column in range(COLUMNS)]
    return ((2 * np.stack(columns, axis=1) + 1) * (2**16 // PHASES // 2)).astype(np.uint32).ravel()


def rounded(x: NDArray[Any], line: int, column: int = 0) -> NDArray[np.float32]:
    """Numbers of a row from a column on, rounded by the numbers from the start of a line on."""
    place = column + np.arange(len(x))
    at = ((line + place // (2 * COLUMNS)) * COLUMNS + place % COLUMNS) % (PHASES * COLUMNS)
    return _upper(x, _numbers()[at])


def nearest(x: NDArray[Any]) -> NDArray[np.float32]:
    """The nearest bfloat16 of each number."""
    return _upper(x, np.uint32(0x8000))


def _upper(x: NDArray[Any], more: Any) -> NDArray[np.float32]:
    bits: NDArray[np.uint32] = (x.astype(np.float32).view(np.uint32) + more) & _UPPER
    return bits.view(np.float32)
