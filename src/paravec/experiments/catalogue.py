"""All experiments by name, each with the data it needs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from paravec.errors import SourceError
from paravec.experiments import imdb, retrieval, sst, words
from paravec.experiments.data import analogies, similarities, snippets
from paravec.experiments.data import imdb as read_imdb
from paravec.experiments.data import sst as read_sst
from paravec.experiments.data.places import place
from paravec.experiments.options import Options
from paravec.experiments.reviews import judge_of
from paravec.experiments.steps import Steps
from paravec.experiments.tables import Listing

_reviews = cache(read_imdb)  # which several experiments want
Run = Callable[[Steps, Options], list[Listing]]


def _imdb(given: Sequence[Path], alone: bool) -> Run:
    data = _reviews(place("imdb", given, alone))
    judge_of(data)
    return lambda steps, options: imdb.run(data, steps, options)


def _sst(given: Sequence[Path], alone: bool) -> Run:
    trees = read_sst(place("sst", given, alone))
    sst.split(trees)
    try:
        where = place("imdb", given)
    except SourceError:
        warnings.warn("the data have no reviews of IMDB, so SST has no row of a model with them", stacklevel=2)
        return lambda steps, options: sst.run(trees, steps, options)
    reviews = _reviews(where).train
    return lambda steps, options: sst.run(trees, steps, options, reviews)


def _retrieval(given: Sequence[Path], alone: bool) -> Run:
    queries = snippets(place("retrieval", given, alone))
    retrieval.split(queries)
    return lambda steps, options: retrieval.run(queries, steps, options)


def _words(given: Sequence[Path], alone: bool) -> Run:
    questions = analogies(place("analogies", given))
    pairs = {
        title: similarities(place(name, given))
        for title, name in (("WordSim-353", "wordsim"), ("SimLex-999", "simlex"))
    }
    texts = _reviews(place("imdb", given)).train
    return lambda steps, options: words.run(texts, questions, pairs, steps, options)


EXPERIMENTS: dict[str, Callable[[Sequence[Path], bool], Run]] = {
    "imdb": _imdb,
    "sst": _sst,
    "retrieval": _retrieval,
    "words": _words,
}


def prepared(names: Sequence[str], given: Sequence[Path]) -> list[Run]:
    """Reads and checks all that some experiments need, so that nothing is missing or wrong after hours."""
    return [EXPERIMENTS[name](given, len(names) == 1) for name in names]
