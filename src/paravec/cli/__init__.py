"""The command line: one file a verb, options named as in Python with dashes."""

from __future__ import annotations

import signal
import sys
import warnings
from importlib import metadata
from typing import Annotated, Any

import typer

from paravec.cli import demo, encode, infer, info, similar, train

app = typer.Typer(
    name="paravec",
    help="Document vectors learned from your own corpus (Paragraph Vector).",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _about(
    version: Annotated[bool, typer.Option("--version", is_eager=True, help="show the version and exit")] = False,
) -> None:
    """Document vectors learned from your own corpus (Paragraph Vector)."""
    if version:
        print(f"paravec {metadata.version('paravec')}")
        raise typer.Exit


for verb in (encode, train, infer, similar, info, demo):
    verb.register(app)


def main() -> None:
    """Runs the command line: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Errors are one sentence."""
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing half-written stays behind
    try:
        app()
    except SystemExit as end:
        if end.code == 130:
            _fail("interrupted", 130)
        raise
    except OSError as error:
        sys.exit(_fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error), 1))
    except KeyError as error:
        sys.exit(_fail(str(error.args[0]), 1))
    except (ValueError, TypeError, ArithmeticError, MemoryError, ImportError) as error:
        sys.exit(_fail(str(error) or type(error).__name__, 1))


def _fail(message: str, code: int) -> int:
    print(f"paravec: {message}", file=sys.stderr)
    return code


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"paravec: warning: {message}", file=sys.stderr)
