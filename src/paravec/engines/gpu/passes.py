"""A pass over some documents, made ready on the device: which steps there are, and their noise words."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import torch
import triton

from paravec import draws
from paravec.architecture import Architecture
from paravec.draws import Purpose
from paravec.engines.base import run_ends
from paravec.engines.gpu.held import Held, Source, Tensor
from paravec.engines.gpu.kernels.random import arrange, seat

_DOCUMENTS_A_PROGRAM = 32


@dataclass(frozen=True)
class Steps:
    """The targets of a pass, and its documents that have any.

    Document i of the list has the targets ``tokens[begins[i]:ends[i]]``; its context words are among
    ``tokens[lows[i]:highs[i]]``, or among `words` there, beside dbow.
    """

    tokens: Tensor
    spots: Tensor  # where a target stands among the words of its document; -1 if it is none
    words: Tensor
    rows: Tensor  # of D
    rates: Tensor
    begins: Tensor
    ends: Tensor
    lows: Tensor
    highs: Tensor
    names: Tensor  # the first document of the run that each belongs to, and ...
    firsts: Tensor  # ... the round of its first step there: noise words are drawn by both

    def some(self, which: slice) -> Steps:
        """Those of some of the documents."""
        kept = ("tokens", "spots", "words")
        listed = {each.name: getattr(self, each.name)[which] for each in fields(self) if each.name not in kept}
        return replace(self, **listed)


def steps_of(held: Held, architecture: Architecture, n_words: int, source: Source) -> Steps:
    """Sub-samples, orders and lists what a pass visits, with the draws of every engine."""
    device, work = held.device, source.work
    ends_of_runs = run_ends(source.lengths)
    order = torch.from_numpy(work.order).to(device)
    begins, n = source.begins, torch.from_numpy(source.lengths).to(device)
    tokens, spots, words, highs_of_words = source.tokens, source.tokens, source.tokens, None
    if held.lists.keep is not None or not architecture.is_dm:
        places = torch.cumsum(n, 0) - n
        tokens, spots, words, n, highs_of_words = _arranged(
            held, source, architecture, n_words, order, begins, n, places
        )
        begins = places
    first, end = predicted(architecture, n)
    there = end > first
    count = torch.cumsum(there, 0)
    ends = torch.tensor(ends_of_runs, dtype=torch.int64, device=device)
    run_begins = torch.cat([count.new_zeros(1), count[ends - 1]])
    n_seen = n if highs_of_words is None else highs_of_words
    rows, rates, first_steps, end_steps, lows, highs = [
        each[there].contiguous()
        for each in (
            source.rows,
            torch.from_numpy(work.rates).to(device),
            begins + first,
            begins + end,
            begins,
            begins + n_seen,
        )
    ]
    firsts = torch.zeros_like(rows)
    names = rows
    if architecture.output == "negative":
        n_steps = end_steps - first_steps
        if architecture.train_words:
            n_steps = n_steps + _steps_of_words(architecture, highs - lows)
        lanes = triton.next_power_of_2(architecture.batch_size)
        seat[(len(ends),)](run_begins, n_steps, firsts, BATCH=architecture.batch_size, LANES=lanes, num_warps=1)
        heads = order[torch.cat([ends.new_zeros(1), ends[:-1]])]
        names = torch.repeat_interleave(heads, torch.diff(run_begins))
    return Steps(tokens, spots, words, rows, rates, first_steps, end_steps, lows, highs, names, firsts)


def _steps_of_words(architecture: Architecture, n: Tensor) -> Tensor:
    """How many context words the n words of a document have, all together."""
    reach = architecture.window - 1
    to_the_left = torch.where(n <= reach, n * (n - 1) // 2, reach * (reach + 1) // 2 + (n - 1 - reach) * reach)
    return to_the_left * (2 if architecture.context == "both" else 1)


def _arranged(
    held: Held,
    source: Source,
    architecture: Architecture,
    n_words: int,
    order: Tensor,
    begins: Tensor,
    lengths: Tensor,
    places: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """What `arrange` makes of the documents of a pass."""
    total, work = int(source.lengths.sum()), source.work
    with_words = architecture.train_words
    kept = torch.empty(max(1, total), dtype=torch.int32, device=order.device)
    spots, words = (torch.empty_like(kept) for _ in range(2)) if with_words else (kept, kept)
    counts, word_counts = torch.empty_like(lengths), torch.empty_like(lengths)
    keys = (draws.stream(work.seed, p, work.epoch, architecture.is_dm) for p in (Purpose.SAMPLE, Purpose.TARGET_ORDER))
    sample_key, order_key = (as_key(key) for key in keys)
    arrange[(-(-len(order) // _DOCUMENTS_A_PROGRAM),)](
        source.tokens,
        begins,
        lengths,
        order,
        places,
        kept if held.lists.keep is None else held.lists.keep,
        kept,
        counts,
        spots,
        words,
        word_counts,
        len(order),
        n_words,
        sample_key,
        order_key,
        SAMPLE=held.lists.keep is not None,
        SHUFFLE=not architecture.is_dm,
        WORDS=with_words,
        BLOCK=_DOCUMENTS_A_PROGRAM,
        num_warps=1,
    )
    return kept, spots, words, counts, word_counts if with_words else None


def predicted(architecture: Architecture, n: Tensor) -> tuple[Tensor, Tensor]:
    """:func:`paravec.engines.steps.predicted` of documents of n kept tokens: first and end."""
    if not architecture.is_dm or architecture.pad == "all":
        return torch.zeros_like(n), n
    reach = architecture.window - 1
    if architecture.context == "left":
        return torch.clamp(torch.minimum(torch.full_like(n, reach), n - 1), min=0), n
    full = n > 2 * reach
    return torch.where(full, reach, n // 2), torch.where(full, n - reach, torch.minimum(n // 2 + 1, n))


def as_key(key: tuple[int, int]) -> int:
    """The key of a stream of draws as one signed 64-bit number."""
    return int(np.uint64(key[0] | key[1] << 32).astype(np.int64))
