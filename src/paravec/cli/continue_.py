"""``paravec continue MODEL INPUT -o NEWER``"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Annotated, Any

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    options.register(app, "continue", go_on)


def go_on(
    model: options.ModelFolder,
    input: options.CorpusOrInput,
    out: Annotated[str, typer.Option("-o", "--out", help="folder to write to; MODEL itself, to replace it")],
    grow_vocabulary: Annotated[
        bool, typer.Option("--grow-vocabulary", help="learn new words that are frequent enough, too")
    ] = False,
    epochs: Annotated[int | None, typer.Option(min=1, help="as many as in the fit if left out")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="of the first epoch")] = None,
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
    quiet: options.Quiet = False,
    **how: Any,
) -> None:
    """Trains MODEL further on INPUT, whose documents are those of the new model: it does not have the former ones."""
    from paravec import ParagraphVector, store

    store.check_model_target(out)
    if quiet:
        warnings.simplefilter("ignore")
    began = time.perf_counter()
    fitted = ParagraphVector.load(model)
    given = {"epochs": epochs, "learning_rate": learning_rate}
    fitted.set_params(n_jobs=n_jobs, verbose=not quiet, **{k: v for k, v in given.items() if v is not None})
    fitted.continue_fit(options.corpus_or_source(input, how), grow_vocabulary=grow_vocabulary)
    fitted.save(out)
    if not quiet:
        words, seconds = len(fitted.vocabulary_), time.perf_counter() - began
        print(f"{fitted.n_documents_} documents, {words} words, {seconds:.1f} s: {out}", file=sys.stderr)
