"""``paravec train INPUT -o MODEL``"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Annotated, Any

import typer

from paravec.cli import options
from paravec.settings import Settings

_LEFT_OUT = ("freeze_words",)  # word vectors cannot be given on the command line yet


def register(app: typer.Typer) -> None:
    """Adds the verb, with an option for every setting."""
    options.register(app, "train", train, Settings, _LEFT_OUT)


def train(
    input: options.CorpusOrInput,
    out: Annotated[str, typer.Option("-o", "--out", help="the folder to write the model to")],
    random_state: Annotated[int, typer.Option(help="seed of all draws")] = 0,
    vocabulary: options.Vocabulary = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    **given: Any,
) -> None:
    """Learns vectors from INPUT and writes the model to a folder. Documents without ids are numbered from 1."""
    how = options.taken(given)
    options.checked(Settings, given)
    from paravec import store
    from paravec.estimator import ParagraphVector

    store.check_model_target(out)
    if quiet:
        warnings.simplefilter("ignore")
    began = time.perf_counter()
    source = options.corpus_or_source(input, how)
    words = options.vocabulary_of(vocabulary)
    estimator = ParagraphVector(random_state=random_state, verbose=not quiet, vocabulary=words, **given)
    estimator.fit(source)
    estimator.save(out)
    if not quiet:
        seconds = time.perf_counter() - began
        known = len(estimator.vocabulary_)
        print(f"{estimator.n_documents_} documents, {known} words, {seconds:.1f} s: {out}", file=sys.stderr)
