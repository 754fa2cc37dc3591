"""Visits to a shop: documents whose words are page numbers.

Visitors come for one of twenty things, wander among its pages by links, and stray. Of a few visits it is known what
they were for; can it be told of the others? Vectors learn from all visits, known or not.
"""

import argparse

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MultiLabelBinarizer

from paravec import ParagraphVector

INTERESTS, PAGES, STRAYS = 20, 200, 0.3


def visits(count: int, rng: np.random.Generator) -> tuple[list[list[int]], np.ndarray]:
    """Visits as lists of pages, and what each was for. The pages of a thing are linked in a ring with short cuts."""
    interest = rng.integers(INTERESTS, size=count)
    found = []
    for thing in interest:
        page, pages = rng.integers(PAGES), []
        for _ in range(rng.integers(5, 15)):
            stray = rng.random() < STRAYS
            pages.append(int(rng.integers(INTERESTS * PAGES) if stray else thing * PAGES + page))
            page = (page + rng.choice([1, 2, 7])) % PAGES
        found.append(pages)
    return found, interest


def main() -> None:
    """Prints how many visits are understood, by vectors and by the pages themselves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the visits")
    quick = parser.parse_args().quick
    pages, interest = visits(3_000 if quick else 30_000, np.random.default_rng(0))
    known, asked = slice(0, 200), slice(-1_000, None)

    model = ParagraphVector(vector_size=50, epochs=20, n_jobs=-1)
    vectors = model.fit_transform(pages)
    right = LogisticRegression(max_iter=1000).fit(vectors[known], interest[known])
    print(f"{len(pages):,} visits, {len(model.vocabulary_):,} pages, 200 visits with a known interest")
    print(f"vectors of visits: {right.score(vectors[asked], interest[asked]):.1%} of 1,000 others understood")

    bags = MultiLabelBinarizer(sparse_output=True).fit_transform(pages)
    right = LogisticRegression(max_iter=1000).fit(bags[known], interest[known])
    print(f"bags of pages:     {right.score(bags[asked], interest[asked]):.1%}")

    now = [3, 5, 12, 13, 20]  # a visitor who is there at the moment
    alike = [int(interest[int(i)]) for i, _ in model.similar(now, k=10)]
    print(f"a visit to the pages {now}, of the thing 0, is like visits for {alike}")


if __name__ == "__main__":
    main()
