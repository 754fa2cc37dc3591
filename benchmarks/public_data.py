"""Loaders for the official files of public data sets; the files themselves are not part of the project."""

from __future__ import annotations

import re
import tarfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Imdb:
    """The Large Movie Review Dataset (Maas et al. 2011); labels are 1 (positive), 0, or None (unlabelled)."""

    train: list[str]
    train_labels: list[int | None]
    test: list[str]
    test_labels: list[int]


def imdb(archive: Path) -> Imdb:
    """Reads the official archive (any compression that tarfile knows), without the `<br />` tags."""
    label = {"pos": 1, "neg": 0, "unsup": None}
    found: dict[str, list[tuple[str, int | None]]] = {"train": [], "test": []}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = member.name.split("/")
            if len(parts) == 4 and parts[2] in label and parts[3].endswith(".txt"):
                file = tar.extractfile(member)
                assert file is not None
                found[parts[1]].append((file.read().decode("utf-8").replace("<br />", " "), label[parts[2]]))
    if (len(found["train"]), len(found["test"])) != (75_000, 25_000):
        raise ValueError(
            f"{archive} is not the complete data set: {len(found['train'])} + {len(found['test'])} reviews"
        )
    return Imdb(
        [text for text, _ in found["train"]],
        [y for _, y in found["train"]],
        [text for text, _ in found["test"]],
        [int(y or 0) for _, y in found["test"]],
    )


def sst(folder: Path, split: str) -> tuple[list[str], list[int]]:
    """Sentences of the Stanford Sentiment Treebank (PTB trees) but for the neutral ones, and 1 for positive."""
    texts, labels = [], []
    for tree in (folder / f"{split}.txt").read_text(encoding="utf-8").splitlines():
        label = int(tree[1])
        if label != 2:
            texts.append(_plain_text(re.findall(r" ([^\s()]+)\)", tree)))
            labels.append(int(label > 2))
    return texts, labels


def _plain_text(tokens: list[str]) -> str:
    """Treebank tokens as people write them, so that words are those of other texts ("does n't" is one word)."""
    text = " ".join(tokens).replace("-LRB-", "(").replace("-RRB-", ")").replace("``", '"').replace("''", '"')
    return text.replace(" n't", "n't").replace(" '", "'")
