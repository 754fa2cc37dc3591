"""Writes the models of the present version of the format that ``tests/test_golden.py`` keeps: once a version.

    python tools/golden_models.py tests/golden/v1

What is there must never be written again: it would no longer show that old models load.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from paravec import ParagraphVector

TEXTS = [
    "the cat sat on the mat", "the dog sat on the rug", "the cat saw the dog", "the dog saw the cat on the mat",
    "stocks fell on monday", "stocks rose on friday", "the market fell on friday", "the market rose on monday",
    "naïve 東京 café", "café 東京 naïve",
]  # fmt: skip
NUMBERS = [[1, 2, 3, 1], [2, 3, -4, 1], [5, 2, 5, 1], [3, 3, 2, -4]]
MODELS = {
    "dbow": (
        TEXTS,
        {"ngrams": 2, "validation_fraction": 0.2, "patience": 5},
        {"ids": [f"text {i}" for i in range(10)]},
        {},
    ),
    "both": (TEXTS, {"model": "dm+dbow", "combine": "concat", "output": "hs", "word_size": 3}, {}, {}),
    "dm": (TEXTS, {"model": "dm", "combine": "mean", "output": "softmax"}, {"ids": range(100, 110)}, {}),
    "cosine": (TEXTS, {"logit": "cosine", "train_words": True}, {}, {"documents": False}),
    "numbers": (NUMBERS, {}, {"ids": [7, -7, 70, -70]}, {}),
}


def main() -> None:
    """Fits and saves a model of every kind, with what it answers."""
    target = Path(sys.argv[1])
    if target.exists():
        sys.exit(f"{target} is there already, and stays as it is")
    for name, (documents, settings, ids, saving) in MODELS.items():
        model = ParagraphVector(vector_size=4, window=3, epochs=3, min_count=1, **settings).fit(documents, **ids)
        folder = target / name
        model.save(folder / "model", **saving)
        kept = saving.get("documents", True)
        expected = {
            "settings": model.settings_.as_dict(),
            "words": list(model.vocabulary_),
            "loss_history": model.loss_history_,
            "n_documents": model.n_documents_,
            "texts": documents[:5],
            "vectors": model.transform(documents[:5]).tolist(),
            "document_ids": list(model.document_ids_) if kept else None,
            "document_vectors": model.document_vectors_.tolist() if kept else None,
            "similar": [id for id, _ in model.similar(id=model.document_ids_[3], k=3)],
        }
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
