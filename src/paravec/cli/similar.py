"""``paravec similar MODEL TEXT``"""

from __future__ import annotations

import json
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("similar")(similar)


def similar(
    model: Annotated[str, typer.Argument(help="a model's folder")],
    text: Annotated[str | None, typer.Argument(help="a text to find similar documents for")] = None,
    id: Annotated[str | None, typer.Option(help="the id of a training document instead of a text")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="how many")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON line a document")] = False,
) -> None:
    """Prints the training documents nearest to TEXT, or to the document with an id: score, tab, id."""
    if (text is None) == (id is None):
        raise typer.BadParameter("give a TEXT or an --id, and not both")
    from paravec.estimator import ParagraphVector

    estimator = ParagraphVector.load(model)
    wanted: str | int | None = id
    if id is not None and estimator.document_ids_ and isinstance(estimator.document_ids_[0], int):
        wanted = int(id) if id.lstrip("-").isdecimal() else id
    found = estimator.similar(id=wanted, k=k) if id is not None else estimator.similar(text, k)
    for name, score in found:
        print(json.dumps({"id": name, "score": round(score, 6)}) if as_json else f"{score:.4f}\t{name}")
