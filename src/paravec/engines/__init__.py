"""Who does the arithmetic."""

from __future__ import annotations

from paravec.engines.base import Engine
from paravec.settings import Settings


def engine_for(settings: Settings, training: bool = False) -> Engine:
    """The engine that the settings name. Inference is always deterministic, training if that is asked for."""
    if settings.engine == "reference":
        from paravec.engines.reference import ReferenceEngine

        return ReferenceEngine(settings.deterministic)
    from paravec.engines.cpu import CpuEngine

    return CpuEngine(settings.n_jobs, deterministic=training and settings.deterministic)
