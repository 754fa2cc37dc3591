"""``paravec reproduce EXPERIMENT --data PATH -o REPORT``"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer


class Experiment(str, Enum):
    """What can be run."""

    retrieval = "retrieval"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("reproduce")(reproduce)


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="which of the paper's experiments")],
    data: Annotated[str, typer.Option("--data", help="the official file of its data set")],
    out: Annotated[str, typer.Option("-o", "--out", help="folder for the report, and for what is found on the way")],
    seeds: Annotated[int, typer.Option(min=1, help="how many seeds")] = 3,
    quick: Annotated[bool, typer.Option("--quick", help="a sample and small models: some minutes")] = False,
    engine: Annotated[str, typer.Option(help="cpu, gpu, or auto")] = "cpu",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
) -> None:
    """Runs an experiment of the paper with its baselines, and writes a report; goes on where it was interrupted."""
    from paravec.experiments import report, retrieval
    from paravec.experiments.data import snippets
    from paravec.experiments.options import Options
    from paravec.experiments.steps import Steps
    from paravec.settings import Settings

    Settings(engine=engine)  # refuses one that there is not, before any work
    options = Options(tuple(range(seeds)), quick, engine, n_jobs)
    queries = snippets(data)
    steps = Steps(out, lambda line: print(line, file=sys.stderr, flush=True))
    table = retrieval.run(queries, steps, options)
    page = report.write(out, [table], steps.seconds())
    print(table.markdown())
    print(f"written to {page}")
