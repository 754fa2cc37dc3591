"""The C++ core behind the engine's interface."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import _core
from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.draws import Purpose
from paravec.engines.base import Inference, OnHost, Pass, Tables, Tally
from paravec.engines.room import padded, stride
from paravec.model import Model
from paravec.settings import threads

F32 = NDArray[np.float32]

_AT_ONCE = 1 << 20
_EXPONENT = 0x7F80  # of a bfloat16: all ones in what is no number


class CpuEngine(OnHost):
    """Lock-free training and exact, parallel inference on the processor.

    `kernels` names an instruction set (``_core.available_kernels()``); the best one is taken if it is empty.
    """

    def __init__(self, n_jobs: int | None = None, kernels: str = "", deterministic: bool = False) -> None:
        self.threads = threads(n_jobs)
        self.kernels = kernels
        self.deterministic = deterministic
        self._packed: Model | None = None  # one that is being trained with 16 bits a number of U
        # While such a model is trained, U is not unpacked by another thread that infers.
        self._lock: AbstractContextManager[Any] = nullcontext()

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        if model.architecture.half and isinstance(self._lock, nullcontext):
            self._lock = RLock()
        with self._lock:
            arrays = _arrays(model, tables, model.documents)
            if model.architecture.half and self._packed is not model:
                self.release()
                _core.pack_outputs(model.outputs, model.bias, self.kernels)
                self._packed = model
            objective, targets = _core.train(
                _architecture(model.architecture, model.architecture.half),
                arrays,
                corpus.tokens,
                corpus.offsets,
                work.seed,
                work.epoch,
                work.order,
                work.rates,
                self.threads,
                self.deterministic,
                self.kernels,
            )
            return Tally(objective, targets)

    def settle(self, model: Model) -> None:
        """See :class:`paravec.engines.base.Engine`."""
        with self._lock:
            if self._packed is model:
                _core.unpack_outputs(model.outputs, model.bias, self.kernels)
                self._packed = None

    def release(self) -> None:
        """See :class:`paravec.engines.base.Engine`."""
        with self._lock:
            if self._packed is not None:
                self.settle(self._packed)

    def is_finite(self, model: Model) -> bool:
        """See :class:`paravec.engines.base.Engine`."""
        with self._lock:
            return _packed_is_finite(model) if self._packed is model else super().is_finite(model)

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> F32:
        """See :class:`paravec.engines.base.Engine`."""
        with self._lock:
            self.settle(model)
            vectors = np.zeros((len(corpus), model.architecture.vector_size), dtype=np.float32)
            if not how.context:
                _prepare(model, 0)  # the model itself, or else a part of it would be copied at every call
                model = model.alone()
            _core.infer(
                _architecture(model.architecture),
                _arrays(model, tables, None),
                corpus.tokens,
                corpus.offsets,
                _inference(how),
                vectors,
                self.threads,
                self.kernels,
            )
            return vectors

    def score(self, model: Model, corpus: Corpus, tables: Tables, how: Inference, vectors: F32) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        with self._lock:
            self.settle(model)
            objective, targets = _core.score(
                _architecture(model.architecture),
                _arrays(model, tables, None),
                corpus.tokens,
                corpus.offsets,
                _inference(how),
                vectors,
                self.threads,
                self.kernels,
            )
            return Tally(objective, targets)


def fill_uniform(seed: int, purpose: Purpose, is_dm: bool, out: F32) -> F32:
    """Fills a matrix with initial vectors; :func:`paravec.draws.uniform_rows` defines them."""
    _core.fill_uniform(seed, purpose, is_dm, out)
    return out


def _aligned(array: NDArray[np.floating], spare: int = 0) -> F32:
    """The array itself if the core can work on it, or a copy."""
    good = (
        array.dtype == np.float32
        and array.strides[1] == 4
        and array.strides[0] % (4 * _core.ROW_MULTIPLE) == 0
        and array.strides[0] >= 4 * stride(array.shape[1] + spare)
        and array.ctypes.data % _core.ALIGNMENT == 0
        and array.flags.writeable
    )
    return array if good else padded(array, spare)


def _packed_is_finite(model: Model) -> bool:
    """Whether no number of bfloat16 is NaN or infinite."""
    rows, columns = model.outputs.shape
    row = -(-(columns + (model.bias is not None)) // _core.HALF_MULTIPLE) * _core.HALF_MULTIPLE
    room = np.lib.stride_tricks.as_strided(model.outputs, (rows * row // 2,), (4,)).view(np.uint16)
    pieces = (room[i : i + _AT_ONCE] & _EXPONENT for i in range(0, len(room), _AT_ONCE))
    return not any(bool((piece == _EXPONENT).any()) for piece in pieces)


def _architecture(a: Architecture, half: bool = False) -> _core.Architecture:
    return _core.Architecture(
        dm=a.is_dm,
        vector_size=a.vector_size,
        word_size=a.word_size,
        window=a.window,
        both=a.context == "both",
        combine=getattr(_core.Combine, a.combine),
        pad_all=a.pad == "all",
        output=getattr(_core.Output, a.output),
        negative=a.negative,
        cosine=a.logit == "cosine",
        cosine_scale=a.cosine_scale,
        batch_size=a.batch_size,
        train_words=a.train_words,
        by_ways=a.by_ways,
        draw_errors=a.draw_errors,
        half=half,
        slots=a.slots,
        width=a.width,
    )


def _inference(how: Inference) -> _core.Inference:
    return _core.Inference(how.seed, how.tol, how.max_iter, how.l2, getattr(_core.Part, how.part.value), how.common)


def _prepare(model: Model, spare: int) -> None:
    """Rows that are not aligned (after unpickling, say) are, from now on."""
    if model.bias is not None and not model.bias.flags.writeable:
        model.bias = model.bias.copy()
    model.outputs = _aligned(model.outputs, spare)
    if model.words is not None:
        model.words = _aligned(model.words)


def _arrays(model: Model, tables: Tables, documents: NDArray[np.floating] | None) -> _core.Arrays:
    """The model's arrays for the core."""
    _prepare(model, int(model.architecture.has_bias and documents is not None))
    everything = bool((tables.keep == 2**32 - 1).all())
    return _core.Arrays(
        documents=documents,
        words=model.words,
        outputs=model.outputs,
        bias=model.bias,
        trainable=model.trainable,
        keep=None if everything else tables.keep,
        noise_threshold=tables.noise.threshold if tables.noise else None,
        noise_alias=tables.noise.alias if tables.noise else None,
        path_offsets=tables.paths.offsets if tables.paths else None,
        path_nodes=tables.paths.nodes if tables.paths else None,
        path_codes=tables.paths.codes if tables.paths else None,
        n_words=tables.n_words,
        n_targets=tables.n_targets,
    )
