"""How an experiment is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from paravec.settings import Settings


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


def whole(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings of a model, those that are the library's choice, too: a step with other defaults is another step."""
    names = {each.name for each in fields(Settings)}
    own = Settings(**{name: value for name, value in settings.items() if name in names}).as_dict()
    own.pop("n_jobs")  # a matter of time
    return own | {name: value for name, value in settings.items() if name not in names}
