"""The definition: NumPy, one step at a time, in the words of the paper.

Slow on purpose. Every other engine draws the same samples and follows these steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Inference, Pass, Tables, Tally
from paravec.model import Model

Array = NDArray[Any]
NORM_FLOOR = 1e-12  # added to squared norms under `cosine`, so that a zero vector has a direction


@dataclass(frozen=True)
class Step:
    """One target, and what predicts it."""

    target: int
    document: int | None  # a row of D; None where a word alone predicts (skip-gram)
    context: tuple[int, ...]  # rows of W, slot by slot
    noise: tuple[int, ...] = ()
    rate: float = 1.0
    position: int = 0  # of the target among the document's tokens


# --- The input: h ---------------------------------------------------------------------------------------------------


def hidden(model: Model, step: Step) -> Array:
    """The vector h that predicts the target."""
    if step.document is None:
        return _words(model)[step.context[0]]
    d = _documents(model)[step.document]
    if not model.architecture.is_dm:
        return d
    if model.architecture.combine == "concat":
        return np.concatenate([d, *(_words(model)[c] for c in step.context)])
    total = d + sum(_words(model)[c] for c in _known(model, step))
    return total / _share(model, step)


def hidden_gradients(model: Model, step: Step, gradient: Array) -> Iterator[tuple[Array, int, Array]]:
    """From the gradient with respect to h: (array, row, gradient) for D and W."""
    if step.document is None:
        yield _words(model), step.context[0], gradient
        return
    if not model.architecture.is_dm:
        yield _documents(model), step.document, gradient
        return
    p, q = model.architecture.vector_size, model.architecture.word_size
    if model.architecture.combine == "concat":
        yield _documents(model), step.document, gradient[:p]
        for slot, c in enumerate(step.context):
            yield _words(model), c, gradient[p + slot * q : p + (slot + 1) * q]
        return
    gradient = gradient / _share(model, step)
    yield _documents(model), step.document, gradient
    for c in _known(model, step):
        yield _words(model), c, gradient


def _known(model: Model, step: Step) -> list[int]:
    """The context without NULL, which `mean` and `sum` leave out."""
    null = len(_words(model)) - 1
    return [c for c in step.context if c != null]


def _share(model: Model, step: Step) -> int:
    """What `mean` divides by: the known context words and the document itself."""
    return 1 + len(_known(model, step)) if model.architecture.combine == "mean" else 1


def _documents(model: Model) -> Array:
    assert model.documents is not None
    return model.documents


def _words(model: Model) -> Array:
    assert model.words is not None
    return model.words


# --- The output: log p(target | h) ----------------------------------------------------------------------------------


def output_rows(model: Model, tables: Tables, step: Step) -> tuple[NDArray[np.int64], Array]:
    """The rows of U whose logits a step needs, and the label of each: 1 where the logit should grow."""
    if model.architecture.output == "hs":
        assert tables.paths is not None
        path = slice(tables.paths.offsets[step.target], tables.paths.offsets[step.target + 1])
        return tables.paths.nodes[path].astype(np.int64), 1.0 - tables.paths.codes[path]
    if model.architecture.output == "negative":
        rows = np.array([step.target, *(w for w in step.noise if w != step.target)])
        return rows, (np.arange(len(rows)) == 0).astype(float)
    rows = np.arange(len(model.outputs))
    return rows, (rows == step.target).astype(float)


def logits(model: Model, rows: NDArray[np.int64], h: Array) -> Array:
    """Y = b + U h, or the scaled cosine of the angle between h and the rows of U."""
    y = model.outputs[rows] @ h
    if model.architecture.logit == "cosine":
        return model.architecture.cosine_scale * y / (_norm(model.outputs[rows]) * _norm(h))
    return y if model.bias is None else y + model.bias[rows]


def objective(model: Model, tables: Tables, step: Step) -> float:
    """The log-likelihood of one target."""
    rows, labels = output_rows(model, tables, step)
    y = logits(model, rows, hidden(model, step))
    if model.architecture.output == "softmax":
        return float(y[step.target] - y.max() - np.log(np.exp(y - y.max()).sum()))
    return float(-np.logaddexp(0, np.where(labels > 0, -y, y)).sum())


def gradients(model: Model, tables: Tables, step: Step) -> Iterator[tuple[Array, Any, Array]]:
    """(array, rows, gradient of the objective) for everything a step touches. A row may come up more than once."""
    h = hidden(model, step)
    rows, labels = output_rows(model, tables, step)
    y = logits(model, rows, h)
    if model.architecture.output == "softmax":
        error = labels - np.exp(y - y.max()) / np.exp(y - y.max()).sum()
    else:
        error = labels - 1 / (1 + np.exp(-np.clip(y, -700, 700)))
    U = model.outputs[rows]
    if model.architecture.logit == "cosine":
        u_norm, h_norm = _norm(U)[:, None], _norm(h)
        cosine = (U @ h / (u_norm[:, 0] * h_norm))[:, None]
        pull = model.architecture.cosine_scale * error[:, None]
        yield model.outputs, rows, pull * (h / h_norm - cosine * U / u_norm) / u_norm
        gradient = (pull * (U / u_norm - cosine * h / h_norm) / h_norm).sum(axis=0)
    else:
        yield model.outputs, rows, np.outer(error, h)
        gradient = error @ U
        if model.bias is not None:
            yield model.bias, rows, error
    yield from hidden_gradients(model, step, gradient)


def _norm(x: Array) -> Any:
    return np.sqrt((x * x).sum(axis=-1) + NORM_FLOOR)


# --- The steps of a document ----------------------------------------------------------------------------------------


def contexts(architecture: Architecture, words: list[int], t: int, null: int) -> tuple[int, ...]:
    """The context of the word at `t`, slot by slot; NULL where the document has no word."""
    reach = architecture.window - 1
    slots = [*range(t - reach, t)] + ([*range(t + 1, t + reach + 1)] if architecture.context == "both" else [])
    return tuple(words[s] if 0 <= s < len(words) else null for s in slots)


def predicted(architecture: Architecture, n: int) -> range:
    """Which of the n words of a document a dm model predicts.

    All of them with ``pad="all"``. With ``pad="short"`` those with a full window; a document without a full window is
    padded with NULL to one, in front for the left context (its last word is predicted) or around its middle word.
    """
    if architecture.pad == "all":
        return range(n)
    reach = architecture.window - 1
    if architecture.context == "left":
        return range(min(reach, n - 1), n) if n else range(0)
    return range(reach, n - reach) if n > 2 * reach else range(n // 2, min(n // 2 + 1, n))


def document_steps(
    architecture: Architecture,
    tables: Tables,
    tokens: NDArray[np.int32],
    row: int,
    noise_key: tuple[int, int],
    noise_document: int,
    rate: float = 1.0,
    kept: NDArray[np.int64] | None = None,
    order: NDArray[np.int64] | None = None,
) -> Iterator[Step]:
    """The steps of a document: `kept` positions are what sub-sampling left, `order` is how dbow visits them."""
    null = tables.n_words
    positions = np.arange(len(tokens)) if kept is None else kept
    targets = [int(tokens[i]) for i in positions]

    def step(t: int, number: int, document: int | None, context: tuple[int, ...]) -> Step:
        position = int(positions[t])
        noise = _noise(architecture, tables, noise_key, noise_document, position, number)
        return Step(targets[t], document, context, noise, rate, position)

    if architecture.is_dm:
        for t in predicted(architecture, len(targets)):
            yield step(t, 0, row, contexts(architecture, targets, t, null))
        return
    is_word = [target < null for target in targets]
    words = [target for target, is_one in zip(targets, is_word, strict=True) if is_one]
    for t in range(len(targets)) if order is None else order.tolist():
        yield step(t, 0, row, ())
        if architecture.train_words and is_word[t]:
            around = contexts(architecture, words, sum(is_word[:t]), null)
            for slot, c in enumerate(around):
                if c != null:
                    yield step(t, slot + 1, None, (c,))


def frozen_steps(
    architecture: Architecture, tables: Tables, tokens: NDArray[np.int32], row: int, how: Inference
) -> list[Step]:
    """What inference knows a document by: its own steps (no skip-gram) to the targets that count."""
    key = draws.stream(how.seed, Purpose.INFERENCE_NOISE, 0, architecture.is_dm)
    steps = document_steps(architecture, tables, tokens, row, key, draws.hash_tokens(tokens))
    counted = how.part.positions(len(tokens))
    return [step for step in steps if step.document is not None and step.position in counted]


def _noise(
    architecture: Architecture,
    tables: Tables,
    key: tuple[int, int],
    document: int,
    position: int,
    number: int,
) -> tuple[int, ...]:
    """The noise words of step `number` (0: the document's, 1...: the skip-gram slots') at a position."""
    if tables.noise is None:
        return ()
    blocks = (architecture.negative + 1) // 2
    where = np.array([position])
    numbers = np.concatenate([draws.draw(key, document, where, number * blocks + j)[0] for j in range(blocks)])
    pairs = numbers.reshape(-1, 2)[: architecture.negative]
    words = tables.noise.pick(draws.below(pairs[:, 0], tables.n_targets), pairs[:, 1])
    return tuple(int(w) for w in words)


# --- The engine -----------------------------------------------------------------------------------------------------


class ReferenceEngine:
    """Trains, infers and scores by the functions above."""

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        architecture = model.architecture
        batch: list[Step] = []
        total, count = 0.0, 0
        for step in self._steps(architecture, tables, corpus, work):
            batch.append(step)
            if len(batch) == architecture.batch_size:
                total += _apply(model, tables, batch)
                count += len(batch)
                batch = []
        total += _apply(model, tables, batch)
        return Tally(total, count + len(batch))

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """See :class:`paravec.engines.base.Engine`."""
        vectors = np.zeros((len(corpus), model.architecture.vector_size), dtype=np.float32)
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

    def _steps(self, architecture: Architecture, tables: Tables, corpus: Corpus, work: Pass) -> Iterator[Step]:
        sample, order, noise = (
            draws.stream(work.seed, purpose, work.epoch, architecture.is_dm)
            for purpose in (Purpose.SAMPLE, Purpose.TARGET_ORDER, Purpose.NOISE)
        )
        for document, rate in zip(work.order.tolist(), work.rates.tolist(), strict=True):
            tokens = corpus[document]
            kept = np.flatnonzero(draws.one_each(sample, document, len(tokens)) <= tables.keep[tokens])
            visits = None if architecture.is_dm else draws.shuffle(order, document, len(kept))
            yield from document_steps(architecture, tables, tokens, document, noise, document, rate, kept, visits)


def _apply(model: Model, tables: Tables, batch: list[Step]) -> float:
    """One step of gradient ascent on a batch: all gradients from the same parameters, then all updates."""
    total = sum(objective(model, tables, step) for step in batch)
    updates = [(step.rate, update) for step in batch for update in gradients(model, tables, step)]
    for rate, (array, rows, gradient) in updates:
        if array is model.words and model.trainable is not None and not model.trainable[rows]:
            continue
        np.add.at(array, rows, rate * gradient)
    return total


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
        total += (labels - neutral) @ (U / _norm(U)[:, None])[:, :p]
    length = np.linalg.norm(total)
    return total / length if length > 0 else np.eye(p)[0]  # the rows cancel out: any direction is as good
