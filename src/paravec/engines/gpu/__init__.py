"""PyTorch tensors and Triton kernels behind the engine's interface."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import torch
from numpy.typing import NDArray
from triton.errors import TritonError

from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.engines.base import Inference, Pass, Tables, Tally
from paravec.engines.devices import interpreted
from paravec.engines.gpu import inference, softmax, stepped
from paravec.engines.gpu.held import Held, Lists, Parameters, bytes_of_weights, free
from paravec.engines.gpu.inference import Frozen
from paravec.engines.gpu.training import train_documents
from paravec.errors import DeviceError, NotEnoughMemoryError
from paravec.model import Model, is_finite

_ELSEWHERE = "infer on the processor: set_params(engine='cpu')"
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # the same kernels, whatever the default of Triton's version


class GpuEngine:
    """Trains and infers on a GPU. What is trained stays there until it is asked for (`settle`).

    With `half`, W and U have 16 bits a number while they are trained. `room` are the bytes of the device that may be
    taken; if left out, those that are free.
    """

    words_at_once = 1 << 23

    def __init__(self, deterministic: bool = False, half: bool = False, room: int | None = None) -> None:
        self.deterministic, self.half, self.room = deterministic, half, room
        self.device = torch.device("cpu" if interpreted() else "cuda")
        self._held: Held | None = None
        self._frozen: list[tuple[Model, Frozen]] = []

    def slices_at_once(self, architecture: Architecture) -> int:
        """See :class:`paravec.engines.base.Engine`. Those of the exact softmax are short."""
        return 1024 if architecture.output == "softmax" else 64

    def train(self, model: Model, corpus: Corpus, tables: Tables, work: Pass) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        with _told():
            held = self._hold(model, corpus, tables)
            held.stale, self._frozen = True, []
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
        self._held, self._frozen = None, []

    def is_finite(self, model: Model) -> bool:
        """See :class:`paravec.engines.base.Engine`."""
        if self._held is None or self._held.model is not model:
            return is_finite(model.outputs)
        with _told():
            return bool(torch.isfinite(self._held.parameters.outputs).all())

    def infer(self, model: Model, corpus: Corpus, tables: Tables, how: Inference) -> NDArray[np.float32]:
        """See :class:`paravec.engines.base.Engine`."""
        with _told(_ELSEWHERE):
            frozen = self._freeze(model, tables)
            frozen = frozen if how.context else frozen.alone()
            return _solver_of(frozen.architecture).infer(frozen, corpus, how)

    def score(
        self, model: Model, corpus: Corpus, tables: Tables, how: Inference, vectors: NDArray[np.float32]
    ) -> Tally:
        """See :class:`paravec.engines.base.Engine`."""
        with _told(_ELSEWHERE):
            return _solver_of(model.architecture).score(self._freeze(model, tables), corpus, how, vectors)

    def _hold(self, model: Model, corpus: Corpus, tables: Tables) -> Held:
        if self._held is None or self._held.model is not model or self._held.corpus is not corpus:
            self.release()
            self._held = Held.of(model, corpus, tables, self.device, self.room, self.deterministic, self.half)
        return self._held

    def _freeze(self, model: Model, tables: Tables) -> Frozen:
        """What inference needs, put there once, and kept for the next call as long as there is room."""
        if self._held is not None and self._held.model is model:
            return Frozen(model.architecture, self._held.parameters, self._held.lists, tables)
        for whose, frozen in self._frozen:
            if whose is model:
                return frozen
        if free(self.device) < 2 * bytes_of_weights(model, tables):
            self._frozen = []
        parameters = Parameters.of(model, self.device, documents=False)
        frozen = Frozen(model.architecture, parameters, Lists.of(tables, self.device), tables)
        self._frozen.append((model, frozen))
        return frozen


def _solver_of(architecture: Architecture) -> ModuleType:
    """Who infers: the exact softmax, and where the length of h depends on d, need all of h at every step."""
    in_step = architecture.output == "softmax" or (architecture.is_dm and architecture.logit == "cosine")
    return stepped if in_step else inference


@contextmanager
def _told(remedy: str = "use a smaller vector_size or max_vocab, or train with engine='cpu'") -> Iterator[None]:
    """What the device cannot do, in words."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        raise NotEnoughMemoryError(
            f"the GPU has no room left ({' '.join(str(error).split())}); free what others hold on it, or {remedy}"
        ) from error
    except DeviceError:
        raise
    except TritonError as error:
        raise DeviceError(
            f"Triton has no kernel for this GPU and these settings ({' '.join(str(error).split()):.300}); use "
            f"engine='cpu'"
        ) from error
    except RuntimeError as error:
        if "CUDA" not in str(error):
            raise
        raise DeviceError(
            f"the GPU failed ({' '.join(str(error).split())}); start a new process. What was in training on it is "
            f"lost, but for what a checkpoint has: go on from it (resume)"
        ) from error
