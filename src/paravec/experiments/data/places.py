"""Where the data sets are, among the files and folders that a run is given."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from paravec.errors import SourceError
from paravec.experiments.data.imdb import OFFICIAL as IMDB
from paravec.experiments.data.official import Official
from paravec.experiments.data.snippets import OFFICIAL as SNIPPETS
from paravec.experiments.data.sst import OFFICIAL as SST
from paravec.experiments.data.words import ANALOGIES, SIMILARITIES

SETS: dict[str, tuple[Official, tuple[str, ...]]] = {
    "imdb": (IMDB, ("aclimdb*.tar*", "aclimdb*.tgz", "aclimdb")),
    "sst": (SST, ("traindevtesttrees_ptb.zip", "trees")),
    "retrieval": (SNIPPETS, ("*snippets*.jsonl*",)),
    "analogies": (ANALOGIES, ("questions-words.txt",)),
    "wordsim": (SIMILARITIES, ("*wordsim*353*.*", "combined.tab", "combined.csv")),
    "simlex": (SIMILARITIES, ("simlex*999*.txt",)),
}


def place(name: str, given: Sequence[Path], alone: bool = False) -> Path:
    """The file or folder of a data set: one that is given, or lies in a folder that is.

    If nothing has its usual name, and it is the only one that is looked for, it is taken to be what is given.
    """
    official, patterns = SETS[name]
    for path in given:
        official.there(path)
    inside = [each for path in given if path.is_dir() for each in sorted(path.glob("**/*"))]
    for each in (*given, *inside):
        if any(fnmatch(each.name.lower(), pattern) for pattern in patterns):
            return each
    if alone and len(given) == 1:
        return given[0]
    raise SourceError(f"none of {', '.join(map(str, given))} is or holds it; {official.told}")
