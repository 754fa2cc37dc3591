"""``paravec info MODEL``"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from paravec.checkpoint import Checkpoint
    from paravec.corpus import EncodedCorpus


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("info")(info)


def info(
    model: Annotated[str, typer.Argument(help="the folder of a model, a checkpoint or an encoded corpus")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Tells what a model (a checkpoint, a corpus) is: its sizes, every setting, and the loss of every epoch.

    Tokens are those of the documents it was trained on (last, if it was trained further).
    """
    from paravec.checkpoint import Checkpoint, is_checkpoint
    from paravec.corpus.encode import corpus_of

    corpus = corpus_of(model)
    if corpus is not None:
        about = _of_corpus(corpus)
    elif is_checkpoint(Path(model)):
        found = Checkpoint.at(model)
        assert found is not None
        about = _of_checkpoint(found)
    else:
        about = _of_model(model)
    about["bytes"] = _size(Path(model))
    if as_json:
        print(json.dumps(about))
        return
    for name, value in (about | about["settings"]).items():
        if name not in ("settings", "loss_history", "validation_history"):
            print(f"{name:20} {_told(value)}")
    for what, title in (("loss_history", "loss of"), ("validation_history", "held out,")):
        for name, losses in about.get(what, {}).items():
            if losses:
                print(f"{title + ' ' + name:20} {' '.join('-' if loss is None else f'{loss:.4f}' for loss in losses)}")


def _told(value: Any) -> str:
    """A value of each model as people say it: dbow 0.07 to 0.0001."""
    if not isinstance(value, dict):
        return str(value)
    told = {name: " to ".join(map(str, each)) if isinstance(each, list) else each for name, each in value.items()}
    return ", ".join(f"{name} {each}" for name, each in told.items())


def _size(folder: Path) -> int:
    sizes = []
    for path, _, names in os.walk(folder):
        with suppress(OSError):  # another process has just replaced it
            sizes += [os.lstat(os.path.join(path, name)).st_size for name in names]
    return sum(sizes)


def _of_model(path: str) -> dict[str, Any]:
    from paravec import store
    from paravec.index import Index

    fitted = store.load(path)
    documents = fitted.documents
    return {
        "what": store.FORMAT,
        "documents": fitted.n_documents,
        "segments": 0 if documents is None else len(documents.segments),
        "removed": 0 if documents is None else len(documents.removed),
        "index": Index.is_beside(Path(path)),
        "trained_documents": fitted.corpus.n_documents,
        "tokens": fitted.corpus.n_tokens,
        "continued": fitted.continued,
        "words": len(fitted.vocabulary.words),
        "n_ngrams": len(fitted.vocabulary.prefix),
        "dimensions": fitted.n_features,
        "document_vectors": fitted.documents is not None,
        "seed": fitted.seed,
        "learning_rates": {
            a.model: [fitted.settings.rate(a), fitted.settings.last_rate(a)] for a in fitted.settings.architectures()
        },
        "kept_epoch": fitted.kept_epochs,
        "settings": fitted.settings.as_dict(),
        "loss_history": fitted.losses,
        "validation_history": {name: store.nulls_for_nan(each) for name, each in fitted.validation_losses.items()},
    }


def _of_checkpoint(found: Checkpoint) -> dict[str, Any]:
    about, history = found.about, found.history()
    return {
        "what": about["format"],
        "position": found.where(),
        "epoch": {name: state.epoch for name, state in history.items()},
        "slice": {name: state.slice for name, state in history.items()},
        "documents": found.corpus.n_documents,
        "tokens": found.corpus.n_tokens,
        "seed": found.seed,
        "settings": about["settings"],
        "loss_history": {name: state.losses for name, state in history.items()},
        "validation_history": {name: state.validation_losses for name, state in history.items()},
    }


def _of_corpus(corpus: EncodedCorpus) -> dict[str, Any]:
    from paravec.corpus.folder import FORMAT

    return {
        "what": FORMAT,
        "documents": len(corpus),
        "tokens": len(corpus.documents.tokens),
        "words": len(corpus.vocabulary.words),
        "n_ngrams": len(corpus.vocabulary.prefix),
        "settings": corpus.encoding.as_dict(),
    }
