"""Errors, and how far they may be from what they would be on other samples."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_CERTAIN = 1.959964  # of a normal distribution, 95 %


@dataclass(frozen=True)
class Figure:
    """An error in %, with an interval of 95 %, and that of every seed."""

    mean: float
    low: float
    high: float
    each: tuple[float, ...]

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


def figure(errors: Sequence[float], n: float) -> Figure:
    """Of the errors (parts of 1) of some seeds, each on the same n examples.

    The interval has both: that of the examples (Wilson), and that of the seeds.

    >>> str(figure([0.1], 1000))
    '10.00 (8.29 to 12.02)'
    >>> figure([0.1, 0.12], 1000).each
    (10.0, 12.0)
    """
    mean = statistics.fmean(errors)
    low, high = wilson(mean, n)
    of_seeds = 0.0
    if len(errors) > 1:
        of_seeds = _student(len(errors) - 1) * statistics.stdev(errors) / math.sqrt(len(errors))
    below, above = math.hypot(mean - low, of_seeds), math.hypot(high - mean, of_seeds)
    each = tuple(round(100 * error, 10) for error in errors)
    return Figure(100 * mean, 100 * max(0.0, mean - below), 100 * min(1.0, mean + above), each)


def wilson(part: float, n: float) -> tuple[float, float]:
    """Between what the part of all may lie that is wrong, if this part of n was."""
    square = _CERTAIN**2 / n
    middle = (part + square / 2) / (1 + square)
    reach = _CERTAIN / (1 + square) * math.sqrt(part * (1 - part) / n + square / (4 * n))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _student(degrees: int) -> float:
    """The 97.5 % quantile of Student's distribution."""
    from scipy.stats import t

    return float(t.ppf(0.975, degrees))
