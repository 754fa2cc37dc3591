"""Room for U and W as the core wants them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paravec import _core

F32 = NDArray[np.float32]


def zeros(rows: int, columns: int, spare: int = 0) -> F32:
    """A matrix whose rows are padded with zeros and start on a cache line, as the core wants U and W.

    It wants `spare` columns more of U where there is a bias: training keeps it there.
    """
    width = stride(columns + spare)
    block = np.zeros(rows * width + _core.ALIGNMENT // 4, dtype=np.float32)
    skip = (-block.ctypes.data % _core.ALIGNMENT) // 4
    return block[skip : skip + rows * width].reshape(rows, width)[:, :columns]


def padded(array: NDArray[np.floating], spare: int = 0) -> F32:
    """A copy as the core wants it."""
    rows, columns = array.shape
    copy = zeros(rows, columns, spare)
    copy[:] = array
    return copy


def stride(columns: int) -> int:
    """The numbers of a row with its padding."""
    return -(-columns // _core.ROW_MULTIPLE) * _core.ROW_MULTIPLE
