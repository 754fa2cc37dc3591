"""The command line: one file a verb, options named as in Python with dashes."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Runs the command line: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Errors are one sentence."""
    try:
        code = _interruptible()
    except KeyboardInterrupt:  # another one, while the first was dealt with
        code = 130
    sys.exit(code)


def _interruptible() -> int:
    try:
        from paravec.cli.app import run  # takes a moment, in which an interrupt may come too

        code = run()
    except KeyboardInterrupt:
        code = 130
    if code == 130:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print("paravec: interrupted", file=sys.stderr)
    return code
