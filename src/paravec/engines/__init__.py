"""Who does the arithmetic."""

from __future__ import annotations

import warnings
from functools import cache

from paravec.engines.base import Engine
from paravec.engines.devices import why_no_gpu
from paravec.errors import DeviceError, EngineWarning
from paravec.settings import Settings


def engine_for(settings: Settings, training: bool = False) -> Engine:
    """The engine that the settings name. Inference is always deterministic, training if that is asked for."""
    if settings.engine == "reference":
        from paravec.engines.reference import ReferenceEngine

        return ReferenceEngine(settings.deterministic)
    deterministic = training and settings.deterministic
    if on_gpu(settings):
        from paravec.engines.gpu import GpuEngine

        return GpuEngine(deterministic, half=training and settings.storage == "bfloat16")
    from paravec.engines.cpu import CpuEngine

    return CpuEngine(settings.n_jobs, deterministic=deterministic)


def on_gpu(settings: Settings) -> bool:
    """Whether a GPU does the work; refuses if it should, and there is none."""
    if settings.engine not in ("gpu", "auto"):
        return False
    reason = why_no_gpu()
    if reason is not None and settings.engine == "gpu":
        raise DeviceError(f"engine='gpu' cannot work: {reason}")
    if reason is not None:
        warn_once(reason)
    return reason is None


@cache
def warn_once(reason: str) -> None:
    """In a process: a fit asks for engines more than once."""
    warnings.warn(f"engine='auto' works on the processor: {reason}", EngineWarning, stacklevel=4)
