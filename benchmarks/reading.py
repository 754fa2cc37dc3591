"""One reading of a benchmark, in a process of its own: ``reading.py MODULE FUNCTION``, run by ``beside.readings``.

Arguments come as JSON on standard input, and the answer is the last line of standard output.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

if __name__ == "__main__":
    module, function = sys.argv[1:]
    arguments = json.loads(sys.stdin.read())
    print(json.dumps(getattr(import_module(module), function)(**arguments)))
