"""What an engine is asked to do. It knows nothing of files, text or scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import hash_tokens
from paravec.huffman import Paths, huffman
from paravec.model import Model, is_finite
from paravec.vocab import Noise, Vocabulary, keep_thresholds

RUN_TOKENS, RUN_DOCUMENTS, LONG_RUN = 1 << 14, 32, 1 << 17
MOST_SHARES, RUNS_A_SHARE, ROOM_OF_SHARES, MANY_VISITS = 16, 8, 1 << 30, 32
A_CROWD = 10  # visits at one moment whose changes, added up, a row still takes nearly whole
STEPS_AT_ONCE = 16  # of one document in a large batch of the exact softmax, at most
FULL_EVIDENCE = 50  # targets of a document after which `infer_l2` has doubled


@dataclass(frozen=True)
class Tables:
    """What the steps need to know of the vocabulary."""

    n_words: int
    counts: NDArray[np.int64]
    keep: NDArray[np.uint32]
    noise: Noise | None
    paths: Paths | None

    @staticmethod
    def of(architecture: Architecture, vocabulary: Vocabulary, sample: float) -> Tables:
        """The tables of one model. A dm model predicts words only, whatever n-grams the vocabulary has."""
        size = len(vocabulary.words) if architecture.is_dm else vocabulary.size
        counts = vocabulary.counts[:size]
        return Tables(
            n_words=len(vocabulary.words),
            counts=counts,
            keep=keep_thresholds(counts, sample),
            noise=Noise.of(counts) if architecture.output == "negative" else None,
            paths=huffman(counts) if architecture.output == "hs" else None,
        )

    @property
    def n_targets(self) -> int:
        """How many words and n-grams can be predicted."""
        return len(self.keep)


@dataclass(frozen=True)
class Crowd:
    """What part of every change rows of U and W take on a device that has many documents in flight.

    All of them start from the same row, and what they want of it, added up, would overshoot. If `others` more arrive at
    the same moment, each counts for 1 / sqrt(1 + (others / A_CROWD)^2): up to `A_CROWD` of them are taken nearly whole,
    and of any number no more than of `A_CROWD`. Alone, it takes all. (The part must not depend on the step: errors that
    balance each other would no longer do so.)
    """

    outputs: NDArray[np.float32]
    words: NDArray[np.float32]

    @staticmethod
    def of(architecture: Architecture, tables: Tables, n_documents: int, at_once: int) -> Crowd:
        """For a corpus of so many documents, of which `at_once` are in flight."""
        visits = Crowd.visits(architecture, tables, n_documents)
        return Crowd(*(Crowd.part(each, at_once).astype(np.float32) for each in visits))

    @staticmethod
    def part(visits: Any, at_once: Any) -> Any:
        """Of rows with so many visits a step, in an array of NumPy's or a tensor."""
        return (1 + ((at_once - 1) * visits / A_CROWD) ** 2) ** -0.5

    @staticmethod
    def visits(
        architecture: Architecture, tables: Tables, n_documents: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How often a step visits each row of U and of W, by how often words occur."""
        often = tables.counts / tables.counts.sum()
        if tables.paths is not None:
            rows = architecture.n_outputs(tables.n_targets)
            passing = np.repeat(often, np.diff(tables.paths.offsets))
            visits: NDArray[Any] = np.bincount(tables.paths.nodes, weights=passing, minlength=rows)
        elif architecture.output == "softmax":
            visits = often
        else:
            noise = tables.counts**0.75
            visits = often + architecture.negative * noise / noise.sum()
        total = tables.counts[: tables.n_words].sum()
        slots = architecture.slots if architecture.is_dm else 1
        # NULL stands where windows reach beyond their documents, whose lengths may be larger than a window, or less.
        beyond = architecture.slots * architecture.window / 2 if architecture.pad == "all" else architecture.slots
        null = min(float(slots), n_documents * beyond / total)
        return visits, np.append(slots * tables.counts[: tables.n_words] / total, null)


@dataclass(frozen=True)
class Pass:
    """One pass over some documents: in which order, and the learning rate at each."""

    seed: int
    epoch: int
    order: NDArray[np.int64]
    rates: NDArray[np.float32]


@dataclass(frozen=True)
class Tally:
    """The sum of the objective (log-likelihood) over some targets, and their number."""

    objective: float
    targets: int


class Part(Enum):
    """Which targets of a document count, by their position among its tokens. All of them remain context words."""

    ALL = "all"
    EVEN = "even"
    ODD = "odd"

    def positions(self, n: int) -> range:
        """Those of a document of n tokens."""
        return range(1 if self is Part.ODD else 0, n, 1 if self is Part.ALL else 2)


@dataclass(frozen=True)
class Inference:
    """How new documents are inferred, and from which of their targets.

    `l2` is that of an empty document, and grows with the tokens that count (`l2_of`). If noise words are `common`, all
    documents have the same at a position. Without `context` a dm model predicts by the document alone
    (:meth:`paravec.model.Model.alone`), and the vectors are those of h: a mean has a part of d in it.
    """

    seed: int
    tol: float
    max_iter: int
    l2: float
    part: Part = Part.ALL
    common: bool = True
    context: bool = True

    def name_of(self, tokens: NDArray[np.int32]) -> int:
        """What noise words of a document are drawn by."""
        return 0 if self.common else hash_tokens(tokens)

    def l2_of(self, n_targets: Any) -> Any:
        """The words of a text repeat each other, the more the longer it is, so the weight of |d|^2 grows with them."""
        return self.l2 * (1 + n_targets / FULL_EVIDENCE)


def run_ends(lengths: NDArray[np.int64]) -> list[int]:
    """Where the runs of a pass end: documents trained side by side, enough of them unless they are long."""
    ends: list[int] = []
    sums = np.cumsum(lengths)
    while (begin := ends[-1] if ends else 0) < len(lengths):
        before = sums[begin - 1] if begin else 0
        enough, too_many = np.searchsorted(sums, [before + RUN_TOKENS, before + LONG_RUN]).tolist()
        ends.append(min(max(enough, begin + RUN_DOCUMENTS - 1), too_many, len(lengths) - 1) + 1)
    return ends


def batch_ends(steps: NDArray[np.int64], size: int) -> list[int]:
    """Where the batches of documents end that have so many steps each and take turns, one step a turn.

    `size` steps; fewer where few documents are left, of which a batch would take more than `STEPS_AT_ONCE` each.
    """
    still = len(steps) - np.cumsum(np.bincount(steps, minlength=1))  # documents that take part in each turn
    turn_ends = np.cumsum(still[still > 0])
    ends = [0]
    while len(turn_ends) and ends[-1] < turn_ends[-1]:
        turn = int(np.searchsorted(turn_ends, ends[-1], side="right"))
        ends.append(min(ends[-1] + size, int(turn_ends[min(turn + STEPS_AT_ONCE, len(turn_ends)) - 1])))
    return ends[1:]


def n_shares(architecture: Architecture, n_targets: int, runs: list[int]) -> int:
    """How many runs deterministic training starts from the same U and W, given the tokens of each run.

    Few where there are few, so that a small corpus is learned from as often; and no more than there is room for the
    rows that they change.
    """
    stride = padded(architecture.width + int(architecture.output == "hs" and architecture.has_bias))
    stride += padded(architecture.word_size) if architecture.has_words else 0
    room = ROOM_OF_SHARES // (4 * stride * max(1, min(n_targets, max(runs))))
    return max(1, min(len(runs) // RUNS_A_SHARE, room, MOST_SHARES))


def weight_of(visits: NDArray[np.int64], shares: int) -> NDArray[np.float64]:
    """What part of its change to a row one of several shares adds.

    A row goes a part of the rest of its way at every visit. If `left` is the part that is left after the visits of one
    share, left^n is after those of n, one after another; and that is how far the sum of their changes, each from the
    same start, may go. Few visits: all of it; many: the mean.
    """
    left = np.exp(-np.maximum(visits, 1e-9) / MANY_VISITS)
    weights: NDArray[np.float64] = (1 - left**shares) / (shares * (1 - left))
    return weights


def pieces(sizes: NDArray[Any], most: int) -> list[tuple[int, int]]:
    """Documents of such sizes in pieces of about `most` together, whole documents each: where they begin and end."""
    number = (np.cumsum(sizes) - sizes) // max(1, most)
    ends = [*(np.flatnonzero(np.diff(number)) + 1).tolist(), len(sizes)]
    return [(first, end) for first, end in pairwise([0, *ends]) if end > first]


def padded(columns: int) -> int:
    """The length of a row in memory, so that the next one begins at a whole line of the cache."""
    return -(-columns // 16) * 16


class OnHost:
    """What engines have in common that work on the arrays of the model themselves."""

    words_at_once = 1 << 21

    def slices_at_once(self, architecture: Architecture) -> int:
        """See :class:`Engine`."""
        return 1

    def settle(self, model: Model) -> None:
        """See :class:`Engine`."""

    def release(self) -> None:
        """See :class:`Engine`."""

    def is_finite(self, model: Model) -> bool:
        """See :class:`Engine`."""
        return is_finite(model.outputs)


class Engine(Protocol):
    """Who does the arithmetic."""

    words_at_once: int  # in inference

    def slices_at_once(self, architecture: Architecture) -> int:
        """How many slices of an epoch it wants, so that there is work enough for all that can be busy together."""
        ...

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """Visits the documents of `work` once each and updates the model in place, at the latest when it settles."""
        ...

    def settle(self, model: Model) -> None:
        """After this, the arrays of the model are what training has made of them."""
        ...

    def release(self) -> None:
        """Gives back what is held for models that are settled."""
        ...

    def is_finite(self, model: Model) -> bool:
        """Whether no output weight is NaN or infinite, settled or not."""
        ...

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """A vector for every document of the corpus, with W, U and b frozen; zero where no target counts."""
        ...

    def score(
        self, model: Model, corpus: Corpus, tables: Tables, how: Inference, vectors: NDArray[np.float32]
    ) -> Tally:
        """The objective, without L2, of the targets of ``how.part`` at the given vectors, a row a document.

        Noise words are those that inference draws, skip-gram has no part in it, and the value is the same to the bit
        whoever shares the work.
        """
        ...
