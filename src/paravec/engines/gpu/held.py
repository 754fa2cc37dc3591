"""What lies on the device: the corpus, the tables, and the parameters while they are trained."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.engines.base import Crowd, Pass, Tables, padded, run_ends
from paravec.errors import NotEnoughMemoryError
from paravec.memory import in_words
from paravec.model import Model

Tensor: TypeAlias = torch.Tensor

_ROWS_AT_ONCE = 1 << 14  # that are copied
_BYTES_A_TOKEN, _BYTES_A_DOCUMENT = 16, 160  # of a pass: tokens and their copies in order, lists of documents


def put(array: NDArray[Any], device: torch.device) -> Tensor:
    """A copy on the device. Unsigned 32-bit numbers keep their bits as signed ones."""
    plain = np.ascontiguousarray(array)
    if plain.dtype == np.uint32:
        plain = plain.view(np.int32)
    if not plain.flags.writeable:
        plain = plain.copy()
    return torch.from_numpy(plain).to(device, copy=True)


@dataclass
class Parameters:
    """W, U and b on the device, and D if there is room.

    Rows of U and W are padded, so that they are read and added to four numbers at a time.
    """

    documents: Tensor | None
    words: Tensor | None
    outputs: Tensor
    bias: Tensor | None
    trainable: Tensor | None

    @staticmethod
    def of(model: Model, device: torch.device, documents: bool, half: bool = False) -> Parameters:
        """A copy of a model's, with or without D; of W and U, with 16 bits a number if they are to be halved."""
        return Parameters(
            put(model.documents, device) if documents and model.documents is not None else None,
            None if model.words is None else _spread(model.words, device, half),
            _spread(model.outputs, device, half),
            None if model.bias is None else put(model.bias, device),
            None if model.trainable is None else put(model.trainable, device),
        )

    def back(self, model: Model) -> None:
        """Writes them into the model's own arrays. Rows of W that are frozen stay as they were, to the bit."""
        for name in ("documents", "words", "outputs", "bias"):
            ours, theirs = getattr(self, name), getattr(model, name)
            if ours is None or theirs is None:
                continue
            for first in range(0, len(ours), _ROWS_AT_ONCE):
                some = slice(first, first + _ROWS_AT_ONCE)
                found = ours[some].float().cpu().numpy()
                if name == "words" and model.trainable is not None:
                    found = np.where(model.trainable[some, None] != 0, found, theirs[some])
                theirs[some] = found


def _spread(array: NDArray[Any], device: torch.device, half: bool) -> Tensor:
    rows, columns = array.shape
    dtype = torch.bfloat16 if half else torch.float32
    room = torch.zeros(rows, padded(columns), dtype=dtype, device=device)[:, :columns]
    for first in range(0, rows, _ROWS_AT_ONCE):
        some = np.array(array[first : first + _ROWS_AT_ONCE], dtype=np.float32)  # which can be written to, and is whole
        room[first : first + _ROWS_AT_ONCE].copy_(torch.from_numpy(some))
    return room


@dataclass(frozen=True)
class Lists:
    """The tables of :class:`paravec.engines.base.Tables` on the device; what a model does not need is empty."""

    keep: Tensor | None
    threshold: Tensor
    alias: Tensor
    path_offsets: Tensor
    path_nodes: Tensor
    path_codes: Tensor

    @staticmethod
    def of(tables: Tables, device: torch.device) -> Lists:
        """A copy."""
        none = np.zeros(1, dtype=np.int32)
        noise, paths = tables.noise, tables.paths
        everything = bool((tables.keep == 2**32 - 1).all())
        return Lists(
            None if everything else put(tables.keep, device),
            put(none if noise is None else noise.threshold, device),
            put(none if noise is None else noise.alias, device),
            put(none.astype(np.int64) if paths is None else paths.offsets, device),
            put(none if paths is None else paths.nodes, device),
            put(none.astype(np.uint8) if paths is None else paths.codes, device),
        )


@dataclass(frozen=True)
class Source:
    """Documents of a pass, and where their tokens and vectors lie on the device."""

    work: Pass
    lengths: NDArray[np.int64]
    tokens: Tensor
    begins: Tensor
    documents: Tensor  # D, or the rows of it that these documents have
    rows: Tensor  # of each document there


@dataclass
class Held:
    """All that training has on the device. Without room for tokens and D, they come and go shard by shard."""

    model: Model
    corpus: Corpus
    parameters: Parameters
    lists: Lists
    device: torch.device
    resident: tuple[Tensor, Tensor] | None  # tokens and offsets
    bytes_of_a_shard: int
    stale: bool = False  # whether the model's own arrays are behind
    _visits: tuple[Tensor, Tensor] | None = None
    _changes: dict[str, Tensor] = field(default_factory=dict)

    @staticmethod
    def of(
        model: Model,
        corpus: Corpus,
        tables: Tables,
        device: torch.device,
        room: int | None = None,
        exact: bool = False,
        half: bool = False,
    ) -> Held:
        """Puts as much there as there is room for."""
        room = room if room is not None else free(device)
        weights, logits = bytes_of_weights(model, tables, exact, half), bytes_of_logits(model.architecture, tables)
        longest = 2 * int(_shard_of(model.architecture, corpus.lengths).max(initial=0))
        left = int(0.9 * room) - weights - logits
        if left < longest:
            raise NotEnoughMemoryError(_no_room(model.architecture, room, weights, logits, longest))
        fits = _shard_of(model.architecture, corpus.lengths).sum() <= left
        return Held(
            model,
            corpus,
            Parameters.of(model, device, bool(fits), half),
            Lists.of(tables, device),
            device,
            (put(corpus.tokens, device), put(corpus.offsets, device)) if fits else None,
            left // 2,  # while a shard is put there, the one before may still be held
        )

    def sources(self, architecture: Architecture, work: Pass) -> Iterator[Source]:
        """The documents of a pass: all at once, or shard by shard, whose vectors are written back to the model."""
        lengths = self.corpus.lengths[work.order]
        if self.resident is not None:
            tokens, offsets = self.resident
            order = torch.from_numpy(work.order).to(self.device)
            assert self.parameters.documents is not None
            yield Source(work, lengths, tokens, offsets[order], self.parameters.documents, order)
            return
        assert self.model.documents is not None
        for first, end in self._shards(architecture, lengths):
            part = Pass(work.seed, work.epoch, work.order[first:end], work.rates[first:end])
            some = self.corpus.taking(part.order)
            documents = put(self.model.documents[part.order].astype(np.float32), self.device)
            rows = torch.arange(len(some), device=self.device)
            begins = put(some.offsets[:-1], self.device)
            yield Source(part, lengths[first:end], put(some.tokens, self.device), begins, documents, rows)
            self.model.documents[part.order] = documents.cpu().numpy()

    def _shards(self, architecture: Architecture, lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """Whole runs, so that their noise words are the same whatever the room."""
        sizes = np.cumsum(_shard_of(architecture, lengths))
        first, end = 0, 0
        for begin, run in pairwise([0, *run_ends(lengths)]):
            if end > first and sizes[run - 1] - (sizes[first - 1] if first else 0) > self.bytes_of_a_shard:
                yield first, end
                first = begin
            end = run
        if end > first:
            yield first, end

    def crowd(self, architecture: Architecture, tables: Tables, at_once: int | Tensor) -> tuple[Tensor, Tensor]:
        """What part of every change rows of U and of W take, when so many steps are taken at once (`Crowd`)."""
        if self._visits is None:
            outputs, words = Crowd.visits(architecture, tables, len(self.corpus))
            self._visits = put(outputs, self.device), put(words, self.device)
        outputs, words = (Crowd.part(each, at_once).float() for each in self._visits)
        return outputs, words

    def changes(self, name: str) -> Tensor:
        """Whole numbers, zero at first, in which the changes of W, U or b are added up."""
        array = getattr(self.parameters, name)
        if array is None:
            return self.lists.alias  # never looked at
        if name not in self._changes:
            self._changes[name] = torch.zeros(
                array.untyped_storage().nbytes() // array.element_size(), dtype=torch.int64, device=self.device
            )
        return self._changes[name]


def free(device: torch.device) -> int:
    """The bytes that can be taken, with those that PyTorch keeps for the next one who asks."""
    if device.type == "cpu":
        return 1 << 40
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(torch.cuda.mem_get_info(device)[0]) + int(kept)


def _no_room(architecture: Architecture, room: int, weights: int, logits: int, longest: int) -> str:
    """What takes how much, and the remedy for what takes most."""
    needs = {
        "words and output weights": weights,
        f"logits of batch_size={architecture.batch_size} targets": logits,
        "the longest document": longest,
    }
    most = max((weights, logits, longest))
    remedy = "raise min_count, set max_vocab, or lower vector_size"
    if most == weights and (fits := int(architecture.vector_size * (0.8 * room - logits - longest) / weights)) > 0:
        remedy += f" (to about {fits})"
    elif most == logits:
        remedy = "lower batch_size, or raise min_count or set max_vocab"
    elif most == longest:
        remedy = "divide documents that are so long"
    named = ", ".join(f"{in_words(size)} for {what}" for what, size in needs.items() if size)
    return (
        f"the GPU has {in_words(room)} free, and training needs {named}; {remedy}, or use engine='cpu'. Document "
        f"vectors and tokens need no room there all at once: they are streamed"
    )


def bytes_of_logits(architecture: Architecture, tables: Tables) -> int:
    """Of a batch of the exact softmax, three for each target and word, and of the changes of U."""
    if architecture.output != "softmax":
        return 0
    return 4 * tables.n_targets * (architecture.width + 1 + 3 * architecture.batch_size)


def bytes_of_weights(model: Model, tables: Tables, exact: bool = False, half: bool = False) -> int:
    """The bytes of W, U, b and the tables, and of what is added up for them."""
    rows = len(model.outputs) * (padded(model.outputs.shape[1]) + 2)
    words = 0 if model.words is None else len(model.words) * (padded(model.words.shape[1]) + 2)
    paths = 0 if tables.paths is None else 5 * len(tables.paths.nodes)
    return ((2 if half else 4) + 8 * exact) * (rows + words) + 20 * tables.n_targets + paths


def _shard_of(architecture: Architecture, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The bytes that each document takes while it is trained."""
    return _BYTES_A_TOKEN * lengths + 4 * architecture.vector_size + _BYTES_A_DOCUMENT
