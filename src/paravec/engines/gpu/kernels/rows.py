"""Sums over the rows of a matrix that do not depend on which other rows there are: the same bits in any company."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n_rows"])
def dots(a, b, out, n_rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Of each row of a with that of b."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    total = tl.zeros([ROWS, BLOCK], tl.float32)
    first = columns * 0
    while first < columns:
        c = first + tl.arange(0, BLOCK)[None, :]
        inside = (r < n_rows) & (c < columns)
        total += tl.load(a + r * columns + c, inside, 0.0) * tl.load(b + r * columns + c, inside, 0.0)
        first += BLOCK
    tl.store(out + r, tl.sum(total, 1)[:, None], r < n_rows)


@triton.jit(do_not_specialize=["n_rows"])
def softmax(y, sums, means, n_rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of logits y become probabilities p; the logarithms of their sums, and the mean logits (of p)."""
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    most = tl.full([ROWS, 1], -float("inf"), tl.float32)
    total, weighed = tl.zeros([ROWS, 1], tl.float32), tl.zeros([ROWS, 1], tl.float32)
    first = columns * 0
    while first < columns:
        c = first + tl.arange(0, BLOCK)[None, :]
        inside = (r < n_rows) & (c < columns)
        here = tl.load(y + r * columns + c, inside, -float("inf"))
        now = tl.maximum(most, tl.max(here, 1)[:, None])
        shift = tl.where(now == -float("inf"), 0.0, now)  # of rows that are not there
        shrink, e = tl.exp(most - shift), tl.exp(here - shift)
        total = total * shrink + tl.sum(e, 1)[:, None]
        weighed = weighed * shrink + tl.sum(e * tl.where(inside, here, 0.0), 1)[:, None]
        most = now
        first += BLOCK
    there = r < n_rows
    total = tl.where(there, total, 1.0)
    tl.store(sums + r, most + tl.log(total), there)
    tl.store(means + r, weighed / total, there)
    first = columns * 0
    while first < columns:
        c = first + tl.arange(0, BLOCK)[None, :]
        inside = there & (c < columns)
        tl.store(y + r * columns + c, tl.exp(tl.load(y + r * columns + c, inside, 0.0) - most) / total, inside)
        first += BLOCK
