"""Which package does a paragraph of Python's documentation belong to? Beside TF-IDF."""

import argparse
import re
from collections import Counter
from itertools import islice

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer

from paravec import ParagraphVector
from paravec.cli.demo import documentation


def labelled(classes: int, paragraphs: int | None = None) -> tuple[list[str], list[str]]:
    """The paragraphs of the packages that have most of them, and their packages."""
    found = [(text, re.split("[.#:]", name)[0]) for name, text in islice(documentation(), paragraphs)]
    common = {package for package, _ in Counter(package for _, package in found).most_common(classes)}
    return tuple(zip(*[(text, package) for text, package in found if package in common], strict=True))


def main() -> None:
    """Prints the share of paragraphs that each method puts into the right package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few packages, few epochs")
    quick = parser.parse_args().quick
    texts, packages = labelled(4, 2_000) if quick else labelled(12)
    split = train_test_split(texts, packages, test_size=0.25, stratify=packages, random_state=0)
    train, test, expected, asked = split

    vectors = ParagraphVector(vector_size=100, epochs=5 if quick else 40, negative=20, sample=1e-3, n_jobs=-1)
    vectors = make_pipeline(vectors, Normalizer())
    methods = {
        "vectors": make_pipeline(vectors, LogisticRegression(C=10, max_iter=1000)),
        "TF-IDF": make_pipeline(TfidfVectorizer(), LogisticRegression(C=10, max_iter=1000)),
        "both": make_pipeline(make_union(TfidfVectorizer(), vectors), LogisticRegression(C=10, max_iter=1000)),
    }
    most = Counter(asked).most_common(1)[0][1] / len(asked)
    print(f"{len(train):,} paragraphs to learn from, {len(test):,} to ask about, {len(set(packages))} packages")
    print(f"{'the commonest':14}{most:6.1%}")
    for name, method in methods.items():
        print(f"{name:14}{method.fit(train, expected).score(test, asked):6.1%}")


if __name__ == "__main__":
    main()
