"""``paravec infer MODEL INPUT``"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import replace
from typing import Annotated, Any

import typer

from paravec.cli import options
from paravec.errors import UnknownWordsWarning


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    options.register(app, "infer", infer)


def infer(
    model: options.ModelFolder,
    input: Annotated[str, typer.Argument(help=f"{options.INPUT_HELP}; or a corpus")] = "-",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
    **how: Any,
) -> None:
    """Writes a JSON line {"id", "vector"} for every document of INPUT; those without ids are numbered from 1."""
    from paravec import store
    from paravec.corpus import EncodedCorpus

    source = options.corpus_or_source(input, how)
    fitted = store.load(model)
    settings = replace(fitted.settings, n_jobs=n_jobs)
    number, unknown = 0, []
    if isinstance(source, EncodedCorpus):
        warnings.simplefilter("ignore", UnknownWordsWarning)  # told below
        found: Any = [(source.ids, fitted.transform(source, settings))]
    else:
        found = fitted.transform_blocks(source, settings)
    for ids, vectors in found:
        names = range(number + 1, number + 1 + len(vectors)) if ids is None else ids
        for id, vector in zip(names, vectors, strict=True):
            number += 1
            if not vector.any():
                unknown.append(id)
            sys.stdout.write(json.dumps({"id": id, "vector": [round(float(x), 6) for x in vector]}) + "\n")
    sys.stdout.flush()
    if unknown:
        message = f"{len(unknown)} of {number} documents have no word the model knows (the first is {unknown[0]!r})"
        print(f"paravec: warning: {message}", file=sys.stderr)
