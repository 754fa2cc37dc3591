"""The reviews as files that both programs read, and their labels."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Material:
    """A folder of files.

    ``train-raw.txt`` and ``test-raw.txt`` have a review a line; ``train.txt`` and ``test.txt`` have the same in
    tokens, with spaces between them. All are in one shuffled order.
    """

    folder: Path

    def lines(self, name: str, n: int | None = None) -> Iterator[str]:
        """The first `n` lines of a file."""
        with open(self.folder / f"{name}.txt", encoding="utf-8", newline="\n") as file:
            yield from islice(map(str.rstrip, file), n)

    def tokens(self, name: str, n: int | None = None) -> list[list[str]]:
        """The first `n` documents of a file of tokens."""
        return [line.split(" ") for line in self.lines(name, n)]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The labels, and the number of tokens of each training review."""
        facts: dict[str, Any] = json.loads((self.folder / "facts.json").read_text())
        return facts

    @property
    def train_labels(self) -> list[int | None]:
        """1, 0, or None for a review without a label."""
        labels: list[int | None] = self.facts["train_labels"]
        return labels

    @property
    def test_labels(self) -> list[int]:
        """1 or 0."""
        labels: list[int] = self.facts["test_labels"]
        return labels

    def words(self, documents: int) -> int:
        """The tokens of the first training reviews, rare words and all."""
        return sum(self.facts["lengths"][:documents])

    def first(self, documents: int) -> Path:
        """A file of the tokens of the first training reviews."""
        if documents >= len(self.train_labels):
            return self.folder / "train.txt"
        path = self.folder / f"train-{documents}.txt"
        if not path.exists():
            path.write_text("".join(f"{line}\n" for line in self.lines("train", documents)), encoding="utf-8")
        return path


def prepare(archive: Path, folder: Path, reviews: int | None) -> Material:
    """Makes the files of an archive: of all reviews, or of `reviews` training reviews and a third as many others."""
    import paravec
    from paravec.experiments.data import imdb

    data = imdb(archive)
    facts: dict[str, Any] = {}
    for name, texts, labels, n in (
        ("train", data.train, data.train_labels, reviews),
        ("test", data.test, data.test_labels, None if reviews is None else -(-reviews // 3)),
    ):
        order = list(range(len(texts)))
        random.Random(0).shuffle(order)
        facts[f"{name}_labels"] = [labels[i] for i in order[:n]]
        lengths = []
        with (
            open(folder / f"{name}-raw.txt", "w", encoding="utf-8", newline="\n") as raw,
            open(folder / f"{name}.txt", "w", encoding="utf-8", newline="\n") as split,
        ):
            for i in order[:n]:
                tokens = paravec.words(texts[i])
                lengths.append(len(tokens))
                raw.write(" ".join(texts[i].splitlines()) + "\n")
                split.write(" ".join(tokens) + "\n")
        if name == "train":
            facts["lengths"] = lengths
    (folder / "facts.json").write_text(json.dumps(facts))
    return Material(folder)
