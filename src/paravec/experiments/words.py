"""What word vectors know that were learned beside documents: analogies, and likeness as people judge it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError
from paravec.estimator import ParagraphVector
from paravec.experiments.data import Analogies, Similarities
from paravec.experiments.options import Options, whole
from paravec.experiments.steps import Steps, fingerprint
from paravec.experiments.tables import Listing
from paravec.text import words

QUICK = 3000  # texts
_REACH = 5  # words on both sides
MODELS: dict[str, dict[str, Any]] = {
    "dm": {"model": "dm", "combine": "mean"},
    "dbow with words": {"model": "dbow", "train_words": True},
}
_COMMON: dict[str, Any] = {"vector_size": 100, "min_count": 5, "epochs": 10, "sample": 1e-4}
_QUESTIONS_AT_ONCE = 512
_NEAR = {"window": 4}  # as far as windows that shrink at random go on average
_SLOW = {"learning_rate": 0.1}  # the default is for documents
_VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "dm": {"": {}, ", 3 words on both sides": _NEAR, ", learning_rate=0.1": _SLOW},
    "dbow with words": {"": {}, ", 3 words on both sides": _NEAR},
}
Fit = Callable[[list[list[str]], str, Mapping[str, Any], int, Options], tuple[dict[str, int], NDArray[np.float32]]]


def run(
    texts: Sequence[str], questions: Analogies, pairs: Mapping[str, Similarities], steps: Steps, options: Options
) -> list[Listing]:
    """Words trained on some texts by dm and by dbow, and gensim's of the same words."""
    if options.quick:
        texts = texts[:: max(1, len(texts) // QUICK)]
    if not texts:
        raise SourceError("there is no text to learn words from")
    asked = [questions.sections, {name: [given.pairs, given.judged] for name, given in pairs.items()}]
    told = {"texts": len(texts), "data": fingerprint(texts, asked), **_COMMON}
    tokens = cache(lambda: [words(text) for text in texts])  # not before a step needs them

    def figures(fit: Fit, name: str, more: Mapping[str, Any], seed: int) -> dict[str, list[float | None]]:
        places, vectors = fit(tokens(), name, more, seed, options)
        return known(places, vectors, questions, pairs)

    rows = []
    for name in MODELS:
        ours: list[tuple[str, str, Fit, dict[str, Any]]] = [
            ("paravec", suffix, _ours, more) for suffix, more in _VARIANTS[name].items()
        ]
        for whose, suffix, fit, more in [*ours, ("gensim", "", _theirs, {})]:
            title = f"{whose}, {name}{suffix}"
            if whose == "gensim" and not has_gensim():
                rows.append([title, "gensim is not installed", "", *("" for _ in pairs)])
                continue
            found = [
                steps.step(
                    f"words, {title}, seed {seed}",
                    {
                        **told,
                        "seed": seed,
                        **(whole(_settings(name) | more | {"engine": options.engine}) if whose == "paravec" else {}),
                    },
                    partial(figures, fit, name, more, seed),
                )
                for seed in options.seeds
            ]
            rows.append([title, *_in_words(found, ["semantic", "syntactic", *pairs])])
    return [
        Listing(
            "Words",
            [
                f"Word vectors of {len(texts):,} training reviews of IMDB: 100 dimensions, 10 epochs, five words on "
                "both sides, words that occur five times, frequent ones sub-sampled (1e-4). "
                "Analogies: % of the questions whose words are known that are "
                "answered right (the nearest to b - a + c, other than these). Likeness: Spearman's correlation over "
                "pairs whose words are known. gensim's windows shrink at random, its default, to three words on "
                f"average; ours do not. The learning rate of 0.1 was found on these questions. "
                f"Means of {len(options.seeds)} seeds, and how far they go.",
            ],
            ["", "semantic analogies, %", "syntactic analogies, %", *(f"{name}, correlation" for name in pairs)],
            rows,
            ours=frozenset(i for i, row in enumerate(rows) if row[0].startswith("paravec")),
        )
    ]


def has_gensim() -> bool:
    """Whether there is a rival to stand beside."""
    from importlib.util import find_spec

    return find_spec("gensim") is not None


def known(
    rows: Mapping[str, int], vectors: NDArray[np.float32], questions: Analogies, pairs: Mapping[str, Similarities]
) -> dict[str, list[float | None]]:
    """What the vectors of words answer: for each kind of question, the figure and the part that could be asked."""
    from scipy.stats import spearmanr

    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    found: dict[str, list[float | None]] = {}
    for kind in ("semantic", "syntactic"):
        asked = [
            each for name, some in questions.sections.items() if name.startswith("gram") == (kind == "syntactic")
            for each in some
        ]  # fmt: skip
        ids = np.array([[rows[word.lower()] for word in each] for each in asked if _all(each, rows)]).reshape(-1, 4)
        found[kind] = [100 * answered(unit, ids) if len(ids) else None, len(ids) / max(1, len(asked))]
    for name, given in pairs.items():
        which = [i for i, pair in enumerate(given.pairs) if _all(pair, rows)]
        ids = np.array([[rows[word.lower()] for word in given.pairs[i]] for i in which]).reshape(-1, 2)
        likeness = (unit[ids[:, 0]] * unit[ids[:, 1]]).sum(1)
        judged = [given.judged[i] for i in which]
        enough = len(set(judged)) > 1 and len(set(likeness.tolist())) > 1
        found[name] = [float(spearmanr(likeness, judged).statistic) if enough else None, len(which) / len(given.pairs)]
    return found


def answered(unit: NDArray[np.float32], questions: NDArray[np.int64]) -> float:
    """The part of the questions (rows of a, b, c, d) where d is the nearest to b - a + c, other than these."""
    right = 0
    for first in range(0, len(questions), _QUESTIONS_AT_ONCE):
        a, b, c, d = questions[first : first + _QUESTIONS_AT_ONCE].T
        likeness = (unit[b] - unit[a] + unit[c]) @ unit.T
        for asked in (a, b, c):
            likeness[np.arange(len(a)), asked] = -np.inf
        right += int((likeness.argmax(1) == d).sum())
    return right / max(1, len(questions))


def _all(some: Sequence[str], rows: Mapping[str, int]) -> bool:
    return all(word.lower() in rows for word in some)


def _in_words(found: Sequence[dict[str, list[float | None]]], kinds: Sequence[str]) -> list[str]:
    cells = []
    for kind in kinds:
        each = [value for one in found if (value := one[kind][0]) is not None]
        if not each:
            cells.append("too few words are known")
            continue
        digits = 1 if kind in ("semantic", "syntactic") else 3
        spread = f" ({min(each):.{digits}f} to {max(each):.{digits}f})" if len(each) > 1 else ""
        cells.append(f"{statistics.fmean(each):.{digits}f}{spread}; {100 * (found[0][kind][1] or 0):.0f} % known")
    return cells


def _settings(name: str) -> dict[str, Any]:
    return {**MODELS[name], **_COMMON, "window": _REACH + 1, "context": "both", "refit_documents": False}


def _ours(
    tokens: list[list[str]], name: str, more: Mapping[str, Any], seed: int, options: Options
) -> tuple[dict[str, int], NDArray[np.float32]]:
    settings = {**_settings(name), **more, **options.of_models}
    estimator = ParagraphVector(**settings, random_state=seed).fit(tokens)
    return {str(word): row for word, row in estimator.vocabulary_.items()}, np.asarray(estimator.word_vectors_)


def _theirs(
    tokens: list[list[str]], name: str, more: Mapping[str, Any], seed: int, options: Options
) -> tuple[dict[str, int], NDArray[np.float32]]:
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    from paravec.settings import threads

    model = Doc2Vec(
        [TaggedDocument(document, [i]) for i, document in enumerate(tokens)],
        dm=int(name == "dm"), dm_mean=1, dbow_words=1, window=_REACH, negative=5, seed=seed + 1,
        workers=threads(options.n_jobs), **_COMMON, **more,
    )  # fmt: skip
    return dict(model.wv.key_to_index), np.asarray(model.wv.vectors)
