"""How good does a sentence of a film review sound? The paper's first experiment, and its baselines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec.errors import SourceError
from paravec.estimator import ParagraphVector
from paravec.experiments.data import Phrase, Sst, Tree
from paravec.experiments.measure import Figure, figure
from paravec.experiments.options import Options, whole
from paravec.experiments.retrieval import averages
from paravec.experiments.steps import Steps, fingerprint
from paravec.experiments.tables import Listing, Row, in_words, table
from paravec.text import words

LEAST_SENTENCES = 30
QUICK_SENTENCES = 1500
QUICK_REVIEWS = 2000
NEUTRAL = 2
TASKS = {"binary": "SST: positive or negative?", "fine": "SST: which of five classes?"}
BAYES, SVM, BIGRAMS = "Naive Bayes", "SVM", "Naive Bayes of bigrams"
AVERAGE, DBOW, BOTH = "averaging of word vectors", "Paragraph Vector, dbow", "Paragraph Vector, dm + dbow"
REVIEWED = "Paragraph Vector, dbow, with unlabelled reviews"
PAPER: dict[str, tuple[float, float] | None] = {  # binary, fine
    BAYES: (18.2, 59.0),
    SVM: (20.6, 59.3),
    BIGRAMS: (16.9, 58.1),
    AVERAGE: (19.9, 67.3),
    "Recursive Neural Network": (17.6, 56.8),
    "Matrix Vector-RNN": (17.1, 55.6),
    "Recursive Neural Tensor Network": (14.6, 54.3),
    BOTH: (12.2, 51.3),
    DBOW: None,
    REVIEWED: None,
}
SEEDED = (AVERAGE, DBOW, BOTH, REVIEWED)  # what has a seed: classifiers of vectors, where the others are of bags
METHODS = (BAYES, SVM, BIGRAMS, *SEEDED)
_WEIGHTS = (0.0001, 0.0003, 0.001, 0.01, 0.1)  # C of the logistic regression
_PENALTIES = (5.0, 20.0, 60.0, 150.0)
_PAGES = {"strip_tags": True}  # what reviews were
_PHRASES = {"vector_size": 400, "negative": 20}
_ORDERED = {"classes": "in order"}  # for five of them, a logistic regression that knows it
_SMALL = {"vector_size": 25, "epochs": 2, "infer_l2": 20.0, "C": 0.01}


def candidates(method: str, quick: bool) -> list[dict[str, Any]]:
    """What is tried on the development sentences."""
    learners = ("sentences", "phrases")
    if method in (BAYES, BIGRAMS):
        return [{"learn": learn, "alpha": alpha} for learn in learners for alpha in (0.3, 1.0, 3.0)]
    if method == SVM:
        return [{"learn": learn, "C": weight} for learn in learners for weight in (0.01, 0.1)]
    models: dict[str, list[dict[str, Any]]] = {
        AVERAGE: [{"train_words": True, "window": 5, "vector_size": 100, "epochs": 10}],
        DBOW: [{**_PHRASES, "sample": sample, "epochs": 20} for sample in (1e-3, 1e-4)],
        BOTH: [
            {"model": "dm+dbow", **_PHRASES, "word_size": 50, "window": window, "sample": 1e-3, "epochs": 10}
            | {"infer_context": True}  # as in the paper
            for window in (5, 8)
        ],
        REVIEWED: [
            {**_PAGES, "vector_size": 400, "ngrams": 2, "negative": 5, "epochs": 10},
            {**_PAGES, "vector_size": 500, "ngrams": 3, "negative": 5, "epochs": 20},
            {**_PAGES, "vector_size": 1000, "ngrams": 3, "negative": 5, "epochs": 20},
            {**_PAGES, "vector_size": 300, "ngrams": 2, "ngram_min_count": 5}
            | {"negative": 10, "sample": 1e-4, "epochs": 10},
        ],
    }
    if quick:
        return [{**models[method][-1], **_SMALL}]
    penalties: list[dict[str, Any]] = [{}] if method == AVERAGE else [{"infer_l2": l2} for l2 in _PENALTIES]
    kinds: list[dict[str, Any]] = [{}, _ORDERED]
    return [
        {**model, **l2, "C": weight, **kind}
        for model in models[method]
        for l2 in penalties
        for kind in kinds
        for weight in _WEIGHTS
    ]


@dataclass(frozen=True)
class Part:
    """Texts and their labels, from 0 to 4."""

    texts: list[str]
    labels: NDArray[np.int64]

    def of(self, task: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Which of them belong to a task, and their classes there: positive or negative has no neutral ones."""
        rows = np.flatnonzero(self.labels != NEUTRAL) if task == "binary" else np.arange(len(self.labels))
        labels = self.labels[rows]
        return rows, (labels > NEUTRAL).astype(np.int64) if task == "binary" else labels


@dataclass(frozen=True)
class Split:
    """Training phrases and sentences, without those that are development or test sentences, too."""

    phrases: Part
    train: Part
    dev: Part
    test: Part
    again: int  # test sentences that occur among the training phrases


def split(trees: Sst) -> Split:
    """Of the trees. Texts are lower-case words between spaces, and each phrase is there once."""
    for name in ("train", "dev", "test"):
        _check(name, [tree.sentence for tree in getattr(trees, name)])
    dev, test = (_part([tree.sentence for tree in part]) for part in (trees.dev, trees.test))
    asked = {*dev.texts, *test.texts}
    phrases, train = (
        [phrase for phrase in some if _normal(phrase) not in asked]
        for some in ([p for tree in trees.train for p in tree.phrases], [tree.sentence for tree in trees.train])
    )
    learned = {_normal(phrase) for tree in trees.train for phrase in tree.phrases}
    unique = list({_normal(phrase): phrase for phrase in reversed(phrases)}.values())[::-1]
    return Split(_part(unique), _part(train), dev, test, sum(text in learned for text in test.texts))


def _check(name: str, sentences: list[Phrase]) -> None:
    if len(sentences) < LEAST_SENTENCES:
        raise SourceError(f"{len(sentences)} {name} sentences are too few; {LEAST_SENTENCES} are needed")
    for what, some in (("negative", range(NEUTRAL)), ("positive", range(NEUTRAL + 1, 5))):
        if not any(sentence.label in some for sentence in sentences):
            raise SourceError(f"none of the {len(sentences)} {name} sentences is {what}; both classes are needed")


def _normal(phrase: Phrase) -> str:
    return " ".join(words(phrase.text))


def _part(phrases: Sequence[Phrase]) -> Part:
    return Part([_normal(phrase) for phrase in phrases], np.array([phrase.label for phrase in phrases], dtype=np.int64))


def run(trees: Sst, steps: Steps, options: Options, reviews: Sequence[str] | None = None) -> list[Listing]:
    """All methods: what they have to choose is chosen on development sentences, and the tables are of test sentences.

    `reviews` are further documents without labels, for a row of their own.
    """
    if options.quick:
        trees = Sst(_some(trees.train), _some(trees.dev), _some(trees.test))
        reviews = None if reviews is None else reviews[:QUICK_REVIEWS]
    if reviews is not None and not len(reviews):
        raise SourceError("reviews is empty; give some texts, or leave it out")
    task = Task(split(trees), reviews or [], steps, options)
    chosen, tested = {}, {}
    for method in METHODS if reviews else METHODS[:-1]:
        chosen[method], tested[method] = task.found(method)
    return [
        table(
            title,
            [task.about(name)],
            [
                Row(method, paper and paper[i], tested[method][name] if method in tested else None)
                for method, paper in PAPER.items()
                if method in tested or paper
            ],
            {method: in_words(found[name]) for method, found in chosen.items()},
        )
        for i, (name, title) in enumerate(TASKS.items())
    ]


def _some(trees: list[Tree]) -> list[Tree]:
    """Spread over all of them: the official files begin with the positive ones."""
    return trees[:: -(-len(trees) // QUICK_SENTENCES) or 1]


class Task:
    """One split, and the errors of methods on it."""

    def __init__(self, data: Split, reviews: Sequence[str], steps: Steps, options: Options) -> None:
        self._data, self._reviews, self._steps, self._options = data, reviews, steps, options
        parts = (data.phrases, data.train, data.dev, data.test)
        self._told = {"data": fingerprint(*(some for part in parts for some in (part.texts, part.labels.tolist())))}
        self._told_reviews = {"reviews": len(reviews), "data_of_reviews": fingerprint(reviews)}
        self._last: dict[str, tuple[Any, Any]] = {}  # the last model, and the last vectors, and what they are of

    def about(self, task: str) -> str:
        """What there is to know of the data."""
        data = self._data
        train, dev, test = (len(part.of(task)[0]) for part in (data.train, data.dev, data.test))
        text = (
            f"{train:,} training, {dev:,} development and {test:,} test sentences; everything is fitted on the "
            f"{len(data.phrases.texts):,} different phrases of the training trees. Test sentences that were among "
            f"them: {data.again}; they, and development sentences, are left out of training."
        )
        if self._reviews:
            text += f" The last row has {len(self._reviews):,} reviews besides, as documents without labels."
        return text

    def found(self, method: str) -> tuple[dict[str, dict[str, Any]], dict[str, Figure]]:
        """For each task the settings of a method that were chosen, and its test error."""
        chosen = self.chosen(method, candidates(method, self._options.quick))
        return chosen, self.tested(method, chosen)  # at once: the last model that was tried is there to be tested

    def chosen(self, method: str, tried: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """For each task the settings with the smallest error on the development sentences, the mean of all seeds."""
        found = [self.tried(method, tried, seed) for seed in self._seeds(method)]
        errors = {task: np.mean([[each.get(task, 1.0) for each in of_seed] for of_seed in found], 0) for task in TASKS}
        return {task: tried[int(np.argmin(errors[task]))] for task in TASKS}

    def tried(self, method: str, tried: Sequence[dict[str, Any]], seed: int) -> list[dict[str, float]]:
        """For each of the settings the errors on the development sentences, of the tasks that it is for."""
        return [
            self._step(
                method,
                settings,
                seed,
                f"development, seed {seed}, {in_words(settings)}",
                self._data.dev,
                ("fine",) if "classes" in settings else tuple(TASKS),
            )
            for settings in tried
        ]

    def tested(self, method: str, settings: dict[str, dict[str, Any]]) -> dict[str, Figure]:
        """For each task the test error, of all seeds where a method has any."""
        seeds = self._seeds(method)
        found = {
            (task, seed): self._step(
                method, settings[task], seed, f"{task}, test, seed {seed}", self._data.test, (task,)
            )
            for seed in seeds
            for task in TASKS
        }
        return {
            task: figure([found[task, seed][task] for seed in seeds], len(self._data.test.of(task)[0]))
            for task in TASKS
        }

    def _seeds(self, method: str) -> tuple[int, ...]:
        return self._options.seeds if method in SEEDED else (0,)

    def _step(
        self, method: str, settings: dict[str, Any], seed: int, what: str, asked: Part, tasks: tuple[str, ...]
    ) -> dict[str, float]:
        in_bags = method not in SEEDED
        of_method = settings if in_bags else whole(settings | {"engine": self._options.engine})
        told = {"method": method, "seed": seed, **self._told, **of_method}
        if method == REVIEWED:
            told |= self._told_reviews

        def work() -> dict[str, float]:
            if in_bags:
                return {task: self._of_bag(method, settings, task, asked) for task in tasks}
            return {task: self._of_vectors(method, settings, seed, task, asked) for task in tasks}

        found: dict[str, float] = self._steps.step(f"sst, {method}, {what}", told, work)
        return found

    def _of_bag(self, method: str, settings: dict[str, Any], task: str, asked: Part) -> float:
        """The error of a classifier of the words, or bigrams too, that a text has."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.naive_bayes import MultinomialNB
        from sklearn.svm import LinearSVC

        learned = self._data.phrases if settings["learn"] == "phrases" else self._data.train
        n_grams = 2 if method == BIGRAMS else 1
        bag = CountVectorizer(analyzer="word", token_pattern=r"\S+", ngram_range=(1, n_grams), binary=True)
        classifier = LinearSVC(C=settings["C"], dual=False) if method == SVM else MultinomialNB(alpha=settings["alpha"])
        return _error(classifier, bag.fit_transform(learned.texts), learned, bag.transform(asked.texts), asked, task)

    def _of_vectors(self, method: str, settings: dict[str, Any], seed: int, task: str, asked: Part) -> float:
        """The error of a logistic regression of the vectors of sentences, inferred ones of training sentences, too."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        from paravec.experiments.ordered import Ordered

        wanted = {**settings, "random_state": seed}
        weight, ordered = wanted.pop("C"), wanted.pop("classes", None)
        train = self._data.train

        def vectors() -> list[Any]:
            model = self._model(method, wanted)
            if method == AVERAGE:
                return [averages(model, [text.split() for text in part.texts]) for part in (train, asked)]
            return [model.transform(part.texts) for part in (train, asked)]

        learned, new = self._kept("vectors", (method, wanted, asked is self._data.test), vectors)
        regression = Ordered(weight) if ordered else LogisticRegression(C=weight, max_iter=3000)
        return _error(make_pipeline(StandardScaler(), regression), learned, train, new, asked, task)

    def _model(self, method: str, wanted: dict[str, Any]) -> ParagraphVector:
        """Fitted on the training phrases; once for settings that only differ in inference."""
        settings = dict(wanted)
        now = {name: settings.pop(name) for name in ("infer_l2",) if name in settings}
        documents = [*self._reviews, *self._data.phrases.texts] if method == REVIEWED else self._data.phrases.texts
        estimator = ParagraphVector(**settings, **self._options.of_models, refit_documents=False)
        model: ParagraphVector = self._kept("model", (method, settings), lambda: estimator.fit(documents))
        model.set_params(**now)
        return model

    def _kept(self, what: str, key: Any, make: Any) -> Any:
        """What was made last, if it was made with the same key."""
        if what not in self._last or self._last[what][0] != key:
            self._last.pop(what, None)
            self._last[what] = key, make()
        return self._last[what][1]


def _error(classifier: Any, learned: Any, train: Part, new: Any, asked: Part, task: str) -> float:
    from threadpoolctl import threadpool_limits

    rows, classes = train.of(task)
    asked_rows, right = asked.of(task)
    with threadpool_limits(1):  # products are small: on a busy machine, threads wait for each other 100 times as long
        return 1 - float(classifier.fit(learned[rows], classes).score(new[asked_rows], right))
