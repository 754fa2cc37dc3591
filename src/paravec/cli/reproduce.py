"""``paravec reproduce EXPERIMENT --data PATH -o REPORT``"""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Experiment(str, Enum):
    """What can be run."""

    imdb = "imdb"
    sst = "sst"
    retrieval = "retrieval"
    words = "words"
    all = "all"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("reproduce")(reproduce)


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="which of the paper's experiments")],
    data: Annotated[
        list[Path], typer.Option("--data", help="an official file, or a folder that holds it; may be given again")
    ],
    out: Annotated[str, typer.Option("-o", "--out", help="folder for the report, and for what is found on the way")],
    seeds: Annotated[int | None, typer.Option(min=1, help="how many seeds; 3, or 1 with --quick")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="a sample and small models: some minutes")] = False,
    engine: Annotated[str, typer.Option(help="cpu, gpu, or auto")] = "cpu",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
) -> None:
    """Runs experiments of the paper with their baselines, and writes a report; goes on where it was interrupted."""
    from paravec.engines import on_gpu
    from paravec.experiments import plots, report
    from paravec.experiments.catalogue import EXPERIMENTS, prepared
    from paravec.experiments.options import Options
    from paravec.experiments.steps import Steps
    from paravec.settings import Settings

    on_gpu(Settings(engine=engine))  # refuses one that there is not, before any work
    plots.check_there()
    options = Options(tuple(range(seeds or (1 if quick else 3))), quick, engine, n_jobs, sys.stderr.isatty())
    names = list(EXPERIMENTS) if experiment is Experiment.all else [experiment.value]
    name = "report" if experiment is Experiment.all else experiment.value
    runs = prepared(names, data)
    steps = Steps(out, lambda line: print(line, file=sys.stderr, flush=True))
    listings = []
    for run in runs:
        found = run(steps, options)
        listings += found
        page = report.write(out, name, listings, steps, options)
        print("\n".join(map(report.markdown, found)), flush=True)
    print(f"written to {page}")
