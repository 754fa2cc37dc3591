"""All verbs, and what becomes of their errors."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Annotated, Any

import typer

from paravec import __version__
from paravec.cli import (
    add,
    continue_,
    demo,
    encode,
    export,
    index,
    infer,
    info,
    remove,
    reproduce,
    similar,
    train,
    words,
)

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
        print(f"paravec {__version__}")
        raise typer.Exit


for verb in (encode, train, continue_, infer, add, remove, index, similar, words, info, export, demo, reproduce):
    verb.register(app)


def run() -> int:
    """Runs a verb and gives the exit code; an error becomes a sentence."""
    warnings.showwarning = _show_warning
    if sys.stdout is None:  # it was closed
        return _fail("standard output is closed")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing half-written stays behind
    try:
        code = app(standalone_mode=False, prog_name="paravec")
        sys.stdout.flush()
        return int(code or 0)
    except SystemExit as end:
        if end.code == 143:
            print("paravec: terminated", file=sys.stderr)
        raise
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except KeyError as error:
        return _fail(str(error.args[0]))
    except (ValueError, TypeError, ArithmeticError, LookupError, MemoryError, ImportError, RuntimeError) as error:
        return _fail(str(error) or type(error).__name__)
    except Exception as error:
        if not hasattr(error, "format_message"):  # which all errors of usage have, whatever typer calls them
            raise
        return _wrong_usage(error)


def _wrong_usage(error: Any) -> int:
    path = error.ctx.command_path if getattr(error, "ctx", None) is not None else "paravec"
    message = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":  # whose message is the help
        print(message, file=sys.stderr)
    else:
        print(f"{path}: {message.rstrip('.')}; see {path} --help", file=sys.stderr)
    return int(error.exit_code)


def _fail(message: str) -> int:
    print(f"paravec: {message}", file=sys.stderr)
    return 1


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"paravec: warning: {message}", file=sys.stderr)
