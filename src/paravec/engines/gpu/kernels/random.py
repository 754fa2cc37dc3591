"""The draws of :mod:`paravec.draws` inside Triton kernels, and what training draws before its first step."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def draw(key, document, position, block):
    """Four 32-bit numbers for a position of a document."""
    where, who = position.to(tl.uint64), document.to(tl.uint64)
    high = ((where >> 32) << 16).to(tl.uint32) | block.to(tl.uint32)
    return tl.philox(key, where.to(tl.uint32), high, who.to(tl.uint32), (who >> 32).to(tl.uint32))


@triton.jit
def one_each(key, document, position):
    """One 32-bit number for a position: four positions share a block."""
    a, b, c, d = draw(key, document, position // 4, position * 0)
    which = position % 4
    return tl.where(which < 2, tl.where(which == 0, a, b), tl.where(which == 2, c, d))


@triton.jit
def noise_word(key, name, number, k, threshold, alias, n_targets):
    """The k-th noise word at a position: Walker's alias method."""
    a, b, c, d = draw(key, name, number, k // 2)
    column = tl.umulhi(tl.where(k % 2 == 0, a, c), n_targets.to(tl.uint32)).to(tl.int32)
    second = tl.where(k % 2 == 0, b, d)
    bound = tl.load(threshold + column).to(tl.uint32, bitcast=True)
    return tl.where(second < bound, column, tl.load(alias + column))


@triton.jit(do_not_specialize=["count", "n_words", "sample_key", "order_key"])
def arrange(
    tokens,
    begins,
    lengths,
    documents,
    places,
    keep,
    kept,
    kept_lengths,
    spots,
    words,
    word_lengths,
    count,
    n_words,
    sample_key,
    order_key,
    SAMPLE: tl.constexpr,
    SHUFFLE: tl.constexpr,
    WORDS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """What sub-sampling leaves of each document, in the order in which it is visited.

    A thread takes a document. With WORDS, `spots` are the places of targets among the document's words (-1: none), and
    `words` are those words.
    """
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    there = i < count
    begin, length = tl.load(begins + i, there, 0), tl.load(lengths + i, there, 0)
    document, place = tl.load(documents + i, there, 0), tl.load(places + i, there, 0)
    n, n_known = length * 0, length * 0
    t, most = tl.min(length, 0) * 0, tl.max(length, 0)
    while t < most:
        inside = t < length
        token = tl.load(tokens + begin + t, inside, 0)
        if SAMPLE:
            bound = tl.load(keep + token, inside, 0).to(tl.uint32, bitcast=True)
            inside = inside & (one_each(sample_key, document, length * 0 + t) <= bound)
        tl.store(kept + place + n, token, inside)
        if WORDS:
            known = inside & (token < n_words)
            tl.store(spots + place + n, tl.where(known, n_known, -1).to(tl.int32), inside)
            tl.store(words + place + n_known, token, known)
            n_known += known.to(tl.int64)
        n += inside.to(tl.int64)
        t += 1
    tl.store(kept_lengths + i, n, there)
    if WORDS:
        tl.store(word_lengths + i, n_known, there)
    if SHUFFLE:
        t = tl.max(n, 0) - 1  # the last place first
        while t > 0:
            inside = t < n
            numbers = one_each(order_key, document, length * 0 + t).to(tl.uint64)
            other = ((numbers * (t + 1).to(tl.uint64)) >> 32).to(tl.int64)
            mine, theirs = tl.load(kept + place + t, inside, 0), tl.load(kept + place + other, inside, 0)
            tl.store(kept + place + t, theirs, inside)
            tl.store(kept + place + other, mine, inside)
            if WORDS:
                mine, theirs = tl.load(spots + place + t, inside, 0), tl.load(spots + place + other, inside, 0)
                tl.store(spots + place + t, theirs, inside)
                tl.store(spots + place + other, mine, inside)
            t -= 1


@triton.jit
def seat(run_begins, n_steps, firsts, BATCH: tl.constexpr, LANES: tl.constexpr):
    """In which round of its run each document takes its first step, when BATCH of them are side by side."""
    run, lane = tl.program_id(0), tl.arange(0, LANES).to(tl.int64)
    i, last = tl.load(run_begins + run), tl.load(run_begins + run + 1)
    free = tl.where(lane < BATCH, lane * 0, 1 << 62)
    while i < last:
        first = tl.min(free, 0)
        mine = tl.argmin(free, 0, tie_break_left=True)
        tl.store(firsts + i, first)
        free = tl.where(lane == mine, first + tl.load(n_steps + i), free)
        i += 1


@triton.jit
def hash_documents(tokens, offsets, names, count, BLOCK: tl.constexpr):
    """The hash of each document's tokens, by which inference draws (`draws.hash_tokens`); a thread takes a document."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    begin, end = tl.load(offsets + i, i < count, 0), tl.load(offsets + i + 1, i < count, 0)
    value = (begin * 0).to(tl.uint64) + 0x9E3779B97F4A7C15
    t, most = tl.min(begin, 0) * 0, tl.max(end - begin, 0)
    while t < most:
        inside = begin + t < end
        token = tl.load(tokens + begin + t, inside, 0).to(tl.uint64)
        mixed = (value ^ token) * 0xBF58476D1CE4E5B9
        value = tl.where(inside, mixed ^ (mixed >> 29), value)
        t += 1
    tl.store(names + i, value.to(tl.int64, bitcast=True), i < count)


@triton.jit(do_not_specialize=["key", "count", "n_targets"])
def draw_noise(names, positions, out, key, count, threshold, alias, n_targets, NEGATIVE: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """The noise words of targets, by the names of their documents and their positions there."""
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    target, k = i // NEGATIVE, (i % NEGATIVE).to(tl.int32)
    inside = target < count
    name, position = tl.load(names + target, inside, 0), tl.load(positions + target, inside, 0)
    tl.store(out + i, noise_word(key, name, position, k, threshold, alias, n_targets), inside)
