"""What is said where there is no GPU."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from conftest import documents
from paravec import DeviceError, EngineWarning, ParagraphVector
from paravec.engines import devices, warn_once


class NoDriver:
    """CUDA as PyTorch has it on a machine without a usable driver."""

    def __init__(self, words: str) -> None:
        self.words = words

    def is_available(self) -> bool:
        return False

    def init(self) -> None:
        raise RuntimeError(self.words)


class OldCard:
    def is_available(self) -> bool:
        return True

    def get_device_capability(self) -> tuple[int, int]:
        return (6, 1)

    def get_device_name(self) -> str:
        return "A card of 2016"


@pytest.fixture
def machine(monkeypatch):
    """Makes this a machine with a certain PyTorch, or without one."""

    def make(
        cuda=None, version="13.0", missing=(), torch_version="2.13.0+cu130", triton_version="3.6.0", compiler="cc"
    ):
        warn_once.cache_clear()
        monkeypatch.delenv("TRITON_INTERPRET", raising=False)
        monkeypatch.setattr(devices, "find_spec", lambda name: None if name in missing else object())
        torch = SimpleNamespace(__version__=torch_version, version=SimpleNamespace(cuda=version), cuda=cuda)
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "triton", SimpleNamespace(__version__=triton_version))
        monkeypatch.delenv("CC", raising=False)
        monkeypatch.setattr(devices, "which", lambda name: compiler)

    return make


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"missing": ("torch",)}, r"torch is not installed; pip install 'paravec\[gpu\]'"),
        ({"missing": ("triton",)}, r"triton is not installed; pip install 'paravec\[gpu\]'"),
        ({"torch_version": "2.8.1"}, r"PyTorch 2\.8\.1 is too old, 2\.9 is needed"),
        ({"triton_version": "3.3.1"}, r"Triton 3\.3\.1 is too old, 3\.4 is needed"),
        ({"compiler": None}, "needs a C compiler to start its kernels, and there is no gcc or clang"),
        ({"version": None}, "built without CUDA"),
        (
            {"cuda": NoDriver("The NVIDIA driver on your\nsystem is too old")},
            "no GPU: The NVIDIA driver on your system is too",
        ),
        ({"cuda": NoDriver("Found no NVIDIA driver")}, "no GPU: Found no NVIDIA driver"),
        ({"cuda": OldCard()}, r"A card of 2016 is too old for Triton \(compute capability 6\.1"),
    ],
    ids=["torch", "triton", "old torch", "old triton", "compiler", "cuda", "old driver", "no driver", "old card"],
)
def test_a_missing_gpu_is_told_before_any_work(machine, given, words):
    machine(**given)

    def nobody_asks():
        raise AssertionError("documents are read before the GPU is looked for")
        yield

    with pytest.raises(DeviceError, match=words):
        ParagraphVector(engine="gpu", min_count=1, epochs=1).fit(nobody_asks())


def test_auto_falls_back_to_the_processor_and_says_why(machine):
    machine(missing=("torch",))
    with pytest.warns(EngineWarning, match="works on the processor: torch is not installed") as told:
        fitted = ParagraphVector(engine="auto", min_count=1, epochs=1, vector_size=4).fit(documents((5, 5)))
    assert len(told) == 1
    assert fitted.document_vectors_.shape == (2, 4)


def test_nothing_of_it_is_imported_otherwise():
    import subprocess

    code = (
        "import sys; from paravec import ParagraphVector; "
        "ParagraphVector(min_count=1, epochs=1, vector_size=4).fit(['a b', 'b a']).transform(['a']); "
        "assert not {'torch', 'triton'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
