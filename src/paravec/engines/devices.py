"""Whether there is a GPU to work with. Nothing of it is imported before someone asks."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from shutil import which

INSTALL = "pip install 'paravec[gpu]'"
_OLDEST = (7, 0)  # compute capability, of Triton


def interpreted() -> bool:
    """Whether kernels run in Triton's interpreter, on the processor: for tests."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def why_no_gpu() -> str | None:
    """What is missing, and the remedy; None if there is a GPU."""
    for name in ("torch", "triton"):
        if find_spec(name) is None:
            return f"{name} is not installed; {INSTALL}"
    try:
        torch, triton = import_module("torch"), import_module("triton")
    except Exception as error:  # a broken installation can raise anything
        return f"PyTorch or Triton cannot be imported ({error}); install them again: {INSTALL}"
    for name, found, needed in (("PyTorch", torch.__version__, (2, 9)), ("Triton", triton.__version__, (3, 4))):
        if tuple(int(part) for part in found.split(".")[:2]) < needed:
            return f"{name} {found} is too old, {needed[0]}.{needed[1]} is needed; {INSTALL}"
    if interpreted():
        return None
    if not os.environ.get("CC") and not any(map(which, ("gcc", "clang"))):
        return "Triton needs a C compiler to start its kernels, and there is no gcc or clang; install one, or set CC"
    if torch.version.cuda is None:
        return "this PyTorch is built without CUDA; install one with it (pytorch.org tells which)"
    if not torch.cuda.is_available():
        return f"PyTorch finds no GPU{_reason(torch)}"
    able = torch.cuda.get_device_capability()
    if able < _OLDEST:
        name = torch.cuda.get_device_name()
        return f"{name} is too old for Triton (compute capability {able[0]}.{able[1]}, 7.0 is needed)"
    return None


def _reason(torch: object) -> str:
    """What the driver says: that there is none, or that it is too old."""
    try:
        torch.cuda.init()  # type: ignore[attr-defined]
    except Exception as error:  # whatever the driver has to say
        return f": {' '.join(str(error).split())}"
    return ""
