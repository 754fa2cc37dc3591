"""The Large Movie Review Dataset (Maas et al. 2011)."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from paravec.experiments.data.official import Official

OFFICIAL = Official(
    "Large Movie Review Dataset",
    "aclImdb_v1.tar.gz or its folder aclImdb",
    "https://ai.stanford.edu/~amaas/data/sentiment",
)
_URLS, _FILM = "urls_", re.compile(r"tt\d+")
_LABELS = {"pos": 1, "neg": 0, "unsup": None}
_COMPLETE = {"train/pos": 12_500, "train/neg": 12_500, "train/unsup": 50_000, "test/pos": 12_500, "test/neg": 12_500}


@dataclass(frozen=True)
class Imdb:
    """Reviews, the positive ones first, then the negative and those without a label, each in the order of their names.

    Labels are 1 (positive), 0, or None. Films are known by their number at IMDB: those of the
    training reviews. Test reviews are of others (but for one film of the official data).
    """

    train: list[str]
    train_labels: list[int | None]
    test: list[str]
    test_labels: list[int]
    complete: bool  # whether it is the whole data set
    films: list[str | None] = field(default_factory=list)  # empty, or of every training review; None: not told

    @property
    def labelled(self) -> list[int]:
        """The training reviews that have a label."""
        return [i for i, label in enumerate(self.train_labels) if label is not None]


def imdb(path: str | Path) -> Imdb:
    """Reads the official archive (in any compression that tarfile knows) or its folder, without the `<br />` tags."""
    path = OFFICIAL.there(Path(path))
    found: dict[str, list[tuple[int, str]]] = {name: [] for name in _COMPLETE}
    films: dict[tuple[str, int], str] = {}
    with OFFICIAL.reading(path):
        for parts, content in _members(path):
            folder = "/".join(parts[-3:-1])
            number = parts[-1].partition("_")[0]
            if parts[-1].startswith(_URLS):
                where = f"{parts[-2]}/{parts[-1].removeprefix(_URLS).removesuffix('.txt')}"
                films |= {(where, i): film for i, film in enumerate(_films(content)) if film}
            if folder in found and parts[-1].endswith(".txt") and number.isdigit():
                try:
                    text = content.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise OFFICIAL.refuse(path, f"holds {folder}/{parts[-1]}, which is not UTF-8 ({error})") from None
                found[folder].append((int(number), text.replace("<br />", " ")))
    for name in ("train/pos", "train/neg", "test/pos", "test/neg"):
        if not found[name]:
            raise OFFICIAL.refuse(path, f"has no reviews in {name}")
    for reviews in found.values():
        reviews.sort()
    train = [
        (text, _LABELS[label], films.get((f"train/{label}", number)))
        for label in ("pos", "neg", "unsup")
        for number, text in found[f"train/{label}"]
    ]
    test = [(text, label) for label, name in ((1, "test/pos"), (0, "test/neg")) for _, text in found[name]]
    return Imdb(
        [text for text, _, _ in train],
        [label for _, label, _ in train],
        [text for text, _ in test],
        [label for _, label in test],
        {name: len(reviews) for name, reviews in found.items()} == _COMPLETE,
        [film for _, _, film in train],
    )


def _films(content: bytes) -> list[str | None]:
    """The film of each review of a folder, by the addresses that the official data list: a line a review."""
    found = [_FILM.search(line) for line in content.decode("utf-8", "replace").splitlines()]
    return [film and film.group() for film in found]


def _members(path: Path) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """The parts of the names of all files that may be reviews, and what they hold."""
    if path.is_dir():
        for file in sorted(path.glob("**/*_*.txt")):
            yield ("", *file.relative_to(path).parts), file.read_bytes()
        return
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile():
                opened = archive.extractfile(member)
                assert opened is not None
                yield ("", *Path(member.name).parts), opened.read()
