"""``paravec encode INPUT -o CORPUS``"""

from __future__ import annotations

import json
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
    quiet: options.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object when done")] = False,
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
    seconds = time.perf_counter() - began
    tokens, known, ngrams = (
        len(x) for x in (corpus.documents.tokens, corpus.vocabulary.words, corpus.vocabulary.prefix)
    )
    if not quiet:
        print(
            f"{len(corpus)} documents, {tokens} tokens, {known} words, {ngrams} n-grams, {seconds:.1f} s: {out}",
            file=sys.stderr,
        )
    if as_json:
        about = {"documents": len(corpus), "tokens": tokens, "words": known, "n_ngrams": ngrams}
        print(json.dumps(about | {"seconds": round(seconds, 3), "corpus": out}))
