"""What a benchmark ran on."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def described() -> dict[str, object]:
    """Processor, cores, memory, system and interpreter."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("model name")]
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(pages / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
    }
