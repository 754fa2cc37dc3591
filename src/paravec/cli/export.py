"""``paravec export MODEL -o FILE``"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from paravec.cli import options


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("export")(export)


def export(
    model: options.ModelFolder,
    out: Annotated[str, typer.Option("-o", "--out", help="the file to write, which must not exist yet")],
    what: Annotated[str, typer.Option(help="documents or words")] = "documents",
    format: Annotated[
        str, typer.Option(help="auto (by the ending), word2vec (text), word2vec-binary, npy, npz or parquet")
    ] = "auto",
) -> None:
    """Writes the vectors of a model's documents or words to a file (.txt, .bin, .npy, .npz, .parquet)."""
    from paravec import store
    from paravec.interchange.export import export as write
    from paravec.interchange.export import format_for

    options.usage(format_for, out, what, format)
    written = write(store.load(model), out, what, format)
    print(f"{len(written)} {what}, {written.size} dimensions: {out}", file=sys.stderr)
