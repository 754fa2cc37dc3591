"""``paravec infer MODEL INPUT``"""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    options.register(app, "infer", infer)


def infer(
    model: Annotated[str, typer.Argument(help="a model's folder")],
    input: Annotated[str, typer.Argument(help=options.INPUT_HELP)] = "-",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
    **how: Any,
) -> None:
    """Writes a JSON line {"id", "vector"} for every document of INPUT; those without ids are numbered from 1."""
    from paravec.estimator import ParagraphVector
    from paravec.sources import read

    source = read(input, **how)
    estimator = ParagraphVector.load(model).set_params(n_jobs=n_jobs)
    number, unknown = 0, []
    for ids, vectors in estimator.transform_blocks(source):
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
