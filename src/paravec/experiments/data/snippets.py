"""Search results: queries, and the snippets that a search engine found for each (MultiFC, Augenstein et al. 2019)."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paravec.experiments.data.official import Official

OFFICIAL = Official(
    "queries with their snippets",
    'lines of JSON with "query_id", "query" and "passages" (.jsonl, .jsonl.gz or .jsonl.xz), made of MultiFC',
    "https://competitions.codalab.org/competitions/21163",
)
_OPENERS = {".gz": gzip.open, ".xz": lzma.open}


@dataclass(frozen=True)
class Query:
    """A query and the different snippets of its results."""

    id: str
    text: str
    snippets: tuple[str, ...]


def snippets(path: str | Path) -> list[Query]:
    """Reads all queries of a file that have any snippet."""
    path = OFFICIAL.there(Path(path))
    if path.is_dir():
        raise OFFICIAL.refuse(path, "is a folder")
    with OFFICIAL.reading(path):
        found = list(_queries(path))
    if not found:
        raise OFFICIAL.refuse(path, "has no query with snippets")
    return found


def _queries(path: Path) -> Iterator[Query]:
    opened: Any = _OPENERS.get(path.suffix, open)
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                told = json.loads(line)
                id, text, passages = str(told["query_id"]), told["query"], told["passages"]
            except (ValueError, KeyError, TypeError) as error:
                raise OFFICIAL.refuse(path, f"has no query in line {number} ({error!r:.80})") from None
            if not isinstance(passages, list) or not all(isinstance(each, str) for each in (text, *passages)):
                raise OFFICIAL.refuse(path, f"has something else than texts in line {number}")
            different = tuple(dict.fromkeys(each for each in passages if each.strip()))
            if different:
                yield Query(id, text, different)
