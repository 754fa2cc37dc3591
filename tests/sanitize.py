"""Builds the core with sanitizers, each in an environment of its own, and runs tests on it: ``make sanitize``.

AddressSanitizer and UBSan see everything; ThreadSanitizer sees inference and the encoding of text, because
training races by design.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FROZEN = ["tests/test_inference.py", "tests/test_score.py"]
ENGINE = ["tests/test_parity.py", "tests/test_training.py", *FROZEN]
TEXT = ["tests/test_text.py", "tests/test_encoder.py", "tests/test_labels.py"]
KINDS = {
    "address,undefined": (
        "libasan.so",
        [*ENGINE, *TEXT],
    ),
    "thread": ("libtsan.so", [*FROZEN, *TEXT, "-k", "same_bits or instruction or zero or threads"]),
}
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter's own
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}


def main() -> None:
    for kind, (library, tests) in KINDS.items():
        folder = ROOT / "build" / f"sanitize-{kind.replace(',', '-')}"
        python = folder / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        chosen = {"cmake.define.PARAVEC_SANITIZE": kind, "build-dir": folder / "objects"}  # not where others are built
        settings = [f"--config-settings={name}={value}" for name, value in chosen.items()]
        subprocess.run([*install, *settings, f"{ROOT}[dev]"], check=True)
        # libstdc++ too: a sanitizer that is loaded before it cannot follow C++ exceptions.
        preload = " ".join(where(name) for name in (library, "libstdc++.so"))
        environment = {**os.environ, **OPTIONS, "LD_PRELOAD": preload}
        print(f"== {kind}", flush=True)
        subprocess.run(
            [python, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests], cwd=ROOT, env=environment, check=True
        )


def where(library: str) -> str:
    asked = subprocess.run(["g++", f"-print-file-name={library}"], capture_output=True, text=True, check=True)
    return asked.stdout.strip()


if __name__ == "__main__":
    main()
