"""The definition of a step: NumPy, one target at a time, in the words of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.architecture import Architecture
from paravec.draws import Purpose
from paravec.engines import rounding
from paravec.engines.base import Inference, Tables
from paravec.model import Model

Array = NDArray[Any]
LEAST_ERROR = 0.5  # what smaller errors are rounded to at random, or to 0: this at least, 1 at most, ...
FARTHEST = 2.0  # ... and so much that a step moves its own logit no farther
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
    turn: int = 0  # dm: its place among those that sub-sampling has left


# --- The input: h ---------------------------------------------------------------------------------------------------


def hidden(model: Model, step: Step) -> Array:
    """The vector h that predicts the target."""
    if step.document is None:
        return words_of(model)[step.context[0]]
    d = _documents(model)[step.document]
    if not model.architecture.is_dm:
        return d
    if model.architecture.combine == "concat":
        return np.concatenate([d, *(words_of(model)[c] for c in step.context)])
    total = d + sum(words_of(model)[c] for c in _known(model, step))
    return total / share(model, step)


def hidden_gradients(model: Model, step: Step, gradient: Array) -> Iterator[tuple[Array, int, Array]]:
    """From the gradient with respect to h: (array, row, gradient) for D and W."""
    if step.document is None:
        yield words_of(model), step.context[0], gradient
        return
    if not model.architecture.is_dm:
        yield _documents(model), step.document, gradient
        return
    p, q = model.architecture.vector_size, model.architecture.word_size
    if model.architecture.combine == "concat":
        yield _documents(model), step.document, gradient[:p]
        for slot, c in enumerate(step.context):
            yield words_of(model), c, gradient[p + slot * q : p + (slot + 1) * q]
        return
    gradient = gradient / share(model, step)
    yield _documents(model), step.document, gradient
    for c in _known(model, step):
        yield words_of(model), c, gradient


def _known(model: Model, step: Step) -> list[int]:
    """The context without NULL, which `mean` and `sum` leave out."""
    null = len(words_of(model)) - 1
    return [c for c in step.context if c != null]


def share(model: Model, step: Step) -> int:
    """What `mean` divides by: the known context words and the document itself."""
    return 1 + len(_known(model, step)) if model.architecture.combine == "mean" else 1


def _documents(model: Model) -> Array:
    assert model.documents is not None
    return model.documents


def words_of(model: Model) -> Array:
    """W, which the model must have."""
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
        return model.architecture.cosine_scale * y / (norm(model.outputs[rows]) * norm(h))
    return y if model.bias is None else y + model.bias[rows]


def objective(model: Model, tables: Tables, step: Step, h: Array | None = None, y: Array | None = None) -> float:
    """The log-likelihood of one target."""
    rows, labels = output_rows(model, tables, step)
    if y is None:
        y = logits(model, rows, hidden(model, step) if h is None else h)
    if model.architecture.output == "softmax":
        return float(y[step.target] - y.max() - np.log(np.exp(y - y.max()).sum()))
    return float(-np.logaddexp(0, np.where(labels > 0, -y, y)).sum())


@dataclass(frozen=True)
class Pulls:
    """What a step does: a row u of U learns `pull h - back u`, and h learns the sum of all `pull u` less `lean h`."""

    rows: NDArray[np.int64]
    h: Array
    error: Array  # the gradient with respect to the logits
    pull: Array
    back: Array | float  # cosine only: u and h keep their lengths
    lean: float


def pulls(
    model: Model,
    tables: Tables,
    step: Step,
    h: Array,
    errors: tuple[int, int] | None = None,
    y: Array | None = None,
) -> Pulls:
    """The numbers that all gradients of a step are made of; `errors` is the key that errors are drawn by."""
    rows, labels = output_rows(model, tables, step)
    if y is None:
        y = logits(model, rows, h)
    if model.architecture.output == "softmax":
        error = labels - np.exp(y - y.max()) / np.exp(y - y.max()).sum()
    else:
        error = labels - 1 / (1 + np.exp(-np.clip(y, -700, 700)))
    if errors is not None:
        least = least_error(step.rate, float(h @ h) + float(model.bias is not None))
        error = drawn(error, chances(model.architecture, errors, step, len(rows)), least)
    if model.architecture.logit == "dot":
        return Pulls(rows, h, error, error, 0.0, 0.0)
    u_norm, h_norm = norm(model.outputs[rows]), norm(h)
    along = error * y  # the scaled cosine times the error
    return Pulls(
        rows,
        h,
        error,
        model.architecture.cosine_scale * error / (u_norm * h_norm),
        along / u_norm**2,
        float(along.sum() / h_norm**2),
    )


def drawn(error: Array, chance: Array, least: float) -> Array:
    """Errors smaller than `least` rounded at random, to 0 or to it: in the mean, they are what they were."""
    size = np.abs(error)
    return np.where(size < least, np.sign(error) * least * (chance * least < size), error)


def least_error(rate: float, length: float) -> float:
    """What errors of a step are rounded to, where h, and the 1 of the bias, have this squared length."""
    farthest = rate * length
    return max(FARTHEST / farthest, LEAST_ERROR) if farthest > FARTHEST else 1.0


def chances(architecture: Architecture, key: tuple[int, int], step: Step, n_rows: int) -> Array:
    """What errors of a step are measured by: a number in [0, 1) for each of the rows that it needs.

    Nodes are told apart by their places on the path, noise words by their first places among those of the step, and the
    target stands behind them.
    """
    places = list(range(n_rows))
    if architecture.output == "negative":
        places = [architecture.negative, *(step.noise.index(word) for word in step.noise if word != step.target)]
    return (np.array([_number(key, step, place) for place in places]) >> 8) * 2.0**-24


def _number(key: tuple[int, int], step: Step, place: int) -> int:
    """The number of a place; four steps of a document share a block of numbers."""
    assert step.document is not None
    return int(draws.draw(key, step.document, np.array([step.turn // 4]), place)[0, step.turn % 4])


def round_learners(model: Model, step: Step, p: Pulls, key: tuple[int, int]) -> None:
    """Rounds the rows of U that a step has changed, if their numbers have 16 bits.

    The low bits of the number of the first place, which its chance leaves, are the line that the first row is rounded
    by; the next one is that of the next row. Noise words come before the target.
    """
    learners = {int(row) for row, pull in zip(p.rows, p.pull, strict=True) if pull != 0}
    rows = p.rows.tolist() if model.architecture.output == "hs" else dict.fromkeys((*step.noise, step.target))
    for line, row in enumerate((row for row in rows if row in learners), _number(key, step, 0) % rounding.PHASES):
        round_row(model, row, line)


def round_row(model: Model, row: int, line: int) -> None:
    """Rounds a row of U, and its bias, which stands behind it."""
    model.outputs[row] = rounding.rounded(model.outputs[row], line)
    if model.bias is not None:
        model.bias[[row]] = rounding.rounded(model.bias[[row]], line, model.outputs.shape[1])


def output_gradients(model: Model, p: Pulls) -> Iterator[tuple[Array, Any, Array]]:
    """(array, rows, gradient of the objective) for U and b."""
    U = model.outputs[p.rows]
    yield model.outputs, p.rows, np.outer(p.pull, p.h) - np.reshape(p.back, (-1, 1)) * U
    if model.bias is not None:
        yield model.bias, p.rows, p.error


def gradients(model: Model, tables: Tables, step: Step) -> Iterator[tuple[Array, Any, Array]]:
    """(array, rows, gradient of the objective) for everything a step touches. A row may come up more than once."""
    p = pulls(model, tables, step, hidden(model, step))
    gradient = p.pull @ model.outputs[p.rows] - p.lean * p.h
    yield from output_gradients(model, p)
    yield from hidden_gradients(model, step, gradient)


def norm(x: Array) -> Any:
    """The lengths of rows."""
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
    rate: float = 1.0,
    kept: NDArray[np.int64] | None = None,
    order: NDArray[np.int64] | None = None,
) -> Iterator[Step]:
    """The steps of a document, without noise words.

    `kept` positions are what sub-sampling left, `order` is how dbow visits them.
    """
    null = tables.n_words
    positions = np.arange(len(tokens)) if kept is None else kept
    targets = [int(tokens[i]) for i in positions]
    if architecture.is_dm:
        for t in predicted(architecture, len(targets)):
            context = contexts(architecture, targets, t, null)
            yield Step(targets[t], row, context, rate=rate, position=int(positions[t]), turn=t)
        return
    is_word = [target < null for target in targets]
    words = [target for target, is_one in zip(targets, is_word, strict=True) if is_one]
    for t in range(len(targets)) if order is None else order.tolist():
        yield Step(targets[t], row, (), rate=rate, position=int(positions[t]))
        if architecture.train_words and is_word[t]:
            for c in contexts(architecture, words, sum(is_word[:t]), null):
                if c != null:
                    yield Step(targets[t], None, (c,), rate=rate)


def frozen_steps(
    architecture: Architecture, tables: Tables, tokens: NDArray[np.int32], row: int, how: Inference
) -> list[Step]:
    """What inference knows a document by: its own steps (no skip-gram) to the targets that count."""
    key = draws.stream(how.seed, Purpose.INFERENCE_NOISE, 0, architecture.is_dm)
    name, counted = how.name_of(tokens), how.part.positions(len(tokens))
    return [
        replace(step, noise=noise_words(architecture, tables, key, name, step.position))
        for step in document_steps(architecture, tables, tokens, row)
        if step.document is not None and step.position in counted
    ]


def noise_words(
    architecture: Architecture, tables: Tables, key: tuple[int, int], document: int, position: int
) -> tuple[int, ...]:
    """The noise words at a position of a document (inference), or of a round of a run (training)."""
    if tables.noise is None:
        return ()
    blocks = (architecture.negative + 1) // 2
    where = np.array([position])
    numbers = np.concatenate([draws.draw(key, document, where, block)[0] for block in range(blocks)])
    pairs = numbers.reshape(-1, 2)[: architecture.negative]
    words = tables.noise.pick(draws.below(pairs[:, 0], tables.n_targets), pairs[:, 1])
    return tuple(int(w) for w in words)
