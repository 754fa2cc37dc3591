"""Questions about words: analogies (Mikolov et al. 2013), and pairs whose likeness people have judged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paravec.experiments.data.official import Official

ANALOGIES = Official(
    "Google analogies", "questions-words.txt", "https://code.google.com/archive/p/word2vec/source/default/source"
)
SIMILARITIES = Official(
    "WordSim-353 or SimLex-999",
    "lines of two words and a number, between tabs or commas",
    "https://gabrilovich.com/resources/data/wordsim353 and https://fh295.github.io/simlex.html",
)


@dataclass(frozen=True)
class Analogies:
    """Questions (a is to b as c is to d), by their section."""

    sections: dict[str, list[tuple[str, str, str, str]]]


@dataclass(frozen=True)
class Similarities:
    """Pairs of words, and how like each other people find them."""

    pairs: list[tuple[str, str]]
    judged: list[float]


def analogies(path: str | Path) -> Analogies:
    """Reads the official file."""
    path = ANALOGIES.there(Path(path))
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    name = ""
    with ANALOGIES.reading(path):
        lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith(":"):
            name = line[1:].strip()
            continue
        words = line.split()
        if words and (len(words) != 4 or not name):
            raise ANALOGIES.refuse(path, f"has no four words in line {number}, or no section before it")
        if words:
            sections.setdefault(name, []).append((words[0], words[1], words[2], words[3]))
    if not sections:
        raise ANALOGIES.refuse(path, "has no question")
    return Analogies(sections)


def similarities(path: str | Path) -> Similarities:
    """Reads a file of either kind; a line of titles, and lines after a ``#``, are left out."""
    path = SIMILARITIES.there(Path(path))
    pairs, judged = [], []
    with SIMILARITIES.reading(path):
        lines = path.read_text(encoding="utf-8").splitlines()
    column = None
    for number, line in enumerate(lines, 1):
        fields = [field.strip() for field in line.replace(",", "\t").split("\t")]
        if line.startswith("#") or not line.strip():
            continue
        if column is None:  # the official SimLex-999 has others between the words and their score
            column = fields.index("SimLex999") if "SimLex999" in fields else 2
            if not _is_number(fields[column : column + 1]):
                continue
        if not _is_number(fields[column : column + 1]):
            raise SIMILARITIES.refuse(path, f"has no two words and a number in line {number}")
        pairs.append((fields[0], fields[1]))
        judged.append(float(fields[column]))
    if not pairs:
        raise SIMILARITIES.refuse(path, "has no pair of words")
    return Similarities(pairs, judged)


def _is_number(fields: list[str]) -> bool:
    try:
        return len(fields) == 1 and float(fields[0]) >= 0
    except ValueError:
        return False
