"""``paravec info MODEL``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from paravec.corpus import EncodedCorpus


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("info")(info)


def info(
    model: Annotated[str, typer.Argument(help="the folder of a model or of an encoded corpus")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Tells what a model (or a corpus) is: its sizes, every setting, and the loss of every epoch."""
    from paravec.corpus.encode import corpus_of

    corpus = corpus_of(model)
    about = _of_model(model) if corpus is None else _of_corpus(corpus)
    about["bytes"] = sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file())
    if as_json:
        print(json.dumps(about))
        return
    for name, value in about.items():
        if not isinstance(value, dict):
            print(f"{name:20} {value}")
    for name, value in about["settings"].items():
        print(f"{name:20} {value}")
    for name, losses in about.get("loss_history", {}).items():
        print(f"{'loss of ' + name:20} {' '.join(f'{loss:.4f}' for loss in losses)}")


def _of_model(path: str) -> dict[str, Any]:
    from paravec.estimator import ParagraphVector

    estimator = ParagraphVector.load(path)
    return {
        "documents": estimator.n_documents_,
        "words": len(estimator.vocabulary_),
        "n-grams": estimator._vocabulary.size - len(estimator.vocabulary_),
        "seed": estimator.seed_,
        "settings": estimator.settings_.as_dict(),
        "loss_history": estimator.loss_history_,
    }


def _of_corpus(corpus: EncodedCorpus) -> dict[str, Any]:
    return {
        "documents": len(corpus),
        "tokens": len(corpus.documents.tokens),
        "words": len(corpus.vocabulary.words),
        "n-grams": len(corpus.vocabulary.prefix),
        "settings": corpus.encoding.as_dict(),
    }
