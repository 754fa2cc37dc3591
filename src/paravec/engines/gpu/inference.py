"""New documents, with W, U and b frozen: which rows of U each needs, and the solver over them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import triton
from numpy.typing import NDArray

from paravec import draws
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Inference, Part, Tables, Tally, pieces
from paravec.engines.gpu.held import Lists, Parameters, Tensor, free, put
from paravec.engines.gpu.kernels.documents import offsets_of
from paravec.engines.gpu.kernels.random import draw_noise, hash_documents
from paravec.engines.gpu.kernels.solve import MEMORY, products, solve
from paravec.engines.gpu.passes import as_key, predicted
from paravec.engines.gpu.training import kind_of, programs_at_once
from paravec.engines.steps import NORM_FLOOR

_ITEMS_AT_ONCE, _BYTES_AN_ITEM = 1 << 26, 120
_ROWS, _NUMBERS_A_WARP = 8, 2048


@dataclass(frozen=True)
class Frozen:
    """A model that infers: what of it lies on the device."""

    architecture: Architecture
    parameters: Parameters
    lists: Lists
    tables: Tables

    def alone(self) -> Frozen:
        """Without words: see :meth:`paravec.model.Model.alone`."""
        outputs = self.parameters.outputs[:, : self.architecture.vector_size]
        parameters = replace(self.parameters, outputs=outputs)
        return replace(self, architecture=self.architecture.alone(), parameters=parameters)

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.parameters.outputs.device

    @property
    def on_sphere(self) -> bool:
        """Whether vectors are of length 1."""
        return self.architecture.logit == "cosine"


@dataclass(frozen=True)
class Items:
    """The rows of U that documents need, document by document: see :mod:`paravec.engines.gpu.kernels.solve`."""

    begins: Tensor  # of each document, and the end of the last
    row: Tensor
    up: Tensor
    down: Tensor
    offset: Tensor
    factor: Tensor
    targets: int


def infer(frozen: Frozen, corpus: Corpus, how: Inference) -> NDArray[np.float32]:
    """A vector for every document, zero where no target counts."""
    size = frozen.architecture.vector_size
    vectors = np.zeros((len(corpus), size), dtype=np.float32)
    for first, end in _chunks(frozen, corpus):
        items = items_of(frozen, corpus.between(first, end), how)
        vectors[first:end] = (
            _solved(frozen, items, weights_of(frozen, corpus.lengths[first:end], how), how).cpu().numpy()
        )
    return vectors


def score(frozen: Frozen, corpus: Corpus, how: Inference, vectors: NDArray[np.float32]) -> Tally:
    """The objective of the targets of ``how.part`` at the given vectors."""
    total, count, outputs = 0.0, 0, frozen.parameters.outputs
    for first, end in _chunks(frozen, corpus):
        items = items_of(frozen, corpus.between(first, end), how)
        here = torch.from_numpy(np.ascontiguousarray(vectors[first:end])).to(frozen.device)
        at = torch.zeros_like(items.offset)
        rows, columns, warps = _tile(frozen.architecture.vector_size)
        products[(end - first,)](
            items.begins, items.row, here, outputs, outputs.stride(0), at,
            P=frozen.architecture.vector_size, COLS=columns, ROWS=rows, num_warps=warps,
        )  # fmt: skip
        y = items.factor * at + items.offset
        found = items.up * torch.nn.functional.logsigmoid(y) + items.down * torch.nn.functional.logsigmoid(-y)
        total += float(found.sum(dtype=torch.float64))
        count += items.targets
    return Tally(total, count)


def _solved(frozen: Frozen, items: Items, l2: Tensor, how: Inference) -> Tensor:
    size, outputs, n = frozen.architecture.vector_size, frozen.parameters.outputs, len(items.begins) - 1
    rows, columns, warps = _tile(size)
    programs = min(n, programs_at_once(frozen.device, warps))
    out = torch.zeros(n, size, device=frozen.device)
    at, along = torch.zeros_like(items.offset), torch.zeros_like(items.offset)
    histories = torch.zeros(programs, 2 * MEMORY.value, columns, device=frozen.device)
    counter = torch.zeros(1, dtype=torch.int32, device=frozen.device)
    longest_first = torch.argsort(torch.diff(items.begins), descending=True, stable=True).int()
    solve[(programs,)](
        counter, n, longest_first, items.begins,
        items.row, items.up, items.down, items.offset, items.factor, at, along, l2,
        outputs, outputs.stride(0), out, histories, how.tol, how.max_iter,
        P=size, COLS=columns, ROWS=rows, BLOCK=128 * warps, SPHERE=frozen.on_sphere, num_warps=warps,
    )  # fmt: skip
    return out


def _tile(size: int) -> tuple[int, int, int]:
    """Rows and columns that a program looks at together, and its warps."""
    columns = triton.next_power_of_2(size)
    return _ROWS, columns, max(1, min(16, _ROWS * columns // _NUMBERS_A_WARP))


def _chunks(frozen: Frozen, corpus: Corpus) -> list[tuple[int, int]]:
    """Documents that are inferred together: as many as there is room for their items."""
    paths = frozen.tables.paths
    each = 1 + frozen.architecture.negative if paths is None else int(np.diff(paths.offsets).max())
    items = min(_ITEMS_AT_ONCE, free(frozen.device) // (2 * _BYTES_AN_ITEM))
    return pieces(corpus.lengths, items // each)


def weights_of(frozen: Frozen, lengths: NDArray[np.int64], how: Inference) -> Tensor:
    """The weight of |d|^2 of each document."""
    counted = lengths if how.part is Part.ALL else (lengths + (how.part is Part.EVEN)) // 2
    l2 = np.zeros(len(lengths)) if frozen.on_sphere else how.l2_of(counted)
    return torch.from_numpy(l2.astype(np.float32)).to(frozen.device)


def items_of(frozen: Frozen, corpus: Corpus, how: Inference) -> Items:
    """What the documents of a corpus need."""
    architecture, lists, tables, device = frozen.architecture, frozen.lists, frozen.tables, frozen.device
    tokens, offsets = put(corpus.tokens, device), put(corpus.offsets - corpus.offsets[0], device)
    where, document, position = targets_of(architecture, offsets, how.part)
    target = tokens[where].long()
    if tables.paths is not None:
        begin = lists.path_offsets[target]
        n_items = lists.path_offsets[target + 1] - begin
        ends = torch.cumsum(n_items, 0)
        at = torch.arange(int(n_items.sum()), device=device)
        at += torch.repeat_interleave(begin - (ends - n_items), n_items)
        row, label = lists.path_nodes[at], 1.0 - lists.path_codes[at].float()
        times = torch.ones_like(label)
    else:
        noise = noise_of(frozen, tokens, offsets, document, position, how)
        n_items = torch.full_like(target, 1 + architecture.negative)
        row = torch.cat([target[:, None].int(), noise], 1).reshape(-1)
        label = (torch.arange(len(row), device=device) % (1 + architecture.negative) == 0).float()
        times = torch.where(noise == target[:, None], 0.0, 1.0)
        times = torch.cat([torch.ones_like(times[:, :1]), times], 1).reshape(-1)
    of_document = torch.repeat_interleave(document, n_items)
    up, down = label * times, (1 - label) * times
    if not architecture.is_dm:
        return _counted(frozen, len(corpus), of_document, row, up, down, len(target))
    begins = torch.searchsorted(of_document, torch.arange(len(corpus) + 1, device=device))
    item_begins = torch.cat([n_items.new_zeros(1), torch.cumsum(n_items, 0)])
    offset, factor = _contexts(frozen, tokens, where, offsets[document], offsets[document + 1], item_begins, row)
    return Items(begins, row, up, down, offset, factor, len(target))


def targets_of(architecture: Architecture, offsets: Tensor, part: Part) -> tuple[Tensor, Tensor, Tensor]:
    """The targets that count: their places among all tokens, their documents, and their positions there."""
    n = torch.diff(offsets)
    first, end = predicted(architecture, n)
    document = torch.repeat_interleave(torch.arange(len(n), device=n.device), n)
    position = torch.arange(len(document), device=n.device) - offsets[document]
    there = (position >= first[document]) & (position < end[document])
    if part is not Part.ALL:
        there &= position % 2 == (1 if part is Part.ODD else 0)
    where = torch.nonzero(there)[:, 0]
    return where, document[where], position[where]


def noise_of(
    frozen: Frozen, tokens: Tensor, offsets: Tensor, document: Tensor, position: Tensor, how: Inference
) -> Tensor:
    """Noise words for each target."""
    count, negative, block = len(offsets) - 1, frozen.architecture.negative, 128
    names = torch.zeros(count, dtype=torch.int64, device=tokens.device)
    if not how.common:
        hash_documents[(-(-count // 32),)](tokens, offsets, names, count, BLOCK=32, num_warps=1)
    noise = torch.empty(len(document), negative, dtype=torch.int32, device=tokens.device)
    if len(document):
        key = as_key(draws.stream(how.seed, Purpose.INFERENCE_NOISE, 0, frozen.architecture.is_dm))
        draw_noise[(-(-noise.numel() // block),)](
            names[document], position, noise, key, len(document), frozen.lists.threshold, frozen.lists.alias,
            frozen.tables.n_targets, NEGATIVE=negative, BLOCK=block, num_warps=4,
        )  # fmt: skip
    return noise


def _counted(frozen: Frozen, n: int, document: Tensor, row: Tensor, up: Tensor, down: Tensor, targets: int) -> Items:
    """dbow: a row has one logit, however often the document needs it."""
    n_rows = len(frozen.parameters.outputs)
    key, order = torch.sort(document * n_rows + row, stable=True)
    key, which = torch.unique_consecutive(key, return_inverse=True)
    ups, downs = (torch.zeros(len(key), device=key.device).index_add_(0, which, each[order]) for each in (up, down))
    rows = key % n_rows
    begins = torch.searchsorted(key, torch.arange(n + 1, device=key.device) * n_rows)
    bias = frozen.parameters.bias
    offset = torch.zeros_like(ups) if bias is None else bias[rows]
    factor = torch.ones_like(ups)
    if frozen.on_sphere:
        norms = torch.sqrt((frozen.parameters.outputs.float() ** 2).sum(1) + NORM_FLOOR)
        factor = frozen.architecture.cosine_scale / norms[rows]
    return Items(begins, rows.int(), ups, downs, offset, factor, targets)


def _contexts(
    frozen: Frozen, tokens: Tensor, where: Tensor, lows: Tensor, highs: Tensor, item_begins: Tensor, row: Tensor
) -> tuple[Tensor, Tensor]:
    """dm: every target has its own context, so every logit its own offset; and the part of d in h."""
    a, p = frozen.architecture, frozen.parameters
    assert p.words is not None
    offset, factor = (torch.empty(len(row), device=tokens.device) for _ in range(2))
    columns = triton.next_power_of_2(a.width)
    rows = max(1, min(_ROWS, (1 << 14) // columns))
    if len(where):
        offsets_of[(len(where),)](
            tokens, where, lows, highs, item_begins, row, p.words, p.outputs, offset if p.bias is None else p.bias,
            p.words.stride(0), p.outputs.stride(0), offset, factor, frozen.tables.n_words,
            P=a.vector_size, Q=a.word_size, WIDTH=a.width, COLS=columns, ROWS=rows, SLOTS=a.slots, REACH=a.window - 1,
            KIND=kind_of(a), BIAS=p.bias is not None, num_warps=max(1, min(16, rows * columns // _NUMBERS_A_WARP)),
        )  # fmt: skip
    return offset, factor
