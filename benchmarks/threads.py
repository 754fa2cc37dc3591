"""How encoding scales: IMDB's reviews to token ids at several numbers of threads, with a check that they agree.

python benchmarks/threads.py aclImdb.tar.xz [--threads 1 2 4 8 16] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
import zlib
from pathlib import Path

import paravec
from paravec.experiments.data import imdb


def measured(texts: list[str], ngrams: int, threads: int, rounds: int) -> tuple[float, int]:
    """The median of seconds, and a checksum of the corpus."""
    seconds, checksum = [], 0
    for _ in range(rounds):
        began = time.perf_counter()
        corpus = paravec.encode(texts, ngrams=ngrams, n_jobs=threads)
        seconds.append(time.perf_counter() - began)
        parts = (corpus.documents.tokens, corpus.documents.offsets, corpus.vocabulary.counts)
        checksum = zlib.crc32(b"".join(part.tobytes() for part in parts))
    return statistics.median(seconds), checksum


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    data = imdb(options.archive)
    texts = [*data.train, *data.test]
    print(f"| threads | {' | '.join(map(str, options.threads))} |\n|{' --- |' * (len(options.threads) + 1)}")
    for ngrams, name, rounds in ((1, "words, s", options.rounds), (3, "n-grams up to 3, s", 2)):
        found = [measured(texts, ngrams, threads, rounds) for threads in options.threads]
        print(f"| {name} | {' | '.join(f'{seconds:.2f}' for seconds, _ in found)} |", flush=True)
        assert len({checksum for _, checksum in found}) == 1, "the corpora differ"
    print("the same corpus at every number of threads")


if __name__ == "__main__":
    main()
