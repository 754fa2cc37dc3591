"""``paravec similar MODEL TEXT``"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("similar")(similar)


def similar(
    model: options.ModelFolder,
    text: Annotated[
        str | None, typer.Argument(help="a text to find similar documents for; - for standard input")
    ] = None,
    id: Annotated[str | None, typer.Option(help="the id of a training document instead of a text")] = None,
    k: options.HowMany = 10,
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON line a document")] = False,
) -> None:
    """Prints the training documents nearest to TEXT, or to the document with an id: score, tab, id."""
    if (text is None) == (id is None):
        raise typer.BadParameter("give a TEXT or an --id, and not both")
    from paravec import store

    fitted = store.load(model)
    if text == "-":
        text = sys.stdin.read()
    wanted = None if id is None else options.as_kept(id, fitted.document_ids()[0])
    options.print_scores(fitted.similar(text, k, wanted), "id", as_json)
