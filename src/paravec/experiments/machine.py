"""What a run is made on."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path


@cache
def described() -> dict[str, object]:
    """Processor, cores, memory, system and interpreter."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0
    return {
        "processor": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def in_words() -> str:
    """The same in a line, with the GPU, if one is used."""
    about = described()
    torch = sys.modules.get("torch")  # which a GPU would have been used by
    gpu = f"{torch.cuda.get_device_name()}, " if torch is not None and torch.cuda.is_initialized() else ""
    return (
        f"{gpu}{about['processor']}, {about['cores']} cores, {about['memory_gb']} GB, {about['system']}, "
        f"Python {about['python']}"
    )
