"""A pipeline of scikit-learn with a grid search over the window of distributed memory."""

import argparse

from classify import labelled
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from paravec import ParagraphVector


def main() -> None:
    """Prints the score of every window, in cross-validation; vectors are learned without the texts asked about."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few packages, windows and epochs")
    quick = parser.parse_args().quick
    texts, packages = labelled(3, 2_000) if quick else labelled(8)
    pipeline = Pipeline(
        [
            ("vectors", ParagraphVector("dm", 50, combine="mean", epochs=2 if quick else 20, n_jobs=-1)),
            ("scale", StandardScaler()),
            ("classify", LogisticRegression(max_iter=1000)),
        ]
    )
    grid = {"vectors__window": [2, 5] if quick else [2, 3, 5, 10]}
    search = GridSearchCV(pipeline, grid, cv=2 if quick else 3).fit(texts, packages)
    for window, score in zip(grid["vectors__window"], search.cv_results_["mean_test_score"], strict=True):
        print(
            f"window {window:3}: {score:.1%} of {len(texts):,} paragraphs in the right of {len(set(packages))} packages"
        )
    print(f"the best is {search.best_params_['vectors__window']}; {search.predict([texts[0]])[0]}: {texts[0][:60]}")


if __name__ == "__main__":
    main()
