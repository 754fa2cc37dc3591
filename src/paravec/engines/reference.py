"""The definition: NumPy, one step at a time, in the words of the paper.

Slow on purpose. Every other engine draws the same samples and follows these steps.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import draws
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Inference, Pass, Tables, Tally, n_shares, run_ends, weight_of
from paravec.model import Model

Array = NDArray[Any]
TOGETHER = 4  # documents that learn together
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


def objective(model: Model, tables: Tables, step: Step, h: Array | None = None) -> float:
    """The log-likelihood of one target."""
    rows, labels = output_rows(model, tables, step)
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


def pulls(model: Model, tables: Tables, step: Step, h: Array) -> Pulls:
    """The numbers that all gradients of a step are made of."""
    rows, labels = output_rows(model, tables, step)
    y = logits(model, rows, h)
    if model.architecture.output == "softmax":
        error = labels - np.exp(y - y.max()) / np.exp(y - y.max()).sum()
    else:
        error = labels - 1 / (1 + np.exp(-np.clip(y, -700, 700)))
    if model.architecture.logit == "dot":
        return Pulls(rows, h, error, error, 0.0, 0.0)
    u_norm, h_norm = _norm(model.outputs[rows]), _norm(h)
    along = error * y  # the scaled cosine times the error
    return Pulls(
        rows,
        h,
        error,
        model.architecture.cosine_scale * error / (u_norm * h_norm),
        along / u_norm**2,
        float(along.sum() / h_norm**2),
    )


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
            yield Step(targets[t], row, context, rate=rate, position=int(positions[t]))
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
    name, counted = draws.hash_tokens(tokens), how.part.positions(len(tokens))
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


# --- Documents side by side -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Visits:
    """How often rows of U and W were read: noise words once a round, others once a step or entry into a window."""

    outputs: Array
    words: Array

    def count_round(self, noise: tuple[int, ...]) -> None:
        """The noise words of a round."""
        self.outputs[list(set(noise))] += 1

    def count_step(self, architecture: Architecture, tables: Tables, step: Step) -> None:
        """What a step needs besides."""
        if tables.paths is not None:
            self.outputs[
                tables.paths.nodes[tables.paths.offsets[step.target] : tables.paths.offsets[step.target + 1]]
            ] += 1
        elif step.target not in step.noise:
            self.outputs[step.target] += 1
        if step.document is None or architecture.combine == "concat":
            np.add.at(self.words, list(step.context), 1)


class Window:
    """The words around the target of a dm document with `mean` or `sum`.

    A word is copied when it enters the window to the left or to the right of the target, learns there, and what it
    learned is added to W when it leaves.
    """

    def __init__(self, model: Model, visits: Visits | None = None) -> None:
        slots = model.architecture.slots
        self._model, self._visits = model, visits
        self._places: dict[tuple[int, int], int] = {}  # (side, position): row of `words`
        self._free = list(range(slots))
        self._names = [0] * slots
        self._before = np.zeros((slots, model.architecture.word_size), dtype=_words(model).dtype)
        self.words = np.zeros((slots + 1, model.architecture.word_size), dtype=_words(model).dtype)  # and NULL
        self.trainable = np.ones(slots + 1, dtype=np.uint8)

    def slide(self, context: tuple[int, ...], position: int) -> tuple[int, ...]:
        """Lets words out and in, to have the context of a target; gives their places, slot by slot."""
        reach, null = self._model.architecture.window - 1, len(_words(self._model)) - 1
        wanted = {}
        for slot, word in enumerate(context):
            side = int(slot >= reach)
            if word != null:
                wanted[side, position + slot - reach + side] = word
        self.leave([place for place in self._places if place not in wanted])
        for where, word in wanted.items():
            if where not in self._places:
                place = self._places[where] = self._free.pop()
                self._names[place] = word
                self.words[place] = self._before[place] = _words(self._model)[word]
                if self._visits is not None:
                    self._visits.words[word] += 1
                self.trainable[place] = self._model.trainable is None or self._model.trainable[word]
        return tuple(self._places[where] for where in wanted)

    def leave(self, places: Iterable[tuple[int, int]] | None = None) -> None:
        """Writes words back: those at some places, or all of them."""
        for where in list(self._places) if places is None else places:
            place = self._places.pop(where)
            _words(self._model)[self._names[place]] += self.words[place] - self._before[place]
            self._free.append(place)


class Lane:
    """A document among those that are trained side by side."""

    def __init__(self, model: Model, steps: Iterable[Step], visits: Visits | None = None) -> None:
        has_window = model.architecture.is_dm and model.architecture.combine != "concat"
        self._window = Window(model, visits) if has_window else None
        self._steps = list(steps)
        self._at = 0
        self.model = model  # with the words of the window for W, if there is one
        if self._window is not None:
            self.model = replace(model, words=self._window.words, trainable=self._window.trainable)

    @property
    def at_end(self) -> bool:
        """Whether no step is left."""
        return self._at == len(self._steps)

    def next(self, noise: tuple[int, ...]) -> Step:
        """The next step, ready to be taken."""
        step = replace(self._steps[self._at], noise=noise)
        self._at += 1
        return step if self._window is None else replace(step, context=self._window.slide(step.context, self._at))

    def close(self) -> None:
        """After the last step."""
        if self._window is not None:
            self._window.leave()


class Share:
    """A run of deterministic training: U, W and b of its own, whose changes are added up later."""

    def __init__(self, model: Model) -> None:
        self._before = model.weights()
        self.model = replace(
            model,
            outputs=model.outputs.copy(),
            words=None if model.words is None else model.words.copy(),
            bias=None if model.bias is None else model.bias.copy(),
        )
        self.visits = Visits(np.zeros(len(model.outputs)), np.zeros(0 if model.words is None else len(model.words)))

    def add_to(self, model: Model, shares: int) -> None:
        """Adds what was learned to the model."""
        outputs, words = weight_of(self.visits.outputs, shares), weight_of(self.visits.words, shares)
        model.outputs += outputs[:, None] * (self.model.outputs - self._before.outputs)
        if model.bias is not None:
            assert self.model.bias is not None
            assert self._before.bias is not None
            model.bias += outputs * (self.model.bias - self._before.bias)
        if model.words is not None:
            assert self.model.words is not None
            assert self._before.words is not None
            model.words += words[:, None] * (self.model.words - self._before.words)


# --- The engine -----------------------------------------------------------------------------------------------------


class ReferenceEngine:
    """Trains, infers and scores by the functions above."""

    def __init__(self, deterministic: bool = False) -> None:
        self.deterministic = deterministic

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        documents = self._documents(model.architecture, tables, corpus, work)
        if model.architecture.output == "softmax":
            return _train_in_a_row(model, tables, [step for steps in documents for step in steps])
        key = draws.stream(work.seed, Purpose.NOISE, work.epoch, model.architecture.is_dm)
        lengths = corpus.lengths[work.order]
        ends = run_ends(lengths)
        runs = list(zip([0, *ends], ends, strict=False))
        tokens = [int(lengths[begin:end].sum()) for begin, end in runs]
        shares = n_shares(model.architecture, tables.n_targets, tokens) if self.deterministic and runs else 1
        tallies = []
        for i in range(0, len(runs), shares):
            together = [Share(model) for _ in runs[i : i + shares]] if self.deterministic else []
            for number, (begin, end) in enumerate(runs[i : i + shares]):
                at, visits = (together[number].model, together[number].visits) if together else (model, None)
                first = int(work.order[begin])
                tallies.append(_train_side_by_side(at, tables, documents[begin:end], key, first, visits))
            for share in together:
                share.add_to(model, len(together))
        return Tally(sum(tally.objective for tally in tallies), sum(tally.targets for tally in tallies))

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


def _train_in_a_row(model: Model, tables: Tables, steps: list[Step]) -> Tally:
    """The exact softmax: `batch_size` steps at once, whatever documents they come from."""
    size, total = model.architecture.batch_size, 0.0
    for i in range(0, len(steps), size):
        batch = steps[i : i + size]
        total += sum(objective(model, tables, step) for step in batch)
        found = [(step.rate, each) for step in batch for each in gradients(model, tables, step)]
        for rate, (array, rows, gradient) in found:
            _add(model, array, rows, rate * gradient)
    return Tally(total, len(steps))


def _train_side_by_side(
    model: Model,
    tables: Tables,
    documents: list[list[Step]],
    key: tuple[int, int],
    first: int,
    visits: Visits | None = None,
) -> Tally:
    """The documents of a run, `batch_size` of them side by side: a round takes the next step of each.

    The noise words of a round are common to its steps, and keyed by the number of the round and the first document.
    """
    waiting = deque(documents)
    lanes: list[Lane | None] = [None] * model.architecture.batch_size
    total, count = 0.0, 0
    for number in itertools.count():
        for i, lane in enumerate(lanes):
            while lane is None and waiting:
                opened = Lane(model, waiting.popleft(), visits)
                lanes[i] = lane = None if opened.at_end else opened
        active = [lane for lane in lanes if lane is not None]
        if not active:
            break
        noise = noise_words(model.architecture, tables, key, first, number)
        if visits is not None:
            visits.count_round(noise)
        for i in range(0, len(active), TOGETHER):
            steps = [(lane.model, lane.next(noise)) for lane in active[i : i + TOGETHER]]
            if visits is not None:
                for _, step in steps:
                    visits.count_step(model.architecture, tables, step)
            total += _learn_together(tables, steps)
        count += len(active)
        for i, lane in enumerate(lanes):
            if lane is not None and lane.at_end:
                lane.close()
                lanes[i] = None
    return Tally(total, count)


def _learn_together(tables: Tables, steps: list[tuple[Model, Step]]) -> float:
    """From D and W as they are now, U learns step by step; in the end D and W learn."""
    total = 0.0
    inputs = [hidden(model, step) for model, step in steps]
    found = []
    for (model, step), h in zip(steps, inputs, strict=True):
        total += objective(model, tables, step, h)
        p = pulls(model, tables, step, h)
        gradient = p.pull @ model.outputs[p.rows] - p.lean * h
        found += [(model, step.rate, each) for each in hidden_gradients(model, step, gradient)]
        for array, rows, change in output_gradients(model, p):
            _add(model, array, rows, step.rate * change)
    for model, rate, (array, rows, change) in found:
        _add(model, array, rows, rate * change)
    return total


def _add(model: Model, array: Array, rows: Any, change: Array) -> None:
    """Adds to rows of an array, one of which may come up more than once; rows of W that are frozen stay."""
    if array is not model.words or model.trainable is None or model.trainable[rows]:
        np.add.at(array, rows, change)


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
