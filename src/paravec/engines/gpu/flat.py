"""Steps one after another, in lists: for models whose steps are matrix products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

import torch

from paravec.architecture import Architecture
from paravec.engines.gpu.held import Parameters, Tensor
from paravec.engines.gpu.passes import Steps

_PRECISION = Lock()  # which a whole process has


@dataclass(frozen=True)
class Flat:
    """Steps one after another."""

    targets: Tensor
    rows: Tensor  # of D; -1 where a word alone predicts
    context: Tensor  # words around the target; -1: none
    rates: Tensor

    def __getitem__(self, which: slice | Tensor) -> Flat:
        return Flat(self.targets[which], self.rows[which], self.context[which], self.rates[which])


def by_turns(architecture: Architecture, steps: Steps, null: int) -> tuple[Flat, Tensor]:
    """The first step of every document of a list, then the second, ..., and how many steps each has.

    A batch that took many steps of one document at once would move its vector by all of them from where it was.
    """
    flat, document = _flat(architecture, steps, null)
    n = torch.bincount(document, minlength=len(steps.rows))
    turn = torch.arange(len(document), device=n.device) - (torch.cumsum(n, 0) - n)[document]
    return flat[torch.sort(turn, stable=True).indices], n


def _flat(architecture: Architecture, steps: Steps, null: int) -> tuple[Flat, Tensor]:
    """All steps of the documents of a list, in their order, and the place of each one's document in the list."""
    n = steps.ends - steps.begins
    document = torch.repeat_interleave(torch.arange(len(n), device=n.device), n)
    at = torch.arange(len(document), device=n.device) - torch.repeat_interleave(torch.cumsum(n, 0) - n, n)
    where = steps.begins[document] + at
    targets, rows, rates = steps.tokens[where].long(), steps.rows[document], steps.rates[document]
    if architecture.is_dm:
        context = context_of(architecture, steps.tokens, where, steps.lows[document], steps.highs[document], null)
        return Flat(targets, rows, context, rates), document
    if not architecture.train_words:
        return Flat(targets, rows, targets.new_zeros(len(targets), 0), rates), document
    # Beside dbow: after the document's own step to a word, one from each word around it.
    spot, low = steps.spots[where].long(), steps.lows[document]
    place = spot[:, None] + _distances(architecture, n.device)
    inside = (spot >= 0)[:, None] & (place >= 0) & (place < (steps.highs[document] - low)[:, None])
    word = torch.where(inside, steps.words[torch.where(inside, low[:, None] + place, 0)].long(), -1)
    alone = torch.cat([torch.full_like(word[:, :1], -1), word], 1)
    taken = torch.cat([torch.ones_like(inside[:, :1]), inside], 1)
    own = torch.cat([rows[:, None], torch.full_like(word, -1)], 1)
    times = taken.sum(1)
    repeat = [torch.repeat_interleave(each, times) for each in (targets, rates, document)]
    return Flat(repeat[0], own[taken], alone[taken][:, None], repeat[1]), repeat[2]


def context_of(
    architecture: Architecture, tokens: Tensor, where: Tensor, lows: Tensor, highs: Tensor, null: int
) -> Tensor:
    """dm: the words around targets, whose documents reach from `lows` to `highs`; NULL beyond them."""
    place = where[:, None] + _distances(architecture, where.device)
    inside = (place >= lows[:, None]) & (place < highs[:, None])
    return torch.where(inside, tokens[torch.where(inside, place, 0)].long(), null)


def _distances(architecture: Architecture, device: torch.device) -> Tensor:
    """How far from its target the word of each slot stands."""
    slots, reach = torch.arange(architecture.slots, device=device), architecture.window - 1
    return slots - reach + (slots >= reach).long()


def hidden(p: Parameters, documents: Tensor, architecture: Architecture, steps: Flat) -> tuple[Tensor, Tensor | None]:
    """H of each step, and what `mean` divides by."""
    null = -1 if p.words is None else len(p.words) - 1
    if architecture.is_dm:
        assert p.words is not None
        d, around = documents[steps.rows], p.words[steps.context].float()
        if architecture.combine == "concat":
            return torch.cat([d, around.flatten(1)], 1), None
        inside = (steps.context != null)[:, :, None]
        total = d + torch.where(inside, around, 0.0).sum(1)
        known = 1.0 + inside.sum(1)
        return (total / known, known) if architecture.combine == "mean" else (total, None)
    if p.words is None:
        return documents[steps.rows], None
    alone = (steps.rows < 0)[:, None]
    return torch.where(alone, p.words[steps.context[:, 0]], documents[steps.rows]), None


@contextmanager
def products_in(precision: str) -> Iterator[None]:
    """Matrix products with factors of all their bits ("ieee"), or of fewer, on tensor cores ("tf32")."""
    matmul = torch.backends.cuda.matmul
    with _PRECISION:
        before, matmul.fp32_precision = matmul.fp32_precision, precision
        try:
            yield
        finally:
            matmul.fp32_precision = before
