"""Nearest documents and words, by the cosine of the angle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from paravec.errors import ModelFormatError

_ROWS_AT_ONCE = 65536


def unit(rows: NDArray[np.floating]) -> NDArray[np.floating]:
    """Rows scaled to length 1; zero stays zero."""
    length = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(length > 0, length, 1)


def nearest(
    parts: Sequence[NDArray[np.floating]],
    query: Sequence[NDArray[np.floating]],
    k: int,
    leave_out: Sequence[int] = (),
) -> list[tuple[int, float]]:
    """The `k` rows nearest to a query, best first, with the mean cosine over the parts.

    The parts are the halves of ``dm+dbow``, which weigh the same, or one matrix.
    """
    scores = np.zeros(len(parts[0]), dtype=np.float32)
    for part, vector in zip(parts, query, strict=True):
        direction = unit(vector)
        for first in range(0, len(part), _ROWS_AT_ONCE):
            with np.errstate(invalid="ignore", over="ignore"):
                found = unit(part[first : first + _ROWS_AT_ONCE]) @ direction
            scores[first : first + _ROWS_AT_ONCE] += found / len(parts)
    if not np.isfinite(scores).all():  # of a file, which is mapped and was not looked at before
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ModelFormatError(f"the vector of document {row} holds NaN or infinity")
    np.clip(scores, -1, 1, out=scores)  # what rounding has added
    scores[list(leave_out)] = -np.inf
    k = min(k, len(scores) - len(set(leave_out)))
    best = np.argpartition(-scores, k - 1)[:k] if 0 < k < len(scores) else np.arange(len(scores))
    best = best[np.lexsort((best, -scores[best]))][:k]
    return [(int(i), float(scores[i])) for i in best]
