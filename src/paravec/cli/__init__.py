"""The command line: one file a verb, options named as in Python with dashes."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command line: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Errors are one sentence."""
    try:
        from paravec.cli.app import run  # takes a moment, in which an interrupt may come too

        code = run()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        _end_interrupted()
    sys.exit(code)


def _end_interrupted() -> None:
    """Ends at once, whatever comes: while the interpreter shuts down, another interrupt would kill it."""
    while True:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            os.write(2, b"paravec: interrupted\n")
        except KeyboardInterrupt:
            continue
        except (OSError, ValueError, AttributeError):
            pass  # nobody listens any more
        os._exit(130)
