"""``paravec add MODEL INPUT``"""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    options.register(app, "add", add)


def add(
    model: options.ModelFolder,
    input: Annotated[str, typer.Argument(help=f"{options.INPUT_HELP}; or a corpus")] = "-",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
    **how: Any,
) -> None:
    """Infers the documents of INPUT and appends them to MODEL, all at once or none; what is there is not rewritten.

    Those without ids are numbered on, if the model's documents are numbered.
    """
    from paravec.changes import add_documents

    began = time.perf_counter()
    number = add_documents(model, options.corpus_or_source(input, how), n_jobs=n_jobs)
    print(f"{number} documents added, {time.perf_counter() - began:.1f} s: {model}", file=sys.stderr)
