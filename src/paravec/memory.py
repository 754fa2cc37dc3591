"""How much memory a fit takes, and how much there is."""

from __future__ import annotations

import os
from pathlib import Path

from paravec.architecture import Architecture
from paravec.corpus import Corpus
from paravec.engines.base import RUN_TOKENS, n_shares
from paravec.engines.room import stride
from paravec.errors import NotEnoughMemoryError
from paravec.settings import Settings, threads
from paravec.vocab import Vocabulary


def check(settings: Settings, vocabulary: Vocabulary, corpus: Corpus) -> int:
    """The bytes that a fit takes beside its corpus; refuses a fit for which there is not the room."""
    parts = estimate(settings, vocabulary, corpus)
    needed, free = sum(parts.values()), available()
    if free is not None and needed > free:
        named = ", ".join(f"{what} {in_words(size)}" for what, size in parts.items() if size)
        raise NotEnoughMemoryError(
            f"training needs {in_words(needed)} of memory ({named}), and {in_words(free)} is free; lower vector_size, "
            f"raise min_count or set max_vocab, or train on fewer documents"
        )
    return needed


def estimate(settings: Settings, vocabulary: Vocabulary, corpus: Corpus) -> dict[str, int]:
    """The bytes of the large parts of a fit at its peak, by what they are for."""
    architectures = settings.architectures()
    weights = [_weights(a, vocabulary) for a in architectures]
    vectors = 4 * len(corpus) * settings.vector_size
    copies = max(weights) if settings.patience is not None else 0
    schedule = 48 * len(corpus)  # order, learning rates and lengths of an epoch
    # Documents of several threads are at most all there are.
    longest = int(corpus.lengths.max(initial=0)) + RUN_TOKENS
    busy = min(threads(settings.n_jobs) * longest, len(corpus.tokens))
    room = max(_room(a, settings, vocabulary, busy) for a in architectures)
    if settings.deterministic:
        room += max(_shares(a, vocabulary, corpus) for a in architectures)
    words = 4 * len(corpus.tokens) if _copies_words(settings, vocabulary) else 0
    return {
        "document vectors": vectors * len(architectures),
        "words and output weights": sum(weights),
        "the best of them": copies,
        "the corpus without n-grams": words,
        "tables and threads": sum(_tables(a, vocabulary) for a in architectures) + schedule + room,
    }


def _targets(a: Architecture, vocabulary: Vocabulary) -> int:
    return len(vocabulary.words) if a.is_dm else vocabulary.size


def _weights(a: Architecture, vocabulary: Vocabulary) -> int:
    words = (len(vocabulary.words) + 1) * stride(a.word_size) if a.has_words else 0
    n_targets = _targets(a, vocabulary)
    return 4 * (n_targets * stride(a.width + int(a.has_bias)) + words + (n_targets if a.has_bias else 0))


def _tables(a: Architecture, vocabulary: Vocabulary) -> int:
    """Sub-sampling, and the noise words or the paths of the tree (of some length, at 5 bytes a node)."""
    n_targets = _targets(a, vocabulary)
    return n_targets * (4 + (8 + 5 * n_targets.bit_length() if a.output == "hs" else 8))


def _copies_words(settings: Settings, vocabulary: Vocabulary) -> bool:
    has_dm = any(a.is_dm for a in settings.architectures())
    return len(vocabulary.prefix) > 0 and (has_dm or settings.validation_fraction is not None)


def _room(a: Architecture, settings: Settings, vocabulary: Vocabulary, busy: int) -> int:
    """Of the threads, for the `busy` words of their documents, and their batches of the exact softmax.

    With context, inference has a list of the rows of every word.
    """
    n_threads = threads(settings.n_jobs)
    lists = a.is_dm and (settings.validation_fraction is not None or not settings.infers_alone(a))
    rows = a.negative + 1 if a.output == "negative" else _targets(a, vocabulary).bit_length()
    batch = 4 * a.batch_size * (_targets(a, vocabulary) + 3 * stride(a.width)) if a.output == "softmax" else 0
    return 20 * busy * (1 + rows * lists) + n_threads * (4 * _targets(a, vocabulary) + batch)


def _shares(a: Architecture, vocabulary: Vocabulary, corpus: Corpus) -> int:
    """Of the changes that deterministic training holds until they are added up."""
    rows = min(_targets(a, vocabulary), RUN_TOKENS)
    runs = [RUN_TOKENS] * max(1, len(corpus.tokens) // RUN_TOKENS)
    columns = stride(a.width) + (stride(a.word_size) if a.has_words else 0)
    return 4 * n_shares(a, _targets(a, vocabulary), runs) * rows * columns if a.output != "softmax" else 0


def available() -> int | None:
    """The bytes that a process may still take, as far as the system tells."""
    found = [size for size in (_of_machine(), _of_group()) if size is not None]
    return min(found) if found else None


def _of_machine() -> int | None:
    try:
        rows = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        return 1024 * sum(int(rows[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    except (OSError, ValueError, KeyError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group() -> int | None:
    """What the control groups of a container leave: the limit without what is used and cannot be given back."""
    root = Path("/sys/fs/cgroup")
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip().lstrip("/")
    except OSError:
        return None
    found = [_left(root / own / up) for up in ("", *(("../" * n) for n in range(1, len(Path(own).parts) + 1)))]
    return min((size for size in found if size is not None), default=None)


def _left(group: Path) -> int | None:
    try:
        most, taken = (int((group / name).read_text()) for name in ("memory.max", "memory.current"))
        rows = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        return max(0, most - taken + sum(int(rows[name]) for name in ("active_file", "inactive_file")))
    except (OSError, ValueError, KeyError):
        return None


def in_words(size: int) -> str:
    """A number of bytes as people say it."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
