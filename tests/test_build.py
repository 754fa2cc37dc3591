from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from paravec import _core

OBJECTS = sorted((Path(__file__).parent.parent / "build").glob("cp*/CMakeFiles/_core.dir/src/core/kernels/*.o"))


def test_a_portable_kernel_is_always_there():
    assert _core.available_kernels()[-1] == "portable"


@pytest.mark.skipif(not OBJECTS, reason="installed from elsewhere: the object files of the build are not here")
def test_instruction_sets_share_no_code():
    # Anything but the one table could be merged by the linker, and then run on a processor that lacks the set.
    for path in OBJECTS:
        lines = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout.splitlines()
        exported = [line.split(maxsplit=2) for line in lines if line.split()[-2] in "TDBRWVuG"]
        assert [name for _, _, name in exported] == [f"paravec::{path.name.split('.')[0]}::kernels"]
