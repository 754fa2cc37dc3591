"""The exact softmax, by matrix products: a batch takes the next step of as many documents as there are.

Busy rows take a part of what a batch wants of them (:class:`paravec.engines.base.Crowd`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import torch

from paravec.architecture import Architecture
from paravec.engines.base import Tables, Tally, batch_ends, pieces
from paravec.engines.gpu.flat import Flat, by_turns, hidden, products_in
from paravec.engines.gpu.held import Held, Parameters, Source, Tensor
from paravec.engines.gpu.passes import Steps, steps_of
from paravec.engines.steps import NORM_FLOOR

PRECISION = "tf32"  # of products: on tensor cores, factors have 10 bits behind the point. Training has noise enough
_NUMBERS_AT_ONCE = 1 << 26  # of the lists of steps that are made ready together, at most
_BYTES_A_NUMBER = 32  # with the copies that bring them in order


def train_batches(held: Held, tables: Tables, architecture: Architecture, source: Source) -> Tally:
    """Visits the documents of a pass once each, `batch_size` steps at a time."""
    steps = steps_of(held, architecture, tables.n_words, source)
    total, count = torch.zeros((), dtype=torch.float64, device=held.device), 0
    size = architecture.batch_size
    parts = held.crowd(architecture, tables, size)
    with products_in(PRECISION):
        most = min(_NUMBERS_AT_ONCE, held.bytes_of_a_shard // _BYTES_A_NUMBER)
        for which in _groups(architecture, steps, most):
            flat, n_steps = by_turns(architecture, steps.some(which), tables.n_words)
            for first, end in pairwise([0, *batch_ends(n_steps.cpu().numpy(), size)]):
                total += _learn(held.parameters, source.documents, architecture, flat[first:end], parts)
            count += len(flat.targets)
    return Tally(float(total), count)


def _groups(architecture: Architecture, steps: Steps, most: int) -> Iterator[slice]:
    """Documents whose steps are listed together: all, but where the list would be too long."""
    sizes = (steps.ends - steps.begins).cpu().numpy() * (1 + architecture.slots) * 4
    return (slice(first, end) for first, end in pieces(sizes, most))


def _learn(
    p: Parameters, documents: Tensor, architecture: Architecture, steps: Flat, parts: tuple[Tensor, Tensor]
) -> Tensor:
    """A batch learns from all parameters as they are now; gives its objective."""
    h, known = hidden(p, documents, architecture, steps)
    learn = _learn_dot if architecture.logit == "dot" else _learn_cosine
    gradient, value = learn(p, architecture, steps, h, parts[0])
    _spread(p, documents, architecture, steps, gradient * steps.rates[:, None], known, parts[1])
    return value


def _learn_dot(p: Parameters, _: Architecture, steps: Flat, h: Tensor, parts: Tensor) -> tuple[Tensor, Tensor]:
    """U and b learn; gives the gradient of h and the objective. All logits are read and written as seldom as can be."""
    assert p.bias is not None
    chosen = torch.softmax(torch.addmm(p.bias, h, p.outputs.T), 1)
    value = torch.log(chosen.gather(1, steps.targets[:, None]).clamp_min(torch.finfo(h.dtype).tiny))
    gradient = p.outputs[steps.targets] - chosen @ p.outputs
    pulls = torch.cat([h, torch.ones_like(h[:, :1])], 1) * steps.rates[:, None]  # of U, and in one more column of b
    change = (chosen.T @ pulls).neg_()
    change.index_put_((steps.targets,), pulls, accumulate=True)
    p.outputs.addcmul_(change[:, :-1], parts[:, None])
    p.bias.addcmul_(change[:, -1], parts)
    return gradient, value.sum(dtype=torch.float64)


def _learn_cosine(
    p: Parameters, architecture: Architecture, steps: Flat, h: Tensor, parts: Tensor
) -> tuple[Tensor, Tensor]:
    """The same where the logit is the scaled cosine of an angle (`steps.Pulls`). Three logits a word at a time."""
    uu, hh = (p.outputs**2).sum(1) + NORM_FLOOR, (h**2).sum(1) + NORM_FLOOR
    over = torch.outer(hh, uu).rsqrt_().mul_(architecture.cosine_scale)
    y = (h @ p.outputs.T).mul_(over)
    error = torch.log_softmax(y, 1)
    value = error.gather(1, steps.targets[:, None]).sum(dtype=torch.float64)
    error.exp_().neg_().scatter_add_(1, steps.targets[:, None], torch.ones_like(error[:, :1]))
    pull, along = over.mul_(error), y.mul_(error)
    del error
    gradient = pull @ p.outputs - (along.sum(1) / hh)[:, None] * h
    rates = steps.rates[:, None]
    pull.mul_(rates)
    along.mul_(rates)
    p.outputs += parts[:, None] * (pull.T @ h - (along.sum(0) / uu)[:, None] * p.outputs)
    return gradient, value


def _spread(
    p: Parameters,
    documents: Tensor,
    architecture: Architecture,
    steps: Flat,
    change: Tensor,
    known: Tensor | None,
    of_words: Tensor,
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
    parts = parts * of_words[words][:, None]
    p.words.index_put_((words,), parts, accumulate=True)  # in a fixed order, unlike index_add_
