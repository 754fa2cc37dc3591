"""The reference engine: trains, infers and scores as `steps` and `side_by_side` define it.

Slow on purpose. Every other engine draws the same samples and follows these steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Crowd, Inference, OnHost, Pass, Tables, Tally, n_shares, run_ends
from paravec.engines.rounding import PHASES, nearest
from paravec.engines.side_by_side import (
    Share,
    train_by_ways,
    train_in_a_row,
    train_one_by_one,
    train_side_by_side,
)
from paravec.engines.steps import Array, Step, document_steps, frozen_steps, gradients, norm, objective, output_rows
from paravec.model import Model


class ReferenceEngine(OnHost):
    """Trains, infers and scores; with `crowd`, trains documents one by one, as a GPU does (`train_one_by_one`)."""

    def __init__(self, deterministic: bool = False, crowd: Crowd | None = None) -> None:
        self.deterministic = deterministic
        self.crowd = crowd

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        if self.crowd is not None:  # a GPU draws no errors, and rounds in its own way
            model = replace(model, architecture=replace(model.architecture, draw_errors=False, half=False))
        documents = self._documents(model.architecture, tables, corpus, work)
        if model.architecture.output == "softmax":
            return train_in_a_row(model, tables, documents, self.crowd)
        noise, errors = (
            draws.stream(work.seed, purpose, work.epoch, model.architecture.is_dm)
            for purpose in (Purpose.NOISE, Purpose.ERRORS)
        )
        drawn_by = errors if model.architecture.draw_errors else None
        if model.architecture.half:
            model.outputs[:] = nearest(model.outputs)
            if model.bias is not None:
                model.bias[:] = nearest(model.bias)
        lengths = corpus.lengths[work.order]
        ends = run_ends(lengths)
        runs = list(zip([0, *ends], ends, strict=False))
        tokens = [int(lengths[begin:end].sum()) for begin, end in runs]
        shares = n_shares(model.architecture, tables.n_targets, tokens) if self.deterministic and runs else 1
        turn = (errors[0] + int(work.order[0])) % PHASES if runs else 0
        tallies = []
        for i in range(0, len(runs), shares):
            together = [Share(model) for _ in runs[i : i + shares]] if self.deterministic else []
            for number, (begin, end) in enumerate(runs[i : i + shares]):
                at, visits = (together[number].model, together[number].visits) if together else (model, None)
                first = int(work.order[begin])
                if self.crowd is not None:
                    tallies.append(train_one_by_one(model, tables, documents[begin:end], noise, first, self.crowd))
                    continue
                if at.architecture.by_ways:
                    tallies.append(train_by_ways(at, tables, documents[begin:end], visits))
                else:
                    tallies.append(train_side_by_side(at, tables, documents[begin:end], noise, first, visits, drawn_by))
            for number, share in enumerate(together, i):
                share.add_to(model, len(together), number + turn)
        return Tally(sum(tally.objective for tally in tallies), sum(tally.targets for tally in tallies))

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """See :class:`paravec.engines.base.Engine`."""
        vectors = np.zeros((len(corpus), model.architecture.vector_size), dtype=np.float32)
        model = model if how.context else model.alone()
        for i in range(len(corpus)):
            vectors[i] = infer_document(model.astype(np.float64), tables, corpus[i], how)
        return vectors

    def score(
        self, model: Model, corpus: Corpus, tables: Tables, how: Inference, vectors: NDArray[np.float32]
    ) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        at = replace(model, documents=vectors).astype(np.float64)
        total, count = 0.0, 0
        for i in range(len(corpus)):
            steps = frozen_steps(model.architecture, tables, corpus[i], i, how)
            total += sum(objective(at, tables, step) for step in steps)
            count += len(steps)
        return Tally(total, count)

    def _documents(self, architecture: Architecture, tables: Tables, corpus: Corpus, work: Pass) -> list[list[Step]]:
        sample, order = (
            draws.stream(work.seed, purpose, work.epoch, architecture.is_dm)
            for purpose in (Purpose.SAMPLE, Purpose.TARGET_ORDER)
        )
        documents = []
        for document, rate in zip(work.order.tolist(), work.rates.tolist(), strict=True):
            tokens = corpus[document]
            kept = np.flatnonzero(draws.one_each(sample, document, len(tokens)) <= tables.keep[tokens])
            visits = None if architecture.is_dm else draws.shuffle(order, document, len(kept))
            documents.append(list(document_steps(architecture, tables, tokens, document, rate, kept, visits)))
        return documents


def infer_document(model: Model, tables: Tables, tokens: NDArray[np.int32], how: Inference) -> Array:
    """The vector d that maximises the objective of a document minus l2 |d|^2 / 2, with W, U and b frozen.

    Under cosine the length of d says nothing (dbow) or could be had for nothing (dm), so d is a unit vector. Where no
    target counts d is zero.
    """
    from scipy.optimize import minimize

    architecture = model.architecture
    steps = frozen_steps(architecture, tables, tokens, 0, how)
    if not steps:
        return np.zeros(architecture.vector_size)
    on_sphere = architecture.logit == "cosine"
    l2 = 0.0 if on_sphere else how.l2_of(len(how.part.positions(len(tokens))))

    def loss(x: Array) -> tuple[float, Array]:
        d = x / np.linalg.norm(x) if on_sphere else x
        at = replace(model, documents=d[None, :])
        gradient = -l2 * d
        for step in steps:
            for array, _, part in gradients(at, tables, step):
                if array is at.documents:
                    gradient = gradient + part
        value = sum(objective(at, tables, step) for step in steps) - l2 * float(d @ d) / 2
        if on_sphere:
            gradient = (gradient - (gradient @ d) * d) / np.linalg.norm(x)
        return -value, -gradient

    start = inference_start(model, tables, steps)
    # SciPy's own stopping rule is absolute, ours is relative to the gradient at the start.
    found: Array = minimize(
        loss, start, jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": how.tol * 1e-6, "maxiter": 1000}
    ).x
    return found / np.linalg.norm(found) if on_sphere else found


def inference_start(model: Model, tables: Tables, steps: Iterable[Step]) -> Array:
    """Zero for `dot`; for `cosine`, which has no direction there, the unit vector along the gradient at y = 0."""
    p = model.architecture.vector_size
    total = np.zeros(p)
    if model.architecture.logit == "dot":
        return total
    for step in steps:
        rows, labels = output_rows(model, tables, step)
        neutral = 1 / len(rows) if model.architecture.output == "softmax" else 0.5
        U = model.outputs[rows]
        total += (labels - neutral) @ (U / norm(U)[:, None])[:, :p]
    length = np.linalg.norm(total)
    return total / length if length > 0 else np.eye(p)[0]  # the rows cancel out: any direction is as good
