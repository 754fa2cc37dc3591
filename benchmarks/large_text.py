"""A large generated text, encoded and trained for an epoch by the command line, with an eye on its memory."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from paravec import EncodedCorpus

_WORDS = 1_000_000
_PIECE = 10_000_000  # words made at once
_LONG_LINE = 200_000_000  # bytes
_VECTOR_SIZE = 100


def generate(path: Path, size: int, seed: int = 0) -> int:
    """Zipfian words in lines of uneven lengths, one of them of 200 MB; returns the number of lines."""
    rng = np.random.default_rng(seed)
    names = np.array([_name(i) for i in range(_WORDS)], dtype=object)
    lines, written = 0, 0
    with open(path, "wb") as file:
        while written < size:
            words = names[_zipf(rng.random(_PIECE))]
            if lines and written < size // 2 <= written + 60_000_000:  # in the middle
                piece = (" ".join(words).encode() * 10)[:_LONG_LINE] + b"\n"
                lines += 1
            else:
                lengths = rng.lognormal(5, 1, _PIECE // 100).astype(np.int64) + 1
                ends = np.cumsum(lengths)
                ends = ends[ends < _PIECE]
                words[ends] = "\n" + words[ends]
                piece = " ".join(words).encode() + b"\n"
                lines += len(ends) + 1
            written += file.write(piece)
    return lines


def _zipf(uniform: np.ndarray) -> np.ndarray:
    """Ranks with probabilities that fall like 1 / rank^1.05."""
    power = 1 - 1.05
    ranks = ((_WORDS**power - 1) * uniform + 1) ** (1 / power)
    return np.minimum(ranks.astype(np.int64) - 1, _WORDS - 1)


def _name(rank: int) -> str:
    """A word of its own for each rank, short for the frequent ones."""
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    word = ""
    rank += 26 + 26**2  # three letters at least
    while True:
        word += letters[rank % 26]
        rank = rank // 26 - 1
        if rank < 0:
            return word


def anonymous_peak(command: list[str]) -> tuple[int, float]:
    """The most anonymous memory that a process had at once, in bytes, looked at 20 times a second; and its seconds."""
    began, most = time.perf_counter(), 0
    with subprocess.Popen([sys.executable, "-m", "paravec", *command]) as run:
        while run.poll() is None:
            try:
                status = Path(f"/proc/{run.pid}/status").read_text()
            except OSError:
                break
            sizes = [int(line.split()[1]) for line in status.splitlines() if line.startswith("RssAnon")]
            most = max([most, *sizes])
            time.sleep(0.05)
    if run.returncode:
        raise RuntimeError(f"paravec {command[0]} failed with {run.returncode}")
    return most * 1024, time.perf_counter() - began


def measure(folder: Path, gigabytes: float) -> dict[str, Any]:
    """Peaks and times of ``paravec encode`` and of one epoch of ``paravec train`` on what it made."""
    text, corpus, model = folder / "large.txt", folder / "large", folder / "model"
    lines = generate(text, int(gigabytes * 1e9))
    size = text.stat().st_size
    print(f"  {size / 1e9:.2f} GB in {lines:,} lines", flush=True)
    encode_peak, encode_seconds = anonymous_peak(["encode", str(text), "-o", str(corpus), "--n-jobs", "2"])
    opened = EncodedCorpus.open(corpus)
    parameters = 4 * _VECTOR_SIZE * len(opened) + 4 * -(-_VECTOR_SIZE // 16) * 16 * opened.vocabulary.size
    arguments = ["--epochs", "1", "--n-jobs", "2", "--vector-size", str(_VECTOR_SIZE), "--no-refit-documents"]
    train_peak, train_seconds = anonymous_peak(["train", str(corpus), "-o", str(model), *arguments])
    return {
        "text_bytes": size,
        "documents": len(opened),
        "tokens": len(opened.documents.tokens),
        "words": len(opened.vocabulary.words),
        "longest_document_tokens": int(opened.documents.lengths.max()),
        "encode_seconds": round(encode_seconds, 1),
        "encode_anonymous_gb": round(encode_peak / 1e9, 2),
        "train_seconds": round(train_seconds, 1),
        "train_anonymous_gb": round(train_peak / 1e9, 2),
        "parameters_gb": round(parameters / 1e9, 2),
        "train_beyond_parameters_gb": round((train_peak - parameters) / 1e9, 2),
    }
