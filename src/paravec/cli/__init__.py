"""The command line: one file a verb, options named as in Python with dashes."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType


def main() -> None:
    """Runs the command line: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Errors are one sentence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and is not ignored, as in the background
        signal.signal(signal.SIGINT, _interrupt)
    try:
        _load_core()
        from paravec.cli.app import run  # takes a moment, in which an interrupt may come too

        code = run()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        _end_interrupted()
    sys.exit(code)


def _load_core() -> None:
    """An interrupt while an extension starts would abort the process, so it waits for the end of that."""
    can_wait = hasattr(signal, "pthread_sigmask")
    if can_wait:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        import paravec._core  # noqa: F401
    finally:
        if can_wait:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _interrupt(number: int, frame: FrameType | None) -> None:
    """The first interrupt lets things be put in order; the next one ends at once, wherever it comes."""
    signal.signal(signal.SIGINT, lambda *_: _end_interrupted())
    raise KeyboardInterrupt


def _end_interrupted() -> None:
    """Ends without the interpreter's own shutdown, in which another interrupt would kill it."""
    with suppress(OSError, ValueError, AttributeError, RuntimeError):  # nobody listens, or it was being done
        sys.stdout.flush()
        sys.stderr.flush()
    with suppress(OSError):
        os.write(2, b"paravec: interrupted\n")
    os._exit(130)
