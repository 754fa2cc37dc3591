"""Readings of a benchmark, in a process of their own: ``reading.py MODULE FUNCTION``, run by ``beside.readings``.

Arguments come as JSON, the first line of standard input, and answers are lines of standard output. A function that
yields answers is asked for the next one by every further line.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

if __name__ == "__main__":
    module, function = sys.argv[1:]
    answer = getattr(import_module(module), function)(**json.loads(sys.stdin.readline()))
    if isinstance(answer, dict):
        print(json.dumps(answer))
    else:
        for _ in sys.stdin:
            print(json.dumps(next(answer)), flush=True)
