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
    id: Annotated[str | None, typer.Option(help="the id of a document instead of a text")] = None,
    among: Annotated[str | None, typer.Option(help="a file of ids, one a line: look at these documents only")] = None,
    approximate: Annotated[bool, typer.Option("--approximate", help="ask the index of paravec index")] = False,
    k: options.HowMany = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON line a document")] = False,
) -> None:
    """Prints the documents nearest to TEXT, or to the document with an id: score, tab, id."""
    if (text is None) == (id is None):
        raise typer.BadParameter("give a TEXT or an --id, and not both")
    from paravec import store

    fitted = store.load(model)
    if text == "-":
        text = sys.stdin.read()
    example = 0 if fitted.known_documents().has_integer_ids else ""
    wanted = None if id is None else options.as_kept(id, example)
    some = None
    if among is not None:
        with open(among, encoding="utf-8", newline="") as file:
            some = options.ids_of(file.read(), example)
    options.print_scores(fitted.similar(text, k, wanted, some, approximate), "id", as_json)
