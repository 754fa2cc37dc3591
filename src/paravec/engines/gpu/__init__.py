"""PyTorch tensors and Triton kernels behind the engine's interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from numpy.typing import NDArray

from paravec.corpus import Corpus
from paravec.engines.base import Inference, Pass, Tables, Tally
from paravec.engines.cpu import CpuEngine
from paravec.engines.devices import interpreted
from paravec.engines.gpu import inference, softmax
from paravec.engines.gpu.held import Held, Lists, Parameters
from paravec.engines.gpu.inference import Frozen
from paravec.engines.gpu.training import train_documents
from paravec.errors import DeviceError, NotEnoughMemoryError
from paravec.model import Model, is_finite

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # the same kernels, whatever the default of Triton's version


class GpuEngine:
    """Trains and infers on a GPU. What is trained stays there until it is asked for (`settle`).

    `room` are the bytes of the device that may be taken; if left out, those that are free.
    """

    slices_at_once = 64
    words_at_once = 1 << 23

    def __init__(self, deterministic: bool = False, n_jobs: int | None = None, room: int | None = None) -> None:
        self.deterministic, self.n_jobs, self.room = deterministic, n_jobs, room
        self.device = torch.device("cpu" if interpreted() else "cuda")
        self._held: Held | None = None
        self._frozen: Frozen | None = None
        self._of: Model | None = None  # whose these are

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        with _told():
            held = self._hold(model, corpus, tables)
            held.stale, self._frozen = True, None
            tallies = []
            for source in held.sources(model.architecture, work):
                if model.architecture.output == "softmax":
                    tallies.append(softmax.train_batches(held, tables, model.architecture, source))
                else:
                    tallies.append(train_documents(held, tables, model.architecture, source, self.deterministic))
            return Tally(sum(tally.objective for tally in tallies), sum(tally.targets for tally in tallies))

    def settle(self, model: Model) -> None:
        """See :class:`paravec.engines.base.Engine`."""
        if self._held is not None and self._held.model is model and self._held.stale:
            with _told():
                self._held.parameters.back(model)
            self._held.stale = False

    def release(self) -> None:
        """See :class:`paravec.engines.base.Engine`."""
        if self._held is not None:
            self.settle(self._held.model)
        self._held = self._frozen = self._of = None

    def is_finite(self, model: Model) -> bool:
        """See :class:`paravec.engines.base.Engine`."""
        if self._held is None or self._held.model is not model:
            return is_finite(model.outputs)
        with _told():
            return bool(torch.isfinite(self._held.parameters.outputs).all())

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """See :class:`paravec.engines.base.Engine`."""
        if _is_for_the_processor(model):
            self.settle(model)
            return CpuEngine(self.n_jobs).infer(model, corpus, tables, how)
        with _told():
            return inference.infer(self._freeze(model, tables), corpus, how)

    def score(
        self, model: Model, corpus: Corpus, tables: Tables, how: Inference, vectors: NDArray[np.float32]
    ) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        if _is_for_the_processor(model):
            self.settle(model)
            return CpuEngine(self.n_jobs).score(model, corpus, tables, how, vectors)
        with _told():
            return inference.score(self._freeze(model, tables), corpus, how, vectors)

    def _hold(self, model: Model, corpus: Corpus, tables: Tables) -> Held:
        if self._held is None or self._held.model is not model or self._held.corpus is not corpus:
            self.release()
            self._held = Held.of(model, corpus, tables, self.device, self.room, self.deterministic)
        return self._held

    def _freeze(self, model: Model, tables: Tables) -> Frozen:
        """What inference needs, put there once for all documents of a call."""
        if self._held is not None and self._held.model is model:
            return Frozen(model.architecture, self._held.parameters, self._held.lists, tables)
        if self._frozen is None or self._of is not model:
            self._frozen = None
            parameters = Parameters.of(model, self.device, documents=False)
            self._frozen = Frozen(model.architecture, parameters, Lists.of(tables, self.device), tables)
            self._of = model
        return self._frozen


def _is_for_the_processor(model: Model) -> bool:
    """Whether inference has no kernels here: of the exact softmax, and where the length of h depends on d."""
    return model.architecture.output == "softmax" or (model.architecture.is_dm and model.architecture.logit == "cosine")


@contextmanager
def _told() -> Iterator[None]:
    """What the device cannot do, in words."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise NotEnoughMemoryError(
            f"the GPU has no room left ({' '.join(str(error).split())}); use a smaller vector_size or max_vocab, free "
            f"what others hold on it, or use engine='cpu'"
        ) from error
    except DeviceError:
        raise
    except RuntimeError as error:
        if "CUDA" not in str(error):
            raise
        raise DeviceError(
            f"the GPU failed ({' '.join(str(error).split())}); start a new process. What was in training on it is "
            f"lost, but for what a checkpoint has: go on from it (resume)"
        ) from error
