from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pytest

from paravec import draws
from paravec.corpus import Corpus
from paravec.corpus.encoder import learn
from paravec.engines.base import Pass, Tables
from paravec.engines.devices import interpreted
from paravec.engines.room import zeros
from paravec.model import Model
from paravec.settings import Settings
from paravec.sources import block
from paravec.vocab import Vocabulary

if find_spec("hypothesis"):  # tests of kernels do without
    from hypothesis import settings

    settings.register_profile("no clock", deadline=None)  # on a shared machine, anything may take long once
    settings.load_profile("no clock")

CHOICES = {
    "model": ["dbow", "dm"],
    "combine": ["concat", "mean", "sum"],
    "context": ["left", "both"],
    "pad": ["all", "short"],
    "output": ["hs", "negative", "softmax"],
    "logit": ["dot", "cosine"],
    "train_words": [False, True],
}

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell, which processes inherit
    signal.signal(signal.SIGINT, signal.default_int_handler)

COMMAND = [sys.executable, "-m", "paravec"]


def pytest_collection_modifyitems(items):
    """Kernels of the GPU engine run on a GPU or in Triton's interpreter; some of their tests need the GPU."""
    kernels = [item for item in items if item.path.parent.name == "gpu"]
    if not kernels or find_spec("torch") is None:
        return  # without PyTorch, their modules skip themselves
    import torch

    has_gpu = torch.cuda.is_available() and not interpreted()
    for item in kernels:
        if not has_gpu and item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a GPU: make test-gpu on a machine that has one"))
        elif not has_gpu and not interpreted():
            item.add_marker(pytest.mark.skip(reason="needs a GPU, or Triton's interpreter: make test-triton"))


def combinations(**more: list) -> list[dict]:
    """Every combination of choices that has a meaning, once."""
    choices = {**CHOICES, **more}
    found = []
    for values in itertools.product(*choices.values()):
        kept = dict(zip(choices, values, strict=True))
        if kept["model"] == "dbow" and (kept["combine"], kept["pad"]) != ("concat", "all"):
            continue  # dbow has no context to combine or to pad
        if kept["model"] == "dbow" and not kept["train_words"] and kept["context"] == "both":
            continue
        if kept["model"] == "dm" and kept["combine"] == "concat":
            kept["word_size"] = 7
        try:
            Settings(vector_size=9, window=4, **kept)
        except ValueError:
            continue
        found.append(kept)
    return found


def name_of(combination: dict) -> str:
    return "-".join(str(v) for v in combination.values())


@dataclass
class Case:
    """A small corpus and a model in the middle of its training, so that nothing is zero by chance."""

    settings: Settings
    vocabulary: Vocabulary
    corpus: Corpus
    tables: Tables
    model: Model

    def work(self, epoch: int = 0, rate: float | None = None, seed: int = 1) -> Pass:
        order = draws.document_order(seed, epoch, self.model.architecture.is_dm, len(self.corpus))
        rate = rate or (0.05 if self.settings.logit == "dot" else 0.01)
        return Pass(seed, epoch, order, np.linspace(rate, rate / 2, len(order)).astype(np.float32))


def documents(lengths=(1, 2, 3, 5, 8, 13, 21, 34, 70, 12, 0, 4), words: int = 40, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    return [[f"w{min(k, words - 1)}" for k in rng.geometric(0.1, size=n)] for n in lengths]


def make_case(docs=None, seed: int = 0, **settings) -> Case:
    chosen = Settings(
        **{"vector_size": 9, "window": 4, "min_count": 1, "batch_size": 7, "ngram_min_count": 2, **settings}
    )
    vocabulary, corpus = learn(docs or documents(), chosen)
    architecture = chosen.architectures()[0]
    tables = Tables.of(architecture, vocabulary, chosen.sample)
    if architecture.is_dm:
        corpus = corpus.words_only(vocabulary)
    rng = np.random.default_rng(seed)

    def some(rows: int, columns: int):
        out = zeros(rows, columns)
        out[:] = rng.normal(scale=0.3, size=out.shape)
        return out

    rows = tables.n_targets - (chosen.output == "hs")
    model = Model(
        architecture,
        documents=np.ascontiguousarray(some(len(corpus), architecture.vector_size)),
        words=some(len(vocabulary.words) + 1, architecture.word_size) if architecture.has_words else None,
        outputs=some(rows, architecture.width),
        bias=rng.normal(scale=0.3, size=rows).astype(np.float32) if architecture.has_bias else None,
    )
    return Case(chosen, vocabulary, corpus, tables, model)


@pytest.fixture(scope="session")
def python_docs() -> list[tuple[str, str]]:
    """A real corpus that every machine has."""
    from paravec.cli.demo import documentation

    return list(documentation())


@pytest.fixture
def small_blocks(monkeypatch):
    """Sets the size of blocks that sources are read in."""
    return lambda size: monkeypatch.setattr(block, "BLOCK_BYTES", size)


def paravec(*arguments: str, given: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*COMMAND, *map(str, arguments)], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory, python_docs):
    folder = tmp_path_factory.mktemp("cli")
    (folder / "corpus.txt").write_text("".join(text + "\n" for _, text in python_docs[:200]), encoding="utf-8")
    paravec("train", folder / "corpus.txt", "-o", folder / "model", "--vector-size", "8", "--epochs", "3")
    return folder
