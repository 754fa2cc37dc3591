"""``paravec infer MODEL INPUT``"""

from __future__ import annotations

import json
import sys
import warnings
from itertools import islice
from typing import Annotated

import typer

from paravec.errors import UnknownWordsWarning
from paravec.sources import lines

_AT_ONCE = 10_000


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("infer")(infer)


def infer(
    model: Annotated[str, typer.Argument(help="a model's folder")],
    input: Annotated[str, typer.Argument(help="a text file with a document a line, or - for standard input")] = "-",
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
) -> None:
    """Writes a JSON line {"id", "vector"} for every document of INPUT; ids are line numbers, from 1."""
    from paravec.estimator import ParagraphVector

    estimator = ParagraphVector.load(model).set_params(n_jobs=n_jobs)
    warnings.simplefilter("ignore", UnknownWordsWarning)  # which counts batch by batch; here it is lines
    texts = lines(input)
    number, unknown = 0, []
    while batch := list(islice(texts, _AT_ONCE)):
        for vector in estimator.transform(batch):
            number += 1
            if not vector.any():
                unknown.append(number)
            sys.stdout.write(json.dumps({"id": number, "vector": [round(float(x), 6) for x in vector]}) + "\n")
    sys.stdout.flush()
    if unknown:
        message = f"{len(unknown)} of {number} documents have no word the model knows (the first is line {unknown[0]})"
        print(f"paravec: warning: {message}", file=sys.stderr)
