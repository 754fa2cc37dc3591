"""Training with noise words or along the tree."""

from __future__ import annotations

from dataclasses import replace

import torch
import triton

from paravec import draws
from paravec.architecture import Architecture
from paravec.draws import Purpose
from paravec.engines.base import Tables, Tally
from paravec.engines.gpu.held import Held, Source, Tensor
from paravec.engines.gpu.kernels import documents as kernels
from paravec.engines.gpu.passes import Steps, as_key, steps_of

_NODES = 8  # of a path that are looked at together
_TILE = 1 << 14  # numbers of U that a program looks at together ...
_NUMBERS_A_WARP = 1024  # ... and those that a warp has of them; twice as many where sums over rows are many
_WARPS_IN_FLIGHT = 24  # of a multiprocessor, by the registers that training takes
_STEPS_AHEAD = 4  # that a program of one warp has taken before its changes are seen
_LAUNCHES = 16  # of a pass over a small corpus: what is in flight together has learned nothing from the others
EXACT_LAUNCHES, DOCUMENTS_AT_ONCE, TARGETS_AT_ONCE = 64, 4096, 32  # at least, and at most in one that can be repeated


def train_documents(
    held: Held, tables: Tables, architecture: Architecture, source: Source, exact: bool = False
) -> Tally:
    """Visits the documents of a pass once each: in one launch, or in many that can be repeated to the bit."""
    steps = steps_of(held, architecture, tables.n_words, source)
    count = len(steps.rows)
    objectives = torch.zeros(count, dtype=torch.float64, device=held.device)
    counts = torch.zeros(count, dtype=torch.int64, device=held.device)
    launch = Launch(held, tables, architecture, source, exact)
    programs = programs_at_once(held.device, launch.warps)
    together = count if count >= _LAUNCHES * programs else _sixteens(count // _LAUNCHES)
    if exact:
        together = min(DOCUMENTS_AT_ONCE, _sixteens(count // EXACT_LAUNCHES))
    together = max(1, together)
    for first in range(0, count, together):
        some = slice(first, first + together)
        block = steps.some(some)
        if not exact:
            others = (min(len(block.rows), programs) - 1) * max(1, _STEPS_AHEAD // launch.warps)
            launch(block, objectives[some], counts[some], held.crowd(architecture, tables, 1 + others))
            continue
        begins, ends, firsts = block.begins, block.ends, block.firsts
        for _ in range(-(-int((ends - begins).max()) // TARGETS_AT_ONCE)):
            until = torch.minimum(begins + TARGETS_AT_ONCE, ends)
            at_once = torch.clamp(until - begins, min=0).sum() * (1 + architecture.slots * architecture.train_words)
            now = replace(block, begins=begins, ends=until, firsts=firsts + counts[some])
            launch(now, objectives[some], counts[some], held.crowd(architecture, tables, at_once))
            launch.add_changes()
            begins = begins + TARGETS_AT_ONCE
    return Tally(float(objectives.sum()), int(counts.sum()))


def _sixteens(n: int) -> int:
    """About so many, in steps that leave lists aligned: else kernels would be compiled again."""
    return max(16, n // 16 * 16)


class Launch:
    """How the kernel of a model is called."""

    def __init__(self, held: Held, tables: Tables, architecture: Architecture, source: Source, exact: bool) -> None:
        self.held, self.tables, self.architecture, self.source, self.exact = held, tables, architecture, source, exact
        self.columns = triton.next_power_of_2(architecture.width)
        most = triton.next_power_of_2(architecture.negative + 1) if architecture.output == "negative" else _NODES
        self.rows = max(1, min(most, _TILE // self.columns))
        numbers = _NUMBERS_A_WARP * (2 if architecture.logit == "cosine" else 1)
        self.warps = max(1, min(16, self.rows * self.columns // numbers))
        work = source.work
        self.key = as_key(draws.stream(work.seed, Purpose.NOISE, work.epoch, architecture.is_dm))
        self._added = int(work.order[0]) << 20 if len(work.order) else 0  # another number for every launch of an epoch

    def __call__(self, steps: Steps, objectives: Tensor, counts: Tensor, parts: tuple[Tensor, Tensor]) -> None:
        """Trains the documents of a list."""
        p, lists, a = self.held.parameters, self.held.lists, self.architecture
        none = lists.alias
        changes = [self.held.changes(name) if self.exact else none for name in ("words", "outputs", "bias")]
        if not len(steps.rows):
            return
        kernels.train_documents[(len(steps.rows),)](
            steps.tokens, steps.spots, steps.words,
            steps.rows, steps.rates, steps.begins, steps.ends, steps.lows, steps.highs, steps.names, steps.firsts,
            self.source.documents,
            none if p.words is None else p.words,
            p.outputs,
            none if p.bias is None else p.bias,
            none if p.trainable is None else p.trainable,
            *changes, *parts,
            0 if p.words is None else p.words.stride(0),
            p.outputs.stride(0),
            lists.threshold, lists.alias, lists.path_offsets, lists.path_nodes, lists.path_codes,
            objectives, counts, self.key, self.tables.n_targets, self.tables.n_words, a.cosine_scale,
            P=a.vector_size, Q=a.word_size, WIDTH=a.width, COLS=self.columns, ROWS=self.rows,
            SLOTS=a.slots, REACH=a.window - 1, KIND=kind_of(a), NEGATIVE=a.negative, COSINE=a.logit == "cosine",
            BIAS=p.bias is not None, FROZEN=p.trainable is not None, EXACT=self.exact, HALF=half(p.outputs),
            num_warps=self.warps,
        )  # fmt: skip

    def add_changes(self) -> None:
        """Brings in what an exact launch has added up."""
        self._added += 1
        for name in ("words", "outputs", "bias"):
            array = getattr(self.held.parameters, name)
            if array is not None:
                changes, block = self.held.changes(name), 1024
                kernels.add_changes[(-(-len(changes) // block),)](
                    array, changes, len(changes), mixed(self.key, self._added), HALF=half(array), BLOCK=block
                )


def mixed(key: int, number: int) -> int:
    """31 bits of a key and a number, with no likeness between near numbers."""
    value = (key ^ number * 0x9E3779B97F4A7C15) % 2**64
    value = (value ^ value >> 31) * 0xBF58476D1CE4E5B9 % 2**64
    return value >> 33


def half(array: Tensor) -> int:
    """Whether numbers have 16 bits: 1, or 2 in Triton's interpreter, which cannot add to them."""
    return 0 if array.dtype != torch.bfloat16 else 1 if array.is_cuda else 2


def programs_at_once(device: torch.device, warps: int) -> int:
    """How many programs of so many warps a device may have in flight."""
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count) * max(1, _WARPS_IN_FLIGHT // warps)


def kind_of(architecture: Architecture) -> int:
    """What h is made of, as kernels name it."""
    if architecture.is_dm:
        return int({"concat": kernels.CONCAT, "mean": kernels.MEAN, "sum": kernels.SUM}[architecture.combine].value)
    return int((kernels.SKIP_GRAM if architecture.train_words else kernels.DBOW).value)
