"""Loaders for the official files of public data sets, which are not part of paravec: a path names them."""

from __future__ import annotations

from paravec.experiments.data.imdb import Imdb, imdb
from paravec.experiments.data.snippets import Query, snippets
from paravec.experiments.data.sst import Phrase, Sst, Tree, sst
from paravec.experiments.data.words import Analogies, Similarities, analogies, similarities

__all__ = [
    "Analogies",
    "Imdb",
    "Phrase",
    "Query",
    "Similarities",
    "Sst",
    "Tree",
    "analogies",
    "imdb",
    "similarities",
    "snippets",
    "sst",
]
