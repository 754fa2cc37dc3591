"""The Stanford Sentiment Treebank (Socher et al. 2013): trees with a label at every phrase."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from paravec.experiments.data.official import Official

OFFICIAL = Official(
    "Stanford Sentiment Treebank",
    "trainDevTestTrees_PTB.zip or its folder trees with train.txt, dev.txt and test.txt",
    "https://nlp.stanford.edu/sentiment",
)
_SPLITS = ("train", "dev", "test")
_PIECES = re.compile(r"\(|\)|[^\s()]+")


@dataclass(frozen=True)
class Phrase:
    """Some words of a sentence, and how good they sound: from 0 (very negative) over 2 (neutral) to 4."""

    text: str
    label: int


@dataclass(frozen=True)
class Tree:
    """A sentence: its phrases, the whole of it first."""

    phrases: tuple[Phrase, ...]

    @property
    def sentence(self) -> Phrase:
        """The whole of it."""
        return self.phrases[0]


@dataclass(frozen=True)
class Sst:
    """The official split."""

    train: list[Tree]
    dev: list[Tree]
    test: list[Tree]


def sst(path: str | Path) -> Sst:
    """Reads the official archive, or a folder with its files."""
    path = OFFICIAL.there(Path(path))
    with OFFICIAL.reading(path):
        texts = _archived(path) if path.is_file() else _in_folder(path)
    trees: dict[str, list[Tree]] = {}
    for split, text in texts.items():
        trees[split] = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    trees[split].append(parsed(line))
                except ValueError as error:
                    raise OFFICIAL.refuse(path, f"has no tree in line {number} of {split}.txt ({error})") from None
        if not trees[split]:
            raise OFFICIAL.refuse(path, f"has no tree in {split}.txt")
    return Sst(**trees)


def parsed(line: str) -> Tree:
    """A tree in the notation of the Penn treebank.

    >>> [phrase.text for phrase in parsed("(3 (2 It) (4 (2 's) (4 lovely)))").phrases]
    ["It's lovely", 'It', "'s lovely", "'s", 'lovely']
    """
    phrases: list[Phrase | None] = []
    words: list[str] = []
    open_ones: list[tuple[int, int, int]] = []  # place among the phrases, label, words before
    pieces = iter(_PIECES.findall(line))
    for piece in pieces:
        if piece == "(":
            if phrases and not open_ones:
                raise ValueError("there is more than one")
            label = next(pieces, "")
            if label not in {"0", "1", "2", "3", "4"}:
                raise ValueError(f"{label!r} is no label from 0 to 4")
            open_ones.append((len(phrases), int(label), len(words)))
            phrases.append(None)
        elif piece == ")":
            if not open_ones:
                raise ValueError("a bracket is closed that was not opened")
            place, number, first = open_ones.pop()
            if first == len(words):
                raise ValueError("a phrase has no words")
            phrases[place] = Phrase(as_written(words[first:]), number)
        elif not open_ones:
            raise ValueError(f"{piece!r} stands outside of it")
        else:
            words.append(piece)
    found = tuple(phrase for phrase in phrases if phrase is not None)
    if open_ones or not found:
        raise ValueError("a bracket is not closed" if open_ones else "there is none")
    return Tree(found)


def as_written(tokens: list[str]) -> str:
    """Treebank tokens as people write them, so that words are those of other texts.

    >>> as_written(["It", "does", "n't", "-LRB-", "really", "-RRB-", "."])
    "It doesn't ( really ) ."
    """
    text = " ".join(tokens).replace("-LRB-", "(").replace("-RRB-", ")").replace("``", '"').replace("''", '"')
    return text.replace(" n't", "n't").replace(" '", "'").replace("\\/", "/").replace("\\*", "*")


def _in_folder(path: Path) -> dict[str, str]:
    folder = path / "trees" if (path / "trees").is_dir() else path
    return {split: OFFICIAL.there(folder / f"{split}.txt").read_text(encoding="utf-8") for split in _SPLITS}


def _archived(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(path) as archive:
        names = {Path(name).name: name for name in archive.namelist()}
        for split in _SPLITS:
            if f"{split}.txt" not in names:
                raise OFFICIAL.refuse(path, f"has no {split}.txt")
        return {split: archive.read(names[f"{split}.txt"]).decode("utf-8") for split in _SPLITS}
