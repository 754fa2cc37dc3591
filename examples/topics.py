"""A map of what a corpus is about: Python's own documentation, its topics, and the words nearest to them.

Documents and words get vectors in one space (dbow with skip-gram words), documents that lie close make a topic, and
the words nearest to its middle name it.
"""

import argparse
from itertools import islice

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.preprocessing import normalize

from paravec import ParagraphVector, words
from paravec.cli.demo import documentation


def topic_words(model: ParagraphVector, documents: np.ndarray, topics: np.ndarray, k: int) -> dict[int, list[str]]:
    """The words nearest to the middle of each topic, seen from the middle of everything; the largest topic first."""
    vocabulary = np.array(list(model.vocabulary_))
    named = np.flatnonzero([word.isalpha() and len(word) > 2 for word in vocabulary])
    vectors = normalize(model.word_vectors_[named] - model.word_vectors_.mean(axis=0))
    found = {}
    for topic in np.argsort(-np.bincount(topics[topics >= 0])):
        middle = documents[topics == topic].mean(axis=0) - documents.mean(axis=0)
        found[int(topic)] = vocabulary[named[np.argsort(-(vectors @ middle))[:k]]].tolist()
    return found


def plot(place: np.ndarray, topics: np.ndarray, names: dict[int, list[str]], path: str) -> None:
    """Every document a dot, coloured by its topic; the largest topics have their names."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    axes = figure.add_subplot()
    lonely = topics < 0
    axes.scatter(*place[lonely].T, s=3, color="0.85", linewidths=0)
    axes.scatter(*place[~lonely].T, s=8, c=topics[~lonely] * 37 % 101, cmap="turbo", linewidths=0)
    for topic in list(names)[:25]:
        middle = np.median(place[topics == topic], axis=0)
        box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.6}
        axes.text(*middle, "\n".join(names[topic][:3]), fontsize=8, ha="center", va="center", bbox=box)
    axes.set_axis_off()
    figure.suptitle(f"{len(place):,} paragraphs of Python's documentation in {len(names)} topics")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Prints the topics, and draws the map."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the paragraphs, few epochs")
    parser.add_argument("-o", "--out", default="topics.png", help="the picture to write")
    given = parser.parse_args()
    paragraphs = islice(documentation(), 1_000 if given.quick else None)
    texts = [text for _, text in paragraphs if len(words(text)) >= 25]

    model = ParagraphVector(
        vector_size=50 if given.quick else 300,
        epochs=5 if given.quick else 40,
        output="hs",
        sample=1e-4,
        train_words=True,
        window=16,
        context="both",
        min_count=5,
        n_jobs=-1,
    )
    documents = normalize(model.fit_transform(texts))
    map_of = TSNE(metric="cosine", max_iter=250 if given.quick else 1_000, random_state=0)
    place = map_of.fit_transform(PCA(50, random_state=0).fit_transform(documents))
    topics = HDBSCAN(min_cluster_size=20, min_samples=5, copy=True).fit_predict(place)
    names = topic_words(model, documents, topics, k=6)
    for topic, nearest in names.items():
        print(f"{np.sum(topics == topic):5}  {' '.join(nearest)}")
    print(f"{np.sum(topics < 0):5}  of no topic")
    plot(place, topics, names, given.out)
    print(f"drawn to {given.out}")


if __name__ == "__main__":
    main()
