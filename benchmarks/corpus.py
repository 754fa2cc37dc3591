"""From raw text to token ids: speed beside plain Python and Hugging Face tokenizers, and memory on a large text.

    python benchmarks/corpus.py aclImdb.tar.xz            # speed on IMDB's 100,000 reviews
    python benchmarks/corpus.py aclImdb.tar.xz --large 5  # and a generated text of 5 GB, encoded and trained

Rivals take turns with us in one run; medians and every single time are printed and kept in ``results/corpus.json``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.update(RAYON_NUM_THREADS="2", TOKENIZERS_PARALLELISM="true")

import pyarrow as pa
import pyarrow.parquet as pq
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import large_text
import paravec
from paravec.experiments.data import imdb
from paravec.experiments.machine import described

RESULTS = Path(__file__).parent / "results" / "corpus.json"
WORD = re.compile(r"\w+(?:'\w+)*|[^\w\s]")


def ours(texts: list[str], ngrams: int = 1) -> int:
    corpus = paravec.encode(texts, ngrams=ngrams, n_jobs=2)
    return len(corpus.documents.tokens)


def in_python(texts: list[str]) -> int:
    """A regular expression, a Counter and look-ups in a dict."""
    documents = [WORD.findall(text.lower()) for text in texts]
    counter: Counter[str] = Counter()
    for document in documents:
        counter.update(document)
    ids = _ids(counter)
    return sum(len([ids[word] for word in document if word in ids]) for document in documents)


def ngrams_in_python(texts: list[str]) -> int:
    """The same with a Counter over tuples of up to three words."""
    documents = [WORD.findall(text.lower()) for text in texts]
    counter: Counter[Any] = Counter()
    for document in documents:
        counter.update(_grams(document))
    ids = _ids(counter)
    return sum(len([ids[gram] for gram in _grams(document) if gram in ids]) for document in documents)


def _grams(words: list[str]) -> list[Any]:
    return [*zip(words), *pairwise(words), *zip(words, words[1:], words[2:])]  # noqa: B905


def _ids(counter: Counter[Any]) -> dict[Any, int]:
    kept = sorted((-count, word) for word, count in counter.items() if count >= 2)
    return {word: i for i, (_, word) in enumerate(kept)}


def with_tokenizers(texts: list[str]) -> int:
    """Hugging Face tokenizers in its quickest form found: text lower-cased before, the Whitespace pattern, batches."""
    lowered = [text.lower() for text in texts]
    tokenizer = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    trainer = trainers.WordLevelTrainer(
        min_frequency=2, vocab_size=10**7, special_tokens=["[UNK]"], show_progress=False
    )
    tokenizer.train_from_iterator(lowered, trainer, length=len(lowered))
    total = 0
    for i in range(0, len(lowered), 1000):
        for encoding in tokenizer.encode_batch_fast(lowered[i : i + 1000], add_special_tokens=False):
            total += len(encoding.ids)
    return total


def taking_turns(rounds: int, programs: dict[str, Callable[[], int]]) -> dict[str, dict[str, Any]]:
    """Seconds of every program in every round."""
    seconds: dict[str, list[float]] = {name: [] for name in programs}
    tokens: dict[str, int] = {}
    for _ in range(rounds):
        for name, program in programs.items():
            began = time.perf_counter()
            tokens[name] = program()
            seconds[name].append(round(time.perf_counter() - began, 3))
            print(f"  {name}: {seconds[name][-1]:.2f} s, {tokens[name]:,} tokens", flush=True)
    return {
        name: {"median": statistics.median(times), "seconds": times, "tokens": tokens[name]}
        for name, times in seconds.items()
    }


def sources(texts: list[str], folder: Path, rounds: int) -> dict[str, dict[str, Any]]:
    """The same documents from a text file and from Parquet, read alone, and read and encoded."""
    lines = [" ".join(text.split()) for text in texts]
    (folder / "imdb.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    names = {"text": "imdb.txt"}
    for compression in ("none", "lz4", "zstd", "snappy"):
        names[f"Parquet, {compression}"] = f"{compression}.parquet"
        pq.write_table(pa.table({"text": lines}), folder / f"{compression}.parquet", compression=compression)
    programs: dict[str, Callable[[], int]] = {}
    for name, file in names.items():
        programs[f"{name}: read"] = lambda file=file: sum(1 for _ in paravec.read(folder / file).blocks())
        programs[f"{name}: encode"] = lambda file=file: ours(paravec.read(folder / file))
    return taking_turns(rounds, programs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path, help="aclImdb.tar.xz, or the like")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ngram-rounds", type=int, default=1, help="of the Counter over tuples, which is slow")
    parser.add_argument("--large", type=float, default=0, help="GB of text to generate, encode and train on")
    parser.add_argument("--folder", type=Path, help="where large files may lie; a temporary one if left out")
    options = parser.parse_args()
    data = imdb(options.archive)
    texts = [*data.train, *data.test]
    results: dict[str, Any] = {"machine": described(), "reviews": len(texts)}
    print("tokenize, count and encode")
    results["words"] = taking_turns(
        options.rounds,
        {
            "paravec": lambda: ours(texts),
            "tokenizers": lambda: with_tokenizers(texts),
            "Python": lambda: in_python(texts),
        },
    )
    print("with n-grams up to 3")
    results["n-grams"] = taking_turns(
        options.ngram_rounds, {"paravec": lambda: ours(texts, 3), "Python": lambda: ngrams_in_python(texts)}
    )
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print("from files")
        results["files"] = sources(texts, Path(folder), options.rounds)
        if options.large:
            del texts, data
            print(f"a text of {options.large} GB")
            results["large"] = large_text.measure(Path(folder), options.large)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    show(results)


def show(results: dict[str, Any]) -> None:
    """The tables of ``README.md``."""
    for part in ("words", "n-grams"):
        base = results[part]["paravec"]["median"]
        print(f"\n| {part} | seconds | times ours |\n| --- | --- | --- |")
        for name, row in results[part].items():
            print(f"| {name} | {row['median']:.2f} | {row['median'] / base:.1f} |")
    print("\n| source | read, s | read and encoded, s |\n| --- | --- | --- |")
    for name in (key.removesuffix(": read") for key in results["files"] if key.endswith(": read")):
        times = [results["files"][f"{name}: {what}"]["median"] for what in ("read", "encode")]
        print(f"| {name} | {times[0]:.2f} | {times[1]:.2f} |")
    if "large" in results:
        print("\n" + "\n".join(f"{name}: {value}" for name, value in results["large"].items()))


if __name__ == "__main__":
    main()
