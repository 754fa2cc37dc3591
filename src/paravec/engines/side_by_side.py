"""The definition of training: which steps are taken together, and when what they learned is seen."""

from __future__ import annotations

import itertools
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.architecture import Architecture
from paravec.engines import rounding
from paravec.engines.base import Crowd, Tables, Tally, batch_ends, weight_of
from paravec.engines.steps import (
    Array,
    Pulls,
    Step,
    gradients,
    hidden,
    hidden_gradients,
    logits,
    noise_words,
    objective,
    output_gradients,
    output_rows,
    pulls,
    round_learners,
    round_row,
    share,
    words_of,
)
from paravec.model import Model

TOGETHER = 4  # documents that learn together
WAYS = 32  # of one document through the tree, learned together


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
        if step.document is None:
            np.add.at(self.words, list(step.context), 1)


class Window:
    """The words around the target of a dm document; with `concat`, NULL where there is none.

    A word is copied when it enters the window to the left or to the right of the target, learns there, and what it
    learned is added to W when it leaves.
    """

    def __init__(self, model: Model, visits: Visits | None = None) -> None:
        slots = model.architecture.slots
        self._model, self._visits = model, visits
        self._places: dict[tuple[int, int], int] = {}  # (side, position): row of `words`
        self._free = list(range(slots))
        self._names = [0] * slots
        self._before = np.zeros((slots, model.architecture.word_size), dtype=words_of(model).dtype)
        self.words = np.zeros((slots + 1, model.architecture.word_size), dtype=words_of(model).dtype)  # and NULL
        self.trainable = np.ones(slots + 1, dtype=np.uint8)

    def slide(self, context: tuple[int, ...], position: int) -> tuple[int, ...]:
        """Lets words out and in, to have the context of a target; gives their places, slot by slot."""
        reach, null = self._model.architecture.window - 1, len(words_of(self._model)) - 1
        has_null = self._model.architecture.combine == "concat"
        wanted = {}
        for slot, word in enumerate(context):
            side = int(slot >= reach)
            if word != null or has_null:
                wanted[side, position + slot - reach + side] = word
        self.leave([place for place in self._places if place not in wanted])
        for where, word in wanted.items():
            if where not in self._places:
                place = self._places[where] = self._free.pop()
                self._names[place] = word
                self.words[place] = self._before[place] = words_of(self._model)[word]
                if self._visits is not None:
                    self._visits.words[word] += 1
                self.trainable[place] = self._model.trainable is None or self._model.trainable[word]
        return tuple(self._places[where] for where in wanted)

    def leave(self, places: Iterable[tuple[int, int]] | None = None) -> None:
        """Writes words back: those at some places, or all of them."""
        for where in list(self._places) if places is None else places:
            place = self._places.pop(where)
            words_of(self._model)[self._names[place]] += self.words[place] - self._before[place]
            self._free.append(place)


class Lane:
    """A document among those that are trained side by side."""

    def __init__(self, model: Model, steps: Iterable[Step], visits: Visits | None = None) -> None:
        self._window = Window(model, visits) if model.architecture.is_dm else None
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

    def add_to(self, model: Model, shares: int, run: int) -> None:
        """Adds what was learned to the model, by the run of that number."""
        outputs, words = weight_of(self.visits.outputs, shares), weight_of(self.visits.words, shares)
        model.outputs += outputs[:, None] * (self.model.outputs - self._before.outputs)
        if model.bias is not None:
            assert self.model.bias is not None
            assert self._before.bias is not None
            model.bias += outputs * (self.model.bias - self._before.bias)
        if model.architecture.half:
            for row in range(len(model.outputs)):
                round_row(model, row, row + run)
        if model.words is not None:
            assert self.model.words is not None
            assert self._before.words is not None
            model.words += words[:, None] * (self.model.words - self._before.words)


def train_in_a_row(model: Model, tables: Tables, documents: list[list[Step]], crowd: Crowd | None) -> Tally:
    """The exact softmax: `batch_size` steps at once, whatever documents they come from.

    In a crowd (on a GPU, where batches are large) documents take turns, step by step, and busy rows take a part of
    every change.
    """
    size, total = model.architecture.batch_size, 0.0
    ordered = documents if crowd is None else itertools.zip_longest(*documents)
    steps = [step for some in ordered for step in some if step is not None]
    ends = [*range(size, len(steps), size), len(steps)]
    if crowd is not None:
        ends = batch_ends(np.array([len(each) for each in documents], dtype=np.int64), size)
    for first, end in itertools.pairwise([0, *ends]):
        total += _learn_at_once(model, tables, steps[first:end], crowd)
    return Tally(total, len(steps))


def train_one_by_one(
    model: Model, tables: Tables, documents: list[list[Step]], key: tuple[int, int], first: int, crowd: Crowd
) -> Tally:
    """The documents of a run one after another, with the noise words that they would have side by side: the GPU.

    There, documents that are in flight together add to the same U and W, and busy rows take a part of every change.
    Errors are never drawn: it would spare nothing.
    """
    total, count = 0.0, 0
    free = [0] * model.architecture.batch_size
    for steps in documents:
        seat = free.index(min(free))
        for number, step in enumerate(steps, free[seat]):
            noise = noise_words(model.architecture, tables, key, first, number)
            total += _learn_at_once(model, tables, [replace(step, noise=noise)], crowd)
        free[seat] += len(steps)
        count += len(steps)
    return Tally(total, count)


def train_side_by_side(
    model: Model,
    tables: Tables,
    documents: list[list[Step]],
    key: tuple[int, int],
    first: int,
    visits: Visits | None = None,
    errors: tuple[int, int] | None = None,
) -> Tally:
    """The documents of a run, `batch_size` of them side by side: a round takes the next step of each.

    The noise words of a round are common to its steps, and keyed by the number of the round and the first document.
    `errors` is the key that errors are drawn by, if they are.
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
            total += _learn_together(tables, steps, errors)
        count += len(active)
        for i, lane in enumerate(lanes):
            if lane is not None and lane.at_end:
                lane.close()
                lanes[i] = None
    return Tally(total, count)


def train_by_ways(model: Model, tables: Tables, documents: list[list[Step]], visits: Visits | None = None) -> Tally:
    """Documents one after another, some steps of each at a time: dbow with the tree."""
    total, count = 0.0, 0
    for steps in documents:
        for first in range(0, len(steps), WAYS):
            total += _learn_ways(model, tables, steps[first : first + WAYS], visits)
        count += len(steps)
    return Tally(total, count)


def _learn_ways(model: Model, tables: Tables, steps: list[Step], visits: Visits | None) -> float:
    """Some steps of one document: each node learns as often as they visit it, and in the end the document learns.

    Visits that want 1 of a node and visits that want 0 take turns, as evenly as their numbers allow.
    """
    h, rate, wanted = hidden(model, steps[0]), steps[0].rate, defaultdict[int, list[float]](list)
    for step in steps:
        if visits is not None:
            visits.count_step(model.architecture, tables, step)
        for node, label in zip(*output_rows(model, tables, step), strict=True):
            wanted[int(node)].append(float(label))
    total, learned = 0.0, np.zeros_like(h)
    for node, labels in wanted.items():
        for label in _evenly(len(labels), round(sum(labels))):
            y = float(logits(model, np.array([node]), h)[0])
            total -= float(np.logaddexp(0, -y if label else y))
            change = rate * (label - 1 / (1 + np.exp(-np.clip(y, -700, 700))))
            learned += change * model.outputs[node]
            model.outputs[node] += change * h
            if model.bias is not None:
                model.bias[node] += change
    for array, at, change in hidden_gradients(model, steps[0], learned):
        _add(model, array, at, change)
    return total


def _evenly(count: int, ones: int) -> Iterator[int]:
    """So many ones among so many numbers, spread evenly."""
    turn = count / 2
    for _ in range(count):
        turn += ones
        yield int(turn >= count)
        if turn >= count:
            turn -= count


class Halves:
    """The logits of steps that are taken together, where numbers of U have 16 bits: so have those of h, for products.

    With noise words, the products are those of U before the first of these steps, and what its rows learn meanwhile is
    added, as it was before it was rounded.
    """

    def __init__(self) -> None:
        self._before: dict[int, Array] = {}
        self._learned: dict[int, Array] = {}

    def logits(self, model: Model, rows: NDArray[np.int64], step: Step, h: Array) -> Array:
        """Of some rows, before the next step."""
        x = _halved(model, step, h)
        y: Array = np.array([self._before.get(row, model.outputs[row]) for row in rows.tolist()]) @ x
        y += np.array([self._learned[row] @ x if row in self._learned else 0.0 for row in rows.tolist()])
        return y if model.bias is None else y + model.bias[rows] * _halved(model, step, np.ones(1))

    def learn(self, model: Model, step: Step, p: Pulls, errors: tuple[int, int]) -> None:
        """U learns from a step, and is rounded."""
        if model.architecture.output == "negative":
            for row, pull in zip(p.rows.tolist(), p.pull, strict=True):
                self._learned[row] = self._learned.get(row, 0.0) + step.rate * pull * _halved(model, step, p.h)
                self._before.setdefault(row, model.outputs[row].copy())
        for array, rows, change in output_gradients(model, p):
            _add(model, array, rows, step.rate * change)
        round_learners(model, step, p, errors)


def _halved(model: Model, step: Step, h: Array) -> Array:
    """Numbers of h for products: a mean is divided after that."""
    parts = share(model, step)
    return rounding.nearest(parts * h) / parts


def _learn_together(tables: Tables, steps: list[tuple[Model, Step]], errors: tuple[int, int] | None) -> float:
    """From D and W as they are now, U learns step by step; in the end D and W learn."""
    total = 0.0
    inputs = [hidden(model, step) for model, step in steps]
    found = []
    halves = Halves() if steps[0][0].architecture.half else None
    for (model, step), h in zip(steps, inputs, strict=True):
        y = None if halves is None else halves.logits(model, output_rows(model, tables, step)[0], step, h)
        total += objective(model, tables, step, h, y)
        p = pulls(model, tables, step, h, errors, y)
        gradient = p.pull @ model.outputs[p.rows] - p.lean * h
        found += [(model, step.rate, each) for each in hidden_gradients(model, step, gradient)]
        if halves is not None and errors is not None:
            halves.learn(model, step, p, errors)
            continue
        for array, rows, change in output_gradients(model, p):
            _add(model, array, rows, step.rate * change)
    for model, rate, (array, rows, change) in found:
        _add(model, array, rows, rate * change)
    return total


def _learn_at_once(model: Model, tables: Tables, steps: list[Step], crowd: Crowd | None) -> float:
    """Everything learns from all parameters as they are now; in a crowd, busy rows take a part of their changes."""
    total = sum(objective(model, tables, step) for step in steps)
    found = [(step.rate, each) for step in steps for each in gradients(model, tables, step)]
    for rate, (array, rows, change) in found:
        part: Any = 1.0
        if crowd is not None and array is model.words:
            part = crowd.words[rows]
        elif crowd is not None and array is not model.documents:
            part = crowd.outputs[rows]
        _add(model, array, rows, rate * (part * change.T).T)
    return total


def _add(model: Model, array: Array, rows: Any, change: Array) -> None:
    """Adds to rows of an array, one of which may come up more than once; rows of W that are frozen stay."""
    if array is not model.words or model.trainable is None or model.trainable[rows]:
        np.add.at(array, rows, change)
