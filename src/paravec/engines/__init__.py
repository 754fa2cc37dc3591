"""Who does the arithmetic."""

from __future__ import annotations

from paravec.engines.base import Engine
from paravec.settings import Settings


def engine_for(settings: Settings, training: bool = False) -> Engine:
    """The engine that the settings name. ``deterministic`` trains on one thread; inference is always deterministic."""
    if settings.engine == "reference":
        from paravec.engines.reference import ReferenceEngine

        return ReferenceEngine()
    from paravec.engines.cpu import CpuEngine

    return CpuEngine(1 if training and settings.deterministic else settings.n_jobs)
