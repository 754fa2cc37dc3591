"""``paravec info MODEL``"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("info")(info)


def info(
    model: Annotated[str, typer.Argument(help="a model's folder")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Tells what a model is: its sizes, every setting, and the loss of every epoch."""
    from paravec.estimator import ParagraphVector

    estimator = ParagraphVector.load(model)
    about: dict[str, Any] = {
        "documents": estimator.n_documents_,
        "words": len(estimator.vocabulary_),
        "n-grams": estimator._vocabulary.size - len(estimator.vocabulary_),
        "bytes": sum(file.stat().st_size for file in Path(model).rglob("*") if file.is_file()),
        "seed": estimator.seed_,
        "settings": estimator.settings_.as_dict(),
        "loss_history": estimator.loss_history_,
    }
    if as_json:
        print(json.dumps(about))
        return
    for name in ("documents", "words", "n-grams", "bytes", "seed"):
        print(f"{name:20} {about[name]}")
    for name, value in about["settings"].items():
        print(f"{name:20} {value}")
    for name, losses in about["loss_history"].items():
        print(f"{'loss of ' + name:20} {' '.join(f'{loss:.4f}' for loss in losses)}")
