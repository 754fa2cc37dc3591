"""``paravec words MODEL WORD``"""

from __future__ import annotations

from typing import Annotated

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("words")(words)


def words(
    model: options.ModelFolder,
    positive: Annotated[list[str], typer.Argument(metavar="WORD...", help="a word, or several to be added")],
    negative: Annotated[list[str] | None, typer.Option(help="a word to be taken away; may be repeated")] = None,
    k: options.HowMany = None,
    as_json: Annotated[bool, typer.Option("--json", help="print a JSON line a word")] = False,
) -> None:
    """Prints the words nearest to a word, or to the sum of some minus others: score, tab, word."""
    from paravec import store

    fitted = store.load(model)
    known = fitted.vocabulary.words[0]
    added, taken = ([options.as_kept(word, known) for word in given] for given in (positive, negative or []))
    options.print_scores(fitted.analogy(added, taken, k), "word", as_json)
