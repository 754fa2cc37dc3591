"""Training with noise words or along the tree: one launch for a pass."""

from __future__ import annotations

import torch
import triton

from paravec import draws
from paravec.architecture import Architecture
from paravec.draws import Purpose
from paravec.engines.base import Tables, Tally
from paravec.engines.gpu.held import Held, Source
from paravec.engines.gpu.kernels import documents as kernels
from paravec.engines.gpu.passes import as_key, steps_of

_NODES = 8  # of a path that are looked at together
_TILE = 1 << 14  # numbers of U that a program looks at together ...
_NUMBERS_A_WARP = 1024  # ... and those that a warp has of them
_WARPS_IN_FLIGHT = 24  # of a multiprocessor, by the registers that training takes


def train_documents(held: Held, tables: Tables, architecture: Architecture, source: Source) -> Tally:
    """Visits the documents of a pass once each."""
    steps = steps_of(held, architecture, tables.n_words, source)
    p, lists, device, count = held.parameters, held.lists, held.device, len(steps.rows)
    if not count:
        return Tally(0.0, 0)
    objectives = torch.zeros(count, dtype=torch.float64, device=device)
    counts = torch.zeros(count, dtype=torch.int64, device=device)
    columns = triton.next_power_of_2(architecture.width)
    most = triton.next_power_of_2(architecture.negative + 1) if architecture.output == "negative" else _NODES
    rows = max(1, min(most, _TILE // columns))
    warps = max(1, min(16, rows * columns // _NUMBERS_A_WARP))
    at_once = min(count, programs_at_once(device, warps))
    none = objectives
    kernels.train_documents[(count,)](
        steps.tokens, steps.spots, steps.words,
        steps.rows, steps.rates, steps.begins, steps.ends, steps.lows, steps.highs, steps.names, steps.firsts,
        source.documents,
        none if p.words is None else p.words,
        p.outputs,
        none if p.bias is None else p.bias,
        none if p.trainable is None else p.trainable,
        *held.crowd(architecture, tables, at_once),
        0 if p.words is None else p.words.stride(0),
        p.outputs.stride(0),
        lists.threshold, lists.alias, lists.path_offsets, lists.path_nodes, lists.path_codes,
        objectives, counts,
        as_key(draws.stream(source.work.seed, Purpose.NOISE, source.work.epoch, architecture.is_dm)),
        tables.n_targets, tables.n_words, architecture.cosine_scale,
        P=architecture.vector_size, Q=architecture.word_size, WIDTH=architecture.width, COLS=columns, ROWS=rows,
        SLOTS=architecture.slots, REACH=architecture.window - 1, KIND=kind_of(architecture),
        NEGATIVE=architecture.negative, COSINE=architecture.logit == "cosine", BIAS=p.bias is not None,
        FROZEN=p.trainable is not None, num_warps=warps,
    )  # fmt: skip
    return Tally(float(objectives.sum()), int(counts.sum()))


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
