"""``paravec index MODEL``"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("index")(index)


def index(
    model: options.ModelFolder,
    recall: Annotated[float, typer.Option(help="the part of the ten nearest documents that is to be found")] = 0.95,
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
) -> None:
    """Builds an index for paravec similar --approximate beside MODEL, and prints what part of the nearest it finds."""
    from paravec.changes import build_index
    from paravec.index import check_recall

    options.usage(check_recall, recall)
    began = time.perf_counter()
    found = build_index(model, recall, n_jobs=n_jobs)
    print(f"recall@10 {found:.3f}, {time.perf_counter() - began:.1f} s: {model}")
