"""Inference of the exact softmax, and of dm with cosine: all documents of a call climb in step, by matrix products.

Products are taken over blocks of one size, filled up with what is thrown away, and sums row by row (`kernels.rows`), so
that a document has the same bits alone and among others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from paravec.corpus import Corpus
from paravec.engines.base import Inference, Tally, pieces
from paravec.engines.devices import interpreted
from paravec.engines.gpu.climbing import Hill, climb, row_dots
from paravec.engines.gpu.flat import Flat, context_of, hidden, products_in
from paravec.engines.gpu.held import Tensor, free, put
from paravec.engines.gpu.inference import Frozen, noise_of, targets_of, weights_of
from paravec.engines.gpu.kernels import rows as kernels
from paravec.engines.steps import NORM_FLOOR

_BLOCK = 8 if interpreted() else 256  # steps of a product; in the interpreter every row takes its time
_NUMBERS_AT_ONCE = 1 << 28  # of the gradients of steps that lie side by side


def infer(frozen: Frozen, corpus: Corpus, how: Inference) -> NDArray[np.float32]:
    """A vector for every document, zero where no target counts."""
    vectors = np.zeros((len(corpus), frozen.architecture.vector_size), dtype=np.float32)
    rows = _rows_of(frozen)
    with products_in("ieee"):
        for first, end in _chunks(frozen, corpus):
            some = corpus.between(first, end)
            steps = _steps_of(frozen, rows, some, how)
            start, scale = steps.start()
            hill = Hill(steps.gradient, weights_of(frozen, some.lengths, how), frozen.on_sphere)
            found = climb(hill, start, scale, how.tol, how.max_iter)
            vectors[first:end] = torch.where((steps.counts > 0)[:, None], found, 0.0).cpu().numpy()
    return vectors


def score(frozen: Frozen, corpus: Corpus, how: Inference, vectors: NDArray[np.float32]) -> Tally:
    """The objective of the targets of ``how.part`` at the given vectors."""
    total, count, rows = 0.0, 0, _rows_of(frozen)
    with products_in("ieee"):
        for first, end in _chunks(frozen, corpus):
            steps = _steps_of(frozen, rows, corpus.between(first, end), how)
            total += steps.objective(put(vectors[first:end], frozen.device))
            count += int(steps.counts.sum())
    return Tally(total, count)


class Steps(Protocol):
    """The targets that count of some documents, with everything frozen but d."""

    counts: Tensor  # of the targets of each document

    def start(self) -> tuple[Tensor, Tensor]:
        """Where documents start, and the length of the gradient there if it has to be told (else 0)."""
        ...

    def gradient(self, x: Tensor, which: Tensor) -> Tensor:
        """Of the log-likelihood of documents of these numbers, at the rows of x."""
        ...

    def objective(self, x: Tensor) -> float:
        """The log-likelihood of all documents, at the rows of x."""
        ...


def _rows_of(frozen: Frozen) -> Tensor:
    """What h is multiplied with: U, or for cosine its rows of one length."""
    outputs = frozen.parameters.outputs.float()
    if not frozen.on_sphere:
        return outputs
    return outputs * (frozen.architecture.cosine_scale / torch.sqrt(row_dots(outputs, outputs) + NORM_FLOOR))[:, None]


def _steps_of(frozen: Frozen, rows: Tensor, corpus: Corpus, how: Inference) -> Steps:
    return (InContext if frozen.architecture.is_dm else Counted)(frozen, rows, corpus, how)


def _chunks(frozen: Frozen, corpus: Corpus) -> list[tuple[int, int]]:
    """Documents that climb together: as many as there is room for the gradients of their steps."""
    size = frozen.architecture.vector_size
    room = min(_NUMBERS_AT_ONCE, free(frozen.device) // 32)
    return pieces(corpus.lengths + 40, room // size)


def _blocks(n: int) -> Iterator[slice]:
    return (slice(first, min(n, first + _BLOCK)) for first in range(0, n, _BLOCK))


def _filled(array: Tensor) -> Tensor:
    """A block of full size."""
    return torch.cat([array, array.new_zeros(_BLOCK - len(array), *array.shape[1:])])


def _summed(array: Tensor, lengths: Tensor) -> Tensor:
    """The sums of so many rows each, in their order."""
    return torch.segment_reduce(array, "sum", lengths=lengths, axis=0, unsafe=True)


class Counted:
    """dbow with the exact softmax: a document has one distribution over all targets, each wanted so many times."""

    def __init__(self, frozen: Frozen, rows: Tensor, corpus: Corpus, how: Inference) -> None:
        tokens, offsets = put(corpus.tokens, frozen.device), put(corpus.offsets - corpus.offsets[0], frozen.device)
        where, document, _ = targets_of(frozen.architecture, offsets, how.part)
        self._rows, self._bias, self._on_sphere = rows, frozen.parameters.bias, frozen.on_sphere
        self._targets = tokens[where].long()
        self.counts = torch.bincount(document, minlength=len(corpus))
        self._wanted = _summed(rows[self._targets], self.counts)

    def start(self) -> tuple[Tensor, Tensor]:
        """See :class:`Steps`."""
        none = torch.zeros_like(self._wanted)
        if not self._on_sphere:
            return none, none[:, 0]
        return _to_unit(self._wanted - self.counts[:, None] * self._rows.mean(0))

    def gradient(self, x: Tensor, which: Tensor) -> Tensor:
        """See :class:`Steps`."""
        expected = torch.empty_like(x)
        for some in _blocks(len(x)):
            expected[some] = (_softmax(self._logits(x[some])).chosen @ self._rows)[: some.stop - some.start]
        return self._wanted[which] - self.counts[which][:, None] * expected

    def objective(self, x: Tensor) -> float:
        """See :class:`Steps`."""
        unit = _units(x) if self._on_sphere else x
        wanted = row_dots(self._wanted, unit).sum(dtype=torch.float64)
        if self._bias is not None:
            wanted += self._bias[self._targets].sum(dtype=torch.float64)
        sums = [_softmax(self._logits(unit[some])).sums[: some.stop - some.start] for some in _blocks(len(x))]
        return float(wanted - (self.counts * torch.cat(sums).double()).sum())

    def _logits(self, x: Tensor) -> Tensor:
        y = _filled(x) @ self._rows.T
        return y if self._bias is None else y + self._bias


class InContext:
    """dm: every target has a context of its own, and a distribution over all targets, or some noise words."""

    def __init__(self, frozen: Frozen, rows: Tensor, corpus: Corpus, how: Inference) -> None:
        self._frozen, self._rows = frozen, rows
        architecture, device = frozen.architecture, frozen.device
        tokens, offsets = put(corpus.tokens, device), put(corpus.offsets - corpus.offsets[0], device)
        where, document, position = targets_of(architecture, offsets, how.part)
        context = context_of(
            architecture, tokens, where, offsets[document], offsets[document + 1], frozen.tables.n_words
        )
        targets = tokens[where].long()
        self._steps = Flat(targets, document, context, torch.zeros_like(targets))
        self.counts = torch.bincount(document, minlength=len(corpus))
        self._candidates = None
        if architecture.output == "negative":
            noise = noise_of(frozen, tokens, offsets, document, position, how).long()
            self._candidates = torch.cat([targets[:, None], noise], 1)

    def start(self) -> tuple[Tensor, Tensor]:
        """See :class:`Steps`."""
        size = self._frozen.architecture.vector_size
        none = self._rows.new_zeros(len(self.counts), size)
        if not self._frozen.on_sphere:
            return none, none[:, 0]
        rows = self._rows[:, :size]
        if self._candidates is None:
            wanted = _summed(rows[self._steps.targets], self.counts)
            return _to_unit(wanted - self.counts[:, None] * rows.mean(0))
        pulls = rows.new_empty(len(self._candidates), size)
        for some in _blocks(len(pulls)):
            chosen = _filled(self._candidates[some])
            weights = 0.5 * _signs(chosen)
            pulls[some] = (weights[:, :, None] * rows[chosen]).sum(1)[: some.stop - some.start]
        return _to_unit(_summed(pulls, self.counts))

    def gradient(self, x: Tensor, which: Tensor) -> Tensor:
        """See :class:`Steps`."""
        size = self._frozen.architecture.vector_size
        place = torch.full_like(self.counts, -1)
        place[which] = torch.arange(len(which), device=which.device)
        rows = place[self._steps.rows]
        steps = torch.nonzero(rows >= 0)[:, 0]
        found = x.new_empty(len(steps), size)
        for some in _blocks(len(steps)):
            h, known = self._hidden(x, steps[some], rows)
            part = self._learn(h, steps[some])[0][:, :size]
            found[some] = (part if known is None else part / known)[: some.stop - some.start]
        # `which` is in order, and so are the steps.
        return _summed(found, self.counts[which])

    def objective(self, x: Tensor) -> float:
        """See :class:`Steps`."""
        everything, total = torch.arange(len(self._steps.targets), device=x.device), 0.0
        for some in _blocks(len(everything)):
            h, _ = self._hidden(x, everything[some], self._steps.rows)
            values = self._learn(h, everything[some])[1][: some.stop - some.start]
            total += float(values.sum(dtype=torch.float64))
        return total

    def _hidden(self, x: Tensor, which: Tensor, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """H of a block of steps whose documents are at these rows of x."""
        steps, block = self._steps[_filled(which)], _filled(rows[which])
        return hidden(
            self._frozen.parameters,
            x,
            self._frozen.architecture,
            Flat(steps.targets, block, steps.context, steps.rates),
        )

    def _learn(self, h: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """The gradients of h of a block of steps, and their log-likelihoods."""
        rows, which = self._rows, _filled(which)
        inverse = 1.0
        if self._frozen.on_sphere:
            inverse = 1 / torch.sqrt(row_dots(h, h) + NORM_FLOOR)[:, None]
        if self._candidates is None:
            y = h @ rows.T * inverse
            if self._frozen.parameters.bias is not None:
                y = y + self._frozen.parameters.bias
            target = self._steps.targets[which]
            at, found = y.gather(1, target[:, None])[:, 0], _softmax(y)
            gradient, radial = rows[target] - found.chosen @ rows, at - found.means
            value = at - found.sums
        else:
            candidates = self._candidates[which]
            u, sign = rows[candidates], _signs(candidates)
            beside = h[:, None, :].expand_as(u).flatten(0, 1)
            y = row_dots(u.flatten(0, 1), beside).reshape(sign.shape) * inverse
            pull = sign * torch.sigmoid(-sign * y)
            gradient, radial = (pull[:, :, None] * u).sum(1), row_dots(pull, y)
            value = (sign.abs() * torch.nn.functional.logsigmoid(sign * y)).sum(1)
        if self._frozen.on_sphere:
            gradient = gradient * inverse - (radial[:, None] * inverse * inverse) * h
        return gradient, value


def _signs(candidates: Tensor) -> Tensor:
    """1 for the target, which comes first, -1 for noise words, 0 for those that are the target."""
    signs = torch.where(candidates == candidates[:, :1], 0.0, -1.0)
    signs[:, 0] = 1
    return signs


@dataclass(frozen=True)
class Softmax:
    """Probabilities, the logarithms of the sums that they were divided by, and the mean logits."""

    chosen: Tensor
    sums: Tensor
    means: Tensor


def _softmax(y: Tensor) -> Softmax:
    """Of each row, in the place of the logits."""
    sums, means = torch.empty(len(y), device=y.device), torch.empty(len(y), device=y.device)
    rows = 1 if y.is_cuda else 8
    kernels.softmax[(-(-len(y) // rows),)](y, sums, means, len(y), y.shape[1], ROWS=rows, BLOCK=2048, num_warps=8)
    return Softmax(y, sums, means)


def _units(x: Tensor) -> Tensor:
    return x / torch.sqrt(row_dots(x, x) + NORM_FLOOR)[:, None]


def _to_unit(x: Tensor) -> tuple[Tensor, Tensor]:
    """Vectors of length 1 (where they cancel out, any direction is as good), and the length that they had."""
    length = torch.sqrt(row_dots(x, x))
    there = length > 0
    first = torch.zeros_like(x)
    first[:, 0] = 1
    length = torch.where(there, length, 1.0)
    return torch.where(there[:, None], x / length[:, None], first), length
