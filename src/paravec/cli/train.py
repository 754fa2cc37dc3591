"""``paravec train INPUT -o MODEL``"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paravec.cli import options
from paravec.settings import Settings

if TYPE_CHECKING:
    from paravec.fitting import Place


def register(app: typer.Typer) -> None:
    """Adds the verb, with an option for every setting."""
    options.register(app, "train", train, Settings)


def train(
    input: options.CorpusOrInput,
    out: Annotated[str, typer.Option("-o", "--out", help="the folder to write the model to")],
    resume: Annotated[
        bool, typer.Option("--resume", help="go on from the checkpoint beside MODEL, or begin if there is none")
    ] = False,
    documents: Annotated[bool, typer.Option(help="keep the vectors and ids of the training documents")] = True,
    random_state: Annotated[int, typer.Option(help="seed of all draws")] = 0,
    vocabulary: options.Vocabulary = None,
    word_vectors: Annotated[
        str | None, typer.Option(help="word vectors to start from: a file in the word2vec format, .bin if binary")
    ] = None,
    quiet: options.Quiet = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object when done")] = False,
    **given: Any,
) -> None:
    """Learns vectors from INPUT and writes the model to a folder. Documents without ids are numbered from 1.

    Checkpoints (--checkpoint-every) are written to MODEL.checkpoint, and removed when the model is complete.
    """
    how = options.taken(given)
    settings = options.checked(Settings, given)
    seed = options.seed(random_state)
    from paravec import store
    from paravec.fitting import Job, Place, fit
    from paravec.folders import remove
    from paravec.progress import Sight

    store.check_model_target(out)
    place = None
    if resume or settings.checkpoint_every is not None:
        beside = os.path.normpath(out) if Path(out).name else os.path.abspath(out)
        place = Place(f"{beside}.checkpoint", resume)
    found = None if place is None else place.found(settings)
    if quiet:
        warnings.simplefilter("ignore")
    began = time.perf_counter()
    given_words = options.word_vectors_of(word_vectors, settings)
    source = options.corpus_or_source(input, how)
    known = options.vocabulary_of(vocabulary)
    job = Job.of(settings, seed, source, vocabulary=known, given=given_words, verbose=not quiet)
    sight = Sight(not quiet)
    if resume and found is None and store.is_result(out, job.start, job.corpus.ids if documents else None):
        sight.say(f"{out} is complete: it was trained on this corpus with these settings")
        fitted = store.load(out)
    else:
        try:
            with sight:
                fitted = fit(job, sight, (), place, found)
        except (KeyboardInterrupt, SystemExit):  # the latter, if it is terminated
            _tell_of_checkpoint(place)
            raise
        store.save(fitted, out, documents)
    if place is not None:
        remove(place.path)
    seconds = time.perf_counter() - began
    n_documents, n_words = fitted.corpus.n_documents, len(fitted.vocabulary.words)
    sight.say(f"{n_documents} documents, {n_words} words, {seconds:.1f} s: {out}")
    if as_json:
        about = {"documents": n_documents, "words": n_words, "seconds": round(seconds, 3), "model": out}
        history = {"loss_history": fitted.losses, "validation_history": fitted.validation_losses}
        print(json.dumps(about | history | {"kept_epoch": fitted.kept_epochs}))


def _tell_of_checkpoint(place: Place | None) -> None:
    from paravec.checkpoint import Checkpoint

    found = None if place is None else Checkpoint.at(place.path)
    if found is not None:
        print(f"paravec: the checkpoint {found.folder} ({found.where()}) stays; go on with --resume", file=sys.stderr)
