"""``paravec encode INPUT -o CORPUS``"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Annotated, Any

import typer

from paravec.cli import options
from paravec.settings import Encoding


def register(app: typer.Typer) -> None:
    """Adds the verb, with an option for every setting of an encoding."""
    options.register(app, "encode", encode, Encoding)


def encode(
    input: options.Input,
    out: Annotated[str, typer.Option("-o", "--out", help="the folder to write the corpus to")],
    vocabulary: options.Vocabulary = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="print nothing but errors")] = False,
    **given: Any,
) -> None:
    """Turns INPUT into a corpus of token ids, a folder that can be trained on again and again."""
    how = options.taken(given)
    options.checked(Encoding, given)
    from paravec.corpus.encode import encode as encode_corpus
    from paravec.corpus.folder import check_corpus_target

    check_corpus_target(out)
    if quiet:
        warnings.simplefilter("ignore")
    began = time.perf_counter()
    source = options.source_of(input, how)
    words = options.vocabulary_of(vocabulary)
    corpus = encode_corpus(source, out, vocabulary=words, progress=not quiet, **given)
    if not quiet:
        seconds = time.perf_counter() - began
        known, ngrams = len(corpus.vocabulary.words), len(corpus.vocabulary.prefix)
        print(
            f"{len(corpus)} documents, {len(corpus.documents.tokens)} tokens, {known} words, {ngrams} n-grams, "
            f"{seconds:.1f} s: {out}",
            file=sys.stderr,
        )
