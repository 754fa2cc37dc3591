"""The exact softmax, by matrix products: some steps at once, whatever documents they come from."""

from __future__ import annotations

import torch

from paravec.architecture import Architecture
from paravec.engines.base import Tables, Tally
from paravec.engines.gpu.held import Held, Parameters, Source, Tensor
from paravec.engines.gpu.passes import Steps, steps_of


def train_batches(held: Held, tables: Tables, architecture: Architecture, source: Source) -> Tally:
    """Visits the documents of a pass once each, `batch_size` steps at a time."""
    steps = _flat(architecture, steps_of(held, architecture, tables.n_words, source), tables.n_words)
    total = torch.zeros((), dtype=torch.float64, device=held.device)
    size = architecture.batch_size
    for first in range(0, len(steps.targets), size):
        total += _learn(held.parameters, source.documents, architecture, steps.between(first, first + size))
    return Tally(float(total), len(steps.targets))


class Flat:
    """Steps one after another: target, row of D (-1 where a word alone predicts), context words (-1: none), rate."""

    def __init__(self, targets: Tensor, rows: Tensor, context: Tensor, rates: Tensor) -> None:
        self.targets, self.rows, self.context, self.rates = targets, rows, context, rates

    def between(self, first: int, end: int) -> Flat:
        """Some of them."""
        return Flat(self.targets[first:end], self.rows[first:end], self.context[first:end], self.rates[first:end])


def _flat(architecture: Architecture, steps: Steps, null: int) -> Flat:
    """All steps of the documents of a list, in their order."""
    n = steps.ends - steps.begins
    document = torch.repeat_interleave(torch.arange(len(n), device=n.device), n)
    at = torch.arange(len(document), device=n.device) - torch.repeat_interleave(torch.cumsum(n, 0) - n, n)
    where = steps.begins[document] + at
    targets, rows, rates = steps.tokens[where].long(), steps.rows[document], steps.rates[document]
    reach = architecture.window - 1
    slots = torch.arange(architecture.slots, device=n.device)
    if architecture.is_dm:
        place = where[:, None] + slots - reach + (slots >= reach).long()
        inside = (place >= steps.lows[document][:, None]) & (place < steps.highs[document][:, None])
        context = torch.where(inside, steps.tokens[torch.where(inside, place, 0)].long(), null)
        return Flat(targets, rows, context, rates)
    if not architecture.train_words:
        return Flat(targets, rows, targets.new_zeros(len(targets), 0), rates)
    # Beside dbow: after the document's own step to a word, one from each word around it.
    spot, low = steps.spots[where].long(), steps.lows[document]
    place = spot[:, None] + slots - reach + (slots >= reach).long()
    inside = (spot >= 0)[:, None] & (place >= 0) & (place < (steps.highs[document] - low)[:, None])
    word = torch.where(inside, steps.words[torch.where(inside, low[:, None] + place, 0)].long(), -1)
    alone = torch.cat([torch.full_like(word[:, :1], -1), word], 1)
    taken = torch.cat([torch.ones_like(inside[:, :1]), inside], 1)
    own = torch.cat([rows[:, None], torch.full_like(word, -1)], 1)
    times = taken.sum(1)
    repeat = [torch.repeat_interleave(each, times) for each in (targets, rates)]
    return Flat(repeat[0], own[taken], alone[taken][:, None], repeat[1])


def _learn(p: Parameters, documents: Tensor, architecture: Architecture, steps: Flat) -> Tensor:
    """A batch learns from all parameters as they are now; gives its objective."""
    h, known = _hidden(p, documents, architecture, steps)
    learn = _learn_dot if architecture.logit == "dot" else _learn_cosine
    gradient, value = learn(p, architecture, steps, h)
    _spread(p, documents, architecture, steps, gradient * steps.rates[:, None], known)
    return value


def _learn_dot(p: Parameters, architecture: Architecture, steps: Flat, h: Tensor) -> tuple[Tensor, Tensor]:
    """U and b learn; gives the gradient of h and the objective. All logits are read and written as seldom as can be."""
    assert p.bias is not None
    y = torch.addmm(p.bias, h, p.outputs.T)
    value = y.gather(1, steps.targets[:, None])[:, 0] - torch.logsumexp(y, 1)
    chosen = torch.softmax(y, 1)
    gradient = p.outputs[steps.targets] - chosen @ p.outputs
    pulls = h * steps.rates[:, None]
    p.outputs.addmm_(chosen.T, pulls, alpha=-1)
    p.outputs.index_put_((steps.targets,), pulls, accumulate=True)
    p.bias -= steps.rates @ chosen
    p.bias.index_put_((steps.targets,), steps.rates, accumulate=True)
    return gradient, value.sum(dtype=torch.float64)


def _learn_cosine(p: Parameters, architecture: Architecture, steps: Flat, h: Tensor) -> tuple[Tensor, Tensor]:
    """The same where the logit is the scaled cosine of an angle (`steps.Pulls`)."""
    uu, hh = (p.outputs**2).sum(1) + 1e-12, (h**2).sum(1) + 1e-12
    over = architecture.cosine_scale / torch.sqrt(hh[:, None] * uu)
    y = h @ p.outputs.T * over
    log_p = torch.log_softmax(y, 1)
    error = -torch.exp(log_p)
    error.scatter_add_(1, steps.targets[:, None], torch.ones_like(error[:, :1]))
    pull, along = error * over, error * y
    gradient = pull @ p.outputs - (along.sum(1) / hh)[:, None] * h
    rates = steps.rates[:, None]
    p.outputs += (pull * rates).T @ h - ((along * rates).sum(0) / uu)[:, None] * p.outputs
    return gradient, log_p.gather(1, steps.targets[:, None]).sum(dtype=torch.float64)


def _hidden(p: Parameters, documents: Tensor, architecture: Architecture, steps: Flat) -> tuple[Tensor, Tensor | None]:
    """H of each step, and what `mean` divides by."""
    null = -1 if p.words is None else len(p.words) - 1
    if architecture.is_dm:
        assert p.words is not None
        d, around = documents[steps.rows], p.words[steps.context]
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


def _spread(
    p: Parameters, documents: Tensor, architecture: Architecture, steps: Flat, change: Tensor, known: Tensor | None
) -> None:
    """What D and W learn."""
    if known is not None:
        change = change / known
    own = steps.rows >= 0
    documents.index_put_((steps.rows[own],), change[own, : documents.shape[1]], accumulate=True)
    if p.words is None:
        return
    if not architecture.is_dm:
        words, parts = steps.context[~own, 0], change[~own]
    elif architecture.combine == "concat":
        words = steps.context.flatten()
        parts = change[:, documents.shape[1] :].reshape(len(words), -1)
    else:
        inside = steps.context != len(p.words) - 1
        words = steps.context[inside]
        parts = change[:, None, :].expand(-1, steps.context.shape[1], -1)[inside]
    if p.trainable is not None:
        moving = p.trainable[words] != 0
        words, parts = words[moving], parts[moving]
    p.words.index_put_((words,), parts, accumulate=True)  # in a fixed order, unlike index_add_
