"""The six models that both programs have, in the words of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TIMED = 30_000  # reviews that a reading of speed trains on, at most: gensim takes half a minute where it is slowest


@dataclass(frozen=True)
class Shared:
    """A model that both have."""

    title: str
    ours: dict[str, Any]
    theirs: dict[str, Any]


_NEGATIVE, _HS = {"hs": 0, "negative": 5}, {"hs": 1, "negative": 0}
# The window of paravec counts the target word, too. 10 for mean and 5 for concat are the windows of gensim's tutorial
# on IMDB.
_OUR_MEAN = {"model": "dm", "combine": "mean", "context": "both", "window": 11}
_MEAN = {"dm": 1, "dm_mean": 1, "window": 10, "shrink_windows": False}
_OUR_CONCAT = {"model": "dm", "combine": "concat", "context": "both", "window": 6}
_CONCAT = {"dm": 1, "dm_concat": 1, "window": 5, "shrink_windows": False}

MODELS = {
    "dbow-negative": Shared("dbow, negative 5", {"model": "dbow"}, {"dm": 0} | _NEGATIVE),
    "dbow-hs": Shared("dbow, hs", {"model": "dbow", "output": "hs"}, {"dm": 0} | _HS),
    "mean-negative": Shared("dm mean, negative 5", _OUR_MEAN, _MEAN | _NEGATIVE),
    "mean-hs": Shared("dm mean, hs", _OUR_MEAN | {"output": "hs"}, _MEAN | _HS),
    "concat-negative": Shared("dm concat, negative 5", _OUR_CONCAT, _CONCAT | _NEGATIVE),
    "concat-hs": Shared("dm concat, hs", _OUR_CONCAT | {"output": "hs"}, _CONCAT | _HS),
}


def for_gensim(name: str, dimension: int, threads: int) -> dict[str, Any]:
    """The arguments of gensim's Doc2Vec."""
    return {"vector_size": dimension, "min_count": 2, "sample": 0, "workers": threads, **MODELS[name].theirs}
