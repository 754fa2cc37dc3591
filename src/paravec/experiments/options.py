"""How an experiment is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Options:
    """Seeds, threads and engine; `quick` runs a sample with small models, to see that everything works."""

    seeds: tuple[int, ...] = (0, 1, 2)
    quick: bool = False
    engine: str = "cpu"
    n_jobs: int = -1
    bars: bool = False  # while models are fitted

    @property
    def of_models(self) -> dict[str, Any]:
        """What all models of a run are made with."""
        return {"engine": self.engine, "n_jobs": self.n_jobs, "verbose": int(self.bars)}
