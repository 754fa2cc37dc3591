"""``paravec remove MODEL ID...``"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("remove")(remove)


def remove(
    model: options.ModelFolder,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="ids of documents; - reads them, one a line")],
) -> None:
    """Removes documents from MODEL, all at once or none. What the model has learned from them stays."""
    from paravec import store
    from paravec.changes import remove_documents

    kept_as_integers = store.load(model).known_documents().has_integer_ids
    given = sys.stdin.read().splitlines() if ids == ["-"] else ids
    left = remove_documents(model, [options.as_kept(id, 0 if kept_as_integers else "") for id in given])
    print(f"{len(set(given))} documents removed, {left} left: {model}", file=sys.stderr)
