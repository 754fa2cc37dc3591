"""``paravec train INPUT -o MODEL``"""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from dataclasses import fields
from typing import Annotated, Any, get_type_hints

import typer

from paravec.settings import Settings
from paravec.sources import lines

_LEFT_OUT = ("freeze_words",)  # word vectors cannot be given on the command line yet


def register(app: typer.Typer) -> None:
    """Adds the verb, with an option for every setting."""
    hints = {**get_type_hints(Settings), "tokenizer": str}
    options = [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=Annotated[hints[each.name], typer.Option(help=each.metadata["help"])],
        )
        for each in fields(Settings)
        if each.name not in _LEFT_OUT
    ]
    annotations = get_type_hints(train, include_extras=True)
    own = [
        p.replace(annotation=annotations[p.name])
        for p in inspect.signature(train).parameters.values()
        if p.kind is not inspect.Parameter.VAR_KEYWORD
    ]

    def command(**given: Any) -> None:
        train(**given)

    command.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in [*own, *options]}
    app.command("train", help=train.__doc__)(command)


def train(
    *,
    input: Annotated[str, typer.Argument(help="a text file with a document a line, or - for standard input")],
    out: Annotated[str, typer.Option("-o", "--out", help="the folder to write the model to")],
    random_state: Annotated[int, typer.Option(help="seed of all draws")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    **settings: Any,
) -> None:
    """Learns vectors from INPUT and writes the model to a folder. Document ids are line numbers, from 1."""
    try:
        Settings(**settings)
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from None
    from paravec import store
    from paravec.estimator import ParagraphVector

    store.check_target(out)
    if quiet:
        warnings.simplefilter("ignore")
    began = time.perf_counter()
    texts = list(lines(input))
    estimator = ParagraphVector(random_state=random_state, verbose=not quiet, **settings)
    estimator.fit(texts, ids=range(1, len(texts) + 1))
    estimator.save(out)
    if not quiet:
        seconds = time.perf_counter() - began
        words = len(estimator.vocabulary_)
        print(f"{estimator.n_documents_} documents, {words} words, {seconds:.1f} s: {out}", file=sys.stderr)
