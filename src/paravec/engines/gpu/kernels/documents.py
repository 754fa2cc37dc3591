"""Training: a program takes a document, step by step.

All logits of a step come from the parameters as they are when it begins; then all of it is learned. U and W are shared
with the programs of other documents, which add to them at the same time; rows that many reach for at once take a part
of every change (:class:`paravec.engines.base.Crowd`). Shared rows are read past the first-level cache, which does not
see what others have written.

With EXACT, U and W stay as they are during a launch, and changes are added to whole numbers (`add_changes` brings them
in): their sum does not depend on the order in which they come.

U and W may have 16 bits a number (bfloat16). Most changes are smaller than the distance of two such numbers; so a sum
is rounded up or down by chance, such that it is right in the mean, and what lies between is added.
"""

from __future__ import annotations

import triton
import triton.language as tl

from paravec.engines import steps as definition
from paravec.engines.gpu.kernels.random import noise_word

DBOW, SKIP_GRAM, CONCAT, MEAN, SUM = (tl.constexpr(i) for i in range(5))  # kinds of input
NORM_FLOOR = tl.constexpr(definition.NORM_FLOOR)
ONE = tl.constexpr(2.0**40)  # in the whole numbers that changes are added up in


@triton.jit
def sigmoid(y):
    """Of float accuracy, without overflow."""
    return 1 / (1 + tl.exp(-tl.maximum(y, -80.0)))


@triton.jit
def log_sigmoid(y):
    """Without overflow."""
    return tl.minimum(y, 0.0) - tl.log(1 + tl.exp(-tl.abs(y)))


@triton.jit
def rounded(x, where, chance):
    """To 16 bits, up or down by chance: a hash of the place and of a number that no other step has."""
    bits = where.to(tl.uint32) ^ chance.to(tl.uint32)
    bits = (bits ^ (bits >> 16)) * 0x85EBCA6B
    bits = (bits ^ (bits >> 13)) * 0xC2B2AE35
    bits = bits ^ (bits >> 16)
    kept = (x.to(tl.uint32, bitcast=True) + (bits & 0xFFFF)) & 0xFFFF0000
    return tl.where(x == x, kept.to(tl.float32, bitcast=True), x)


@triton.jit
def add(array, changes, where, change, before, mask, chance, EXACT: tl.constexpr, HALF: tl.constexpr):
    """Adds to places of an array that others may add to at the same time; they were `before` when they were read."""
    if EXACT:
        tl.atomic_add(changes + where, tl.floor(change.to(tl.float64) * ONE + 0.5).to(tl.int64), mask, sem="relaxed")
    elif HALF == 0:
        tl.atomic_add(array + where, change, mask, sem="relaxed")
    else:
        change = rounded(before + change, where, chance) - before
        if HALF == 1:
            tl.atomic_add(array + where, change.to(tl.bfloat16), mask, sem="relaxed")
        else:  # interpreters have no such sums: row by row, since a row may come up twice
            r = tl.arange(0, where.shape[0])[:, None]
            for k in range(where.shape[0]):
                now = mask & (r == k)
                tl.store(array + where, (tl.load(array + where, now, 0.0).to(tl.float32) + change).to(tl.bfloat16), now)


@triton.jit(do_not_specialize=["chance"])
def add_changes(array, changes, n, chance, HALF: tl.constexpr, BLOCK: tl.constexpr):
    """Brings in what was added up, and starts again from zero."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    found = tl.load(changes + i, i < n, 0)
    after = tl.load(array + i, i < n, 0.0).to(tl.float32) + (found.to(tl.float64) / ONE).to(tl.float32)
    if HALF:
        tl.store(array + i, rounded(after, i, chance).to(tl.bfloat16), (i < n) & (found != 0))
    else:
        tl.store(array + i, after, (i < n) & (found != 0))
    tl.store(changes + i, found * 0, (i < n) & (found != 0))


@triton.jit
def read(array, where, mask):
    """Numbers of U or W as they are now."""
    return tl.load(array + where, mask, 0.0, cache_modifier=".cg").to(tl.float32)


@triton.jit
def only(c, condition, WIDTH: tl.constexpr):
    """The columns of a row, or none of them. (Interpreters do not agree on a mask and a single truth.)"""
    return c < tl.where(condition, WIDTH, 0)


@triton.jit
def neighbour(tokens, t, slot, low, high, null, REACH: tl.constexpr, mask):
    """The context word in a slot of the target at t; NULL beyond the document."""
    where = t + slot - REACH + (slot >= REACH).to(tl.int64)
    inside = mask & (where >= low) & (where < high)
    return tl.load(tokens + where, inside, null), inside


@triton.jit
def learn(h, hh, u, U, u_changes, there, bias, b_changes, row, label, times, rate, parts, scale, inside, chance,
          COSINE: tl.constexpr, BIAS: tl.constexpr, EXACT: tl.constexpr, HALF: tl.constexpr):  # fmt: skip
    """Rows u of U against h: the objective and the gradient of h. The rows learn (`steps.Pulls`)."""
    y = tl.sum(h * u, 1)
    if COSINE:
        uu = tl.sum(u * u, 1) + NORM_FLOOR
        over = scale / tl.sqrt(uu * hh)
        y = y * over
    if BIAS:
        y += tl.load(bias + row, times > 0, 0.0, cache_modifier=".cg")
    error = times * (label - sigmoid(y))
    objective = tl.sum(times * log_sigmoid(tl.where(label > 0, y, -y)), 0)
    step = rate * error * tl.load(parts + row, times > 0, 0.0)
    if COSINE:
        gradient = tl.sum((error * over)[:, None] * u, 0)[None, :] - tl.sum(error * y, 0) / hh * h
        change = (step * over)[:, None] * h - (step * y / uu)[:, None] * u
    else:
        gradient = tl.sum(error[:, None] * u, 0)[None, :]
        change = step[:, None] * h
    add(U, u_changes, there, change, u, inside & (times > 0)[:, None], chance, EXACT, HALF)
    if BIAS:
        add(bias, b_changes, row, step, step, times > 0, chance, EXACT, 0)
    return objective, gradient


@triton.jit(do_not_specialize=["noise_key", "n_targets", "null"])
def train_documents(
    tokens, spots, words, rows, rates, begins, ends, lows, highs, names, firsts,
    D, W, U, bias, trainable, w_changes, u_changes, b_changes, u_parts, w_parts, w_stride, u_stride,
    threshold, alias, path_offsets, path_nodes, path_codes,
    objectives, counts, noise_key, n_targets, null, scale,
    P: tl.constexpr, Q: tl.constexpr, WIDTH: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr, SLOTS: tl.constexpr,
    REACH: tl.constexpr, KIND: tl.constexpr, NEGATIVE: tl.constexpr, COSINE: tl.constexpr, BIAS: tl.constexpr,
    FROZEN: tl.constexpr, EXACT: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """Visits a document; against NEGATIVE noise words a step, or along the tree (0)."""
    i = tl.program_id(0)
    row, rate, name, number = tl.load(rows + i), tl.load(rates + i), tl.load(names + i), tl.load(firsts + i)
    t, end, low, high = tl.load(begins + i), tl.load(ends + i), tl.load(lows + i), tl.load(highs + i)
    c, r = tl.arange(0, COLS)[None, :], tl.arange(0, ROWS)
    inside = c < WIDTH
    mine = D + row * P + c
    d = tl.load(mine, c < P, 0.0)
    sub = low * 0  # of a target's steps: 0 for the document's own, then those of the words around it
    taken, total = low * 0, (low * 0).to(tl.float64)
    while t < end:
        target = tl.load(tokens + t)
        chance = (noise_key ^ name * 0x9E3779B1) + (number + row * 0x85EBCA77) * 0xC2B2AE3D

        # --- The input ---
        h = d
        if KIND == CONCAT:
            from_words = (c >= P) & inside
            slot = tl.maximum(c - P, 0) // Q
            word, _ = neighbour(tokens, t, slot, low, high, null, REACH, from_words)
            theirs = word.to(tl.int64) * w_stride + tl.maximum(c - P, 0) % Q
            if P % 8 == 0 and Q % 8 == 0:  # then columns side by side in h are so in W, and are read together
                theirs = tl.max_contiguous(tl.multiple_of(theirs, [1, 8]), [1, 8])
            h += read(W, theirs, from_words)
        elif KIND == SKIP_GRAM:
            spot = tl.load(spots + t).to(tl.int64)
            around = tl.maximum(spot - REACH, 0) + sub - 1
            around += (around >= spot).to(tl.int64)
            word = tl.load(words + low + around, sub > 0, 0)
            theirs = word.to(tl.int64) * w_stride + c
            if sub > 0:
                h = read(W, theirs, inside)
        elif KIND != DBOW:
            known = 1.0 + sub.to(tl.float32)
            for slot in range(SLOTS):
                word, there_is = neighbour(tokens, t, sub + slot, low, high, null, REACH, True)
                h += read(W, word.to(tl.int64) * w_stride + c, only(c, there_is, WIDTH))
                known += there_is.to(tl.float32)
            if KIND == MEAN:
                h = h / known

        # --- The output ---
        hh = tl.sum(h * h, 1) + NORM_FLOOR
        gradient = tl.zeros([1, COLS], tl.float32)
        if NEGATIVE > 0:
            for first in range(0, NEGATIVE + 1, ROWS):
                k = first + r - 1  # -1 is the target
                chosen = noise_word(noise_key, name, number, tl.maximum(k, 0), threshold, alias, n_targets)
                chosen = tl.where(k < 0, target, chosen)
                times = ((k < 0) | ((k < NEGATIVE) & (chosen != target))).to(tl.float32)
                there = chosen[:, None].to(tl.int64) * u_stride + c
                u = read(U, there, inside & (times > 0)[:, None])
                good, pulled = learn(h, hh, u, U, u_changes, there, bias, b_changes, chosen, (k < 0).to(tl.float32),
                                     times, rate, u_parts, scale, inside, chance, COSINE, False, EXACT,
                                     HALF)  # fmt: skip
                total += good.to(tl.float64)
                gradient += pulled
        else:
            at, last = tl.load(path_offsets + target), tl.load(path_offsets + target + 1)
            while at < last:
                on = at + r < last
                node = tl.load(path_nodes + at + r, on, 0)
                label = 1 - tl.load(path_codes + at + r, on, 0).to(tl.float32)
                there = node[:, None].to(tl.int64) * u_stride + c
                u = read(U, there, inside & on[:, None])
                good, pulled = learn(h, hh, u, U, u_changes, there, bias, b_changes, node, label, on.to(tl.float32),
                                     rate, u_parts, scale, inside, chance, False, BIAS, EXACT, HALF)  # fmt: skip
                total += good.to(tl.float64)
                gradient += pulled
                at += ROWS
        taken += 1
        number += 1

        # --- What the input learns ---
        change = rate * gradient
        if KIND == MEAN:
            change = change / known
        if KIND == SKIP_GRAM:
            if sub > 0:
                moving = inside
                if FROZEN:
                    moving = only(c, tl.load(trainable + word) != 0, WIDTH)
                add(W, w_changes, theirs, change * tl.load(w_parts + word), h, moving, chance, EXACT, HALF)
            else:
                d += change
            n_around = tl.minimum(spot, REACH)
            if SLOTS > REACH:  # on both sides
                n_around = tl.minimum(spot + REACH, high - low - 1) - tl.maximum(spot - REACH, 0)
            over = (spot < 0) | (sub >= n_around)
            sub = tl.where(over, 0, sub + 1)
            t += over.to(tl.int64)
        else:
            d += tl.where(c < P, change, 0.0)
            if KIND == CONCAT:
                moving = from_words
                if FROZEN:
                    moving = moving & (tl.load(trainable + word, from_words, 0) != 0)
                weighed = change * tl.load(w_parts + word, from_words, 0.0)
                add(W, w_changes, theirs, weighed, h, moving, chance, EXACT, HALF)
            elif KIND != DBOW:
                for slot in range(SLOTS):
                    word, moving = neighbour(tokens, t, sub + slot, low, high, null, REACH, True)
                    if FROZEN:
                        moving = moving & (tl.load(trainable + word, moving, 0) != 0)
                    weighed = change * tl.load(w_parts + word, moving, 0.0)
                    theirs, at_all = word.to(tl.int64) * w_stride + c, only(c, moving, WIDTH)
                    before = weighed
                    if HALF > 0:
                        before = read(W, theirs, at_all)
                    add(W, w_changes, theirs, weighed, before, at_all, chance + slot, EXACT, HALF)
            t += 1
        tl.debug_barrier()  # what one warp has added is what the others read in the next step
    tl.store(mine, d, c < P)
    tl.store(objectives + i, tl.load(objectives + i) + total)
    tl.store(counts + i, tl.load(counts + i) + taken)


@triton.jit(do_not_specialize=["null"])
def offsets_of(
    tokens, positions, lows, highs, item_begins, row, W, U, bias, w_stride, u_stride, offset, factor, null,
    P: tl.constexpr, Q: tl.constexpr, WIDTH: tl.constexpr, COLS: tl.constexpr, ROWS: tl.constexpr, SLOTS: tl.constexpr,
    REACH: tl.constexpr, KIND: tl.constexpr, BIAS: tl.constexpr,
):  # fmt: skip
    """Inference: what the context words of a target add to the logits of its items, and the part of d in h."""
    i = tl.program_id(0).to(tl.int64)
    t, low, high = tl.load(positions + i), tl.load(lows + i), tl.load(highs + i)
    c, r = tl.arange(0, COLS)[None, :], tl.arange(0, ROWS)
    h, share = tl.zeros([1, COLS], tl.float32), 1.0
    if KIND == CONCAT:
        from_words = (c >= P) & (c < WIDTH)
        word, _ = neighbour(tokens, t, tl.maximum(c - P, 0) // Q, low, high, null, REACH, from_words)
        theirs = word.to(tl.int64) * w_stride + tl.maximum(c - P, 0) % Q
        if P % 8 == 0 and Q % 8 == 0:
            theirs = tl.max_contiguous(tl.multiple_of(theirs, [1, 8]), [1, 8])
        h = read(W, theirs, from_words)
    else:
        known = 1.0 + (low * 0).to(tl.float32)
        for slot in range(SLOTS):
            word, there_is = neighbour(tokens, t, low * 0 + slot, low, high, null, REACH, True)
            h += read(W, word.to(tl.int64) * w_stride + c, only(c, there_is, WIDTH))
            known += there_is.to(tl.float32)
        if KIND == MEAN:
            share = 1 / known
            h = h * share
    k, end = tl.load(item_begins + i), tl.load(item_begins + i + 1)
    while k < end:
        on = k + r < end
        which = tl.load(row + k + r, on, 0)
        u = read(U, which[:, None].to(tl.int64) * u_stride + c, on[:, None] & (c < WIDTH))
        y = tl.sum(h * u, 1)
        if BIAS:
            y += tl.load(bias + which, on, 0.0)
        tl.store(offset + k + r, y, on)
        tl.store(factor + k + r, y * 0 + share, on)
        k += ROWS
