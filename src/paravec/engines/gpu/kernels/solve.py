"""Inference: a program solves a document at a time, by the L-BFGS of the processor's core (`lbfgs.cpp`), in float32.

An item is a row of U that a document needs: ``y = factor (u . d) + offset``, wanted `up` times as 1 and `down` times as
0. The products of all items with d and with the direction are kept, so that a search along a line reads no row again.
"""

from __future__ import annotations

import triton
import triton.language as tl

from paravec.engines.gpu.kernels.documents import NORM_FLOOR, sigmoid

MEMORY = tl.constexpr(8)
PATIENCE = tl.constexpr(10)  # steps without a smaller gradient
DISTANCE = tl.constexpr(0.01)  # of |d|, from the maximum
TRIES = tl.constexpr(30)


@triton.jit
def project(U, u_stride, row, begin, end, x, out, P: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr):
    """The products of all items with x."""
    c, r = tl.arange(0, COLS)[None, :], tl.arange(0, ROWS)
    k = begin
    while k < end:
        on = k + r < end
        which = tl.load(row + k + r, on, 0)
        u = tl.load(U + which[:, None].to(tl.int64) * u_stride + c, on[:, None] & (c < P), 0.0).to(tl.float32)
        tl.store(out + k + r, tl.sum(u * x, 1), on)
        k += ROWS


@triton.jit
def gradient_at(U, u_stride, row, up, down, offset, factor, at, along, begin, end, t, shrink, inverse,
                P: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr):  # fmt: skip
    """At t along the line: the sum of all residuals times their rows, and times their logits."""
    c, r = tl.arange(0, COLS)[None, :], tl.arange(0, ROWS)
    gradient, radial = tl.zeros([1, COLS], tl.float32), t * 0
    k = begin
    while k < end:
        on = k + r < end
        which = tl.load(row + k + r, on, 0)
        u = tl.load(U + which[:, None].to(tl.int64) * u_stride + c, on[:, None] & (c < P), 0.0).to(tl.float32)
        here = (tl.load(at + k + r, on, 0.0) + t * tl.load(along + k + r, on, 0.0)) * shrink
        f, wanted = tl.load(factor + k + r, on, 0.0) * inverse, tl.load(up + k + r, on, 0.0)
        y = f * here + tl.load(offset + k + r, on, 0.0)
        residual = wanted - (wanted + tl.load(down + k + r, on, 0.0)) * sigmoid(y)
        gradient += tl.sum((residual * f)[:, None] * u, 0)[None, :]
        radial += tl.sum(residual * y, 0)
        k += ROWS
    return gradient, radial


@triton.jit
def move(at, along, begin, end, t, shrink, BLOCK: tl.constexpr):
    """Goes t along the line. Every number is read and written by one thread: elsewhere, several read the same one."""
    r = tl.arange(0, BLOCK)
    tl.debug_barrier()
    k = begin
    while k < end:
        on = k + r < end
        here = (tl.load(at + k + r, on, 0.0) + t * tl.load(along + k + r, on, 0.0)) * shrink
        tl.store(at + k + r, here, on)
        k += BLOCK
    tl.debug_barrier()


@triton.jit
def slope_at(up, down, offset, factor, at, along, begin, end, t, mixed, xx, dd, l2, SPHERE: tl.constexpr,
             BLOCK: tl.constexpr):  # fmt: skip
    """Slope and curvature of the objective on the line, t from where d is."""
    r = tl.arange(0, BLOCK)
    squared = dd + 2 * t * mixed + t * t * xx + NORM_FLOOR
    inverse = t * 0 + 1
    if SPHERE:
        inverse = 1 / tl.sqrt(squared)
    slope, curvature, radial = t * 0, t * 0, t * 0
    k = begin
    while k < end:
        on = k + r < end
        x = tl.load(along + k + r, on, 0.0)
        f, wanted = tl.load(factor + k + r, on, 0.0) * inverse, tl.load(up + k + r, on, 0.0)
        y = f * (tl.load(at + k + r, on, 0.0) + t * x) + tl.load(offset + k + r, on, 0.0)
        all_of_it, s = wanted + tl.load(down + k + r, on, 0.0), sigmoid(y)
        residual = wanted - all_of_it * s
        slope += tl.sum(residual * f * x, 0)
        curvature += tl.sum(all_of_it * s * (1 - s) * f * x * f * x, 0)
        radial += tl.sum(residual * y, 0)
        k += BLOCK
    if SPHERE:
        return slope - (mixed + t * xx) / squared * radial, curvature * 0
    return slope - l2 * (mixed + t * xx), curvature + l2 * xx


@triton.jit
def direction_of(gradient, history, scales, first, count, P: tl.constexpr, COLS: tl.constexpr):
    """(An approximate inverse of the negated Hessian) gradient, from the last changes of d and of the gradient."""
    c, m = tl.arange(0, COLS)[None, :], tl.arange(0, MEMORY)
    x, alphas = gradient, tl.zeros([MEMORY], tl.float32)
    k = count - 1
    while k >= 0:
        slot = (first + k) % MEMORY
        change = tl.load(history + slot * COLS + c)
        fall = tl.load(history + (MEMORY + slot) * COLS + c)
        alpha = tl.sum(tl.where(m == slot, scales, 0.0), 0) * tl.sum(change * x)
        alphas = tl.where(m == slot, alpha, alphas)
        x -= alpha * fall
        k -= 1
    if count > 0:
        slot = (first + count - 1) % MEMORY
        fall = tl.load(history + (MEMORY + slot) * COLS + c)
        x = x / (tl.sum(tl.where(m == slot, scales, 0.0), 0) * tl.sum(fall * fall))
    k = count * 0
    while k < count:
        slot = (first + k) % MEMORY
        change = tl.load(history + slot * COLS + c)
        fall = tl.load(history + (MEMORY + slot) * COLS + c)
        beta = tl.sum(tl.where(m == slot, scales, 0.0), 0) * tl.sum(fall * x)
        x += (tl.sum(tl.where(m == slot, alphas, 0.0), 0) - beta) * change
        k += 1
    return x


@triton.jit
def search_line(up, down, offset, factor, at, along, begin, end, slope, t, mixed, xx, dd, l2, SPHERE: tl.constexpr,
                BLOCK: tl.constexpr):  # fmt: skip
    """A t where the slope is small: Newton or secant steps inside a bracket that is opened by fourfold steps."""
    low, low_slope, high, high_slope = t * 0, slope, t * 0, t * 0
    bracketed, going, tries = t < 0, t > 0, 0
    while going & (tries < TRIES):
        here, curvature = slope_at(up, down, offset, factor, at, along, begin, end, t, mixed, xx, dd, l2, SPHERE, BLOCK)
        uphill = here > 0
        low, low_slope = tl.where(uphill, t, low), tl.where(uphill, here, low_slope)
        high, high_slope = tl.where(uphill, high, t), tl.where(uphill, high_slope, here)
        bracketed = bracketed | (here <= 0)
        secant = low + (high - low) * low_slope / (low_slope - high_slope)
        newton = t + here / tl.where(curvature > 0, curvature, 1.0)
        following = tl.where(curvature > 0, newton, tl.where(bracketed, secant, 4 * t))
        margin = 0.1 * (high - low)
        between = (following > low + margin) & (following < high - margin)
        following = tl.where(bracketed, tl.where(between, following, 0.5 * (low + high)), tl.minimum(following, 10 * t))
        near = tl.abs(here) <= 0.3 * slope
        going = (following > 0) & (following != t) & ~near
        tries += 1
        t = tl.where(going & (tries < TRIES), following, tl.where(going & (low > 0), low, t))
    return t


@triton.jit(do_not_specialize=["n_documents"])
def solve(
    counter, n_documents, order, begins, row, up, down, offset, factor, at, along, l2s, U, u_stride, out, histories,
    tolerance, max_iter,
    P: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, SPHERE: tl.constexpr,
):  # fmt: skip
    """Takes documents until none is left, and writes their vectors."""
    c, m = tl.arange(0, COLS)[None, :], tl.arange(0, MEMORY)
    history = histories + tl.program_id(0).to(tl.int64) * 2 * MEMORY * COLS
    turn = tl.atomic_add(counter, 1)
    while turn < n_documents:
        i = tl.load(order + turn)
        begin, end, l2 = tl.load(begins + i), tl.load(begins + i + 1), tl.load(l2s + i)
        zero = l2 * 0
        d = tl.zeros([1, COLS], tl.float32)  # and `at` and `along` are zero, too
        # At d = 0 every logit of cosine is 0: the gradient there is the start, and its length is what others are
        # measured by.
        gradient, radial = gradient_at(
            U, u_stride, row, up, down, offset, factor, at, along, begin, end, zero, zero + 1, zero + 1, P, COLS, ROWS
        )
        goal = tolerance * tl.sqrt(tl.sum(gradient * gradient))
        if SPHERE:
            length = tl.sqrt(tl.sum(gradient * gradient))
            d = tl.where(length > 0, gradient / tl.where(length > 0, length, 1.0), tl.where(c == 0, 1.0, 0.0))
            goal = tl.where(length > 0, goal, tolerance)
            tl.debug_barrier()
            project(U, u_stride, row, begin, end, d, at, P, COLS, ROWS)
            tl.debug_barrier()
            gradient, radial = gradient_at(
                U, u_stride, row, up, down, offset, factor, at, along, begin, end, zero, zero + 1, zero + 1, P, COLS,
                ROWS,
            )  # fmt: skip
            gradient -= radial * d
        scales, first, count = tl.zeros([MEMORY], tl.float32), i * 0, i * 0
        smallest, since, iteration = zero + float("inf"), i * 0, i * 0
        going = end > begin
        while going & (iteration < max_iter):
            dd = tl.sum(d * d)
            length = tl.sqrt(tl.sum(gradient * gradient))
            near = SPHERE | (length <= DISTANCE * l2 * tl.sqrt(dd))
            since = tl.where(length < smallest, 0, since + 1)
            smallest = tl.minimum(smallest, length)
            # Rounding is all that is left; on the sphere, the gradient may grow on the way for longer.
            waited = since >= (5 * PATIENCE if SPHERE else PATIENCE)
            going = ~((length == 0) | ((length <= goal) & near) | waited | (length != length))
            if going:
                x = direction_of(gradient, history, scales, first, count, P, COLS)
                slope = tl.sum(gradient * x)
                count = tl.where(slope > 0, count, 0)
                x = tl.where(slope > 0, x, gradient)
                slope = tl.where(slope > 0, slope, length * length)
                tl.debug_barrier()
                project(U, u_stride, row, begin, end, x, along, P, COLS, ROWS)
                tl.debug_barrier()
                mixed, xx = tl.sum(d * x), tl.sum(x * x)
                t = zero + 1
                if count == 0:
                    _, curvature = slope_at(
                        up, down, offset, factor, at, along, begin, end, zero, mixed, xx, dd, l2, SPHERE, BLOCK
                    )
                    t = tl.where(curvature > 0, slope / tl.where(curvature > 0, curvature, 1.0), 0.5 / length)
                t = search_line(
                    up, down, offset, factor, at, along, begin, end, slope, t, mixed, xx, dd, l2, SPHERE, BLOCK
                )
                after = d + t * x
                shrink, inverse, back = zero + 1, zero + 1, l2
                if SPHERE:
                    shrink = 1 / tl.sqrt(tl.sum(after * after))
                    after = after * shrink
                    inverse = 1 / tl.sqrt(tl.sum(after * after) + NORM_FLOOR)
                tl.debug_barrier()
                gradient_after, radial = gradient_at(
                    U, u_stride, row, up, down, offset, factor, at, along, begin, end, t, shrink, inverse, P, COLS,
                    ROWS,
                )  # fmt: skip
                move(at, along, begin, end, t, shrink, BLOCK)
                if SPHERE:
                    back = radial * inverse * inverse
                gradient_after -= back * after
                change, fall = after - d, gradient - gradient_after
                curvature = tl.sum(change * fall)
                if curvature > 1e-10 * tl.sum(change * change):
                    slot = (first + count) % MEMORY
                    tl.store(history + slot * COLS + c, change)
                    tl.store(history + (MEMORY + slot) * COLS + c, fall)
                    scales = tl.where(m == slot, 1 / curvature, scales)
                    first = tl.where(count < MEMORY, first, (first + 1) % MEMORY)
                    count = tl.minimum(count + 1, MEMORY)
                d, gradient = after, gradient_after
            iteration += 1
        tl.store(out + i.to(tl.int64) * P + c, d, c < tl.where(end > begin, P, 0))
        tl.debug_barrier()
        turn = tl.atomic_add(counter, 1)


@triton.jit
def products(begins, row, vectors, U, u_stride, out, P: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr):
    """The products of a document's items with its vector."""
    i, c = tl.program_id(0).to(tl.int64), tl.arange(0, COLS)[None, :]
    d = tl.load(vectors + i * P + c, c < P, 0.0)
    project(U, u_stride, row, tl.load(begins + i), tl.load(begins + i + 1), d, out, P, COLS, ROWS)
