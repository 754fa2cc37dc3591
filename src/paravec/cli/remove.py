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

    documents, _ = store.documents_of(model)
    example = 0 if documents.has_integer_ids else ""
    given = options.ids_of(_input(), example) if ids == ["-"] else [options.as_kept(id, example) for id in ids]
    left = remove_documents(model, given)
    print(f"{len(set(given))} documents removed, {left} left: {model}", file=sys.stderr)


def _input() -> str:
    """Standard input, with its line ends as they are."""
    return sys.stdin.buffer.read().decode("utf-8")
