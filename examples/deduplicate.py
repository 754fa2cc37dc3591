"""Finds texts that say the same twice: paragraphs of Python's documentation, some of them copied and edited."""

import argparse
from itertools import islice

import numpy as np
from sklearn.neighbors import NearestNeighbors

from paravec import ParagraphVector, words
from paravec.cli.demo import documentation


def edited(text: str, rng: np.random.Generator) -> str:
    """A copy in which every tenth word is gone, and two neighbours have changed places."""
    kept = [word for word in text.split() if rng.random() > 0.1]
    i = int(rng.integers(len(kept) - 1))
    kept[i], kept[i + 1] = kept[i + 1], kept[i]
    return " ".join(kept)


def main() -> None:
    """Prints how many of the copies are found, and duplicates that were there before."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a part of the paragraphs, few epochs")
    quick = parser.parse_args().quick
    rng = np.random.default_rng(0)
    paragraphs = islice(documentation(), 1_500 if quick else None)
    texts = [text for _, text in paragraphs if len(words(text)) >= 20]
    chosen = rng.choice(len(texts), 200, replace=False)
    copies = [edited(texts[i], rng) for i in chosen]

    model = ParagraphVector(vector_size=100, epochs=10 if quick else 30, min_count=1, n_jobs=-1)
    vectors = model.fit_transform(texts + copies)
    near = NearestNeighbors(n_neighbors=2, metric="cosine").fit(vectors)
    distance, neighbour = (found[:, 1] for found in near.kneighbors(vectors))  # the first is the text itself
    found = sum(neighbour[len(texts) + i] == original for i, original in enumerate(chosen))
    print(f"{len(texts):,} paragraphs; of {len(copies)} edited copies, {found} have their original as the nearest text")
    edge = np.quantile(distance[len(texts) :], 0.9)
    alike = [i for i in range(len(texts)) if distance[i] < edge and i < neighbour[i] < len(texts)]
    print(f"{len(alike)} other pairs are as near as nine of ten copies to theirs (cosine {1 - edge:.2f}), such as:")
    for i in sorted(alike, key=lambda i: distance[i])[:: max(1, len(alike) // 4)][:4]:
        print(f"\n{1 - distance[i]:.2f}  {texts[i][:110]}\n      {texts[neighbour[i]][:110]}")


if __name__ == "__main__":
    main()
