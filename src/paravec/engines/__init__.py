"""Who does the arithmetic."""

from __future__ import annotations

import warnings

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
    if settings.engine in ("gpu", "auto"):
        reason = why_no_gpu()
        if reason is None:
            from paravec.engines.gpu import GpuEngine

            return GpuEngine(deterministic, settings.n_jobs)
        if settings.engine == "gpu":
            raise DeviceError(f"engine='gpu' cannot work: {reason}")
        warnings.warn(f"engine='auto' works on the processor: {reason}", EngineWarning, stacklevel=2)
    from paravec.engines.cpu import CpuEngine

    return CpuEngine(settings.n_jobs, deterministic=deterministic)
