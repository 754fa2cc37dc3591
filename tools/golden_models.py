"""Writes the models of the present version of the format that ``tests/test_golden.py`` keeps: once a version.

    python tools/golden_models.py tests/golden/v2

What is there must never be written again: it would no longer show that old models load.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from paravec import ParagraphVector, add_documents, remove_documents

TEXTS = [
    "the cat sat on the mat", "the dog sat on the rug", "the cat saw the dog", "the dog saw the cat on the mat",
    "stocks fell on monday", "stocks rose on friday", "the market fell on friday", "the market rose on monday",
    "naïve 東京 café", "café 東京 naïve",
]  # fmt: skip
NUMBERS = [[1, 2, 3, 1], [2, 3, -4, 1], [5, 2, 5, 1], [3, 3, 2, -4]]
MODELS = {  # documents, settings, ids, and ids of those that are added
    "dbow": (
        TEXTS,
        {"ngrams": 2, "validation_fraction": 0.2, "patience": 5},
        [f"text {i}" for i in range(10)],
        ["東", "new", ""],
    ),
    "both": (TEXTS, {"model": "dm+dbow", "combine": "concat", "output": "hs", "word_size": 3}, None, None),
    "dm": (TEXTS, {"model": "dm", "combine": "mean", "output": "softmax"}, range(100, 110), None),
    "numbers": (NUMBERS, {}, [7, -7, 70, -70], [1, -(2**63), 2]),
}


def main() -> None:
    """Fits and saves a model of every kind, with what it answers."""
    target = Path(sys.argv[1])
    if target.exists():
        sys.exit(f"{target} is there already, and stays as it is")
    for name, (documents, settings, ids, added) in MODELS.items():
        model = ParagraphVector(vector_size=4, window=3, epochs=3, min_count=1, **settings).fit(documents, ids=ids)
        folder = target / name
        model.save(folder / "model")
        add_documents(folder / "model", documents[:3], ids=added)
        add_documents(
            folder / "model", documents[3:4], ids=None if added is None else ["last" if name == "dbow" else 3]
        )
        remove_documents(folder / "model", [model.document_ids_[0]])
        model = ParagraphVector.load(folder / "model")
        expected = {
            "settings": model.settings_.as_dict(),
            "words": list(model.vocabulary_),
            "loss_history": model.loss_history_,
            "n_documents": model.n_documents_,
            "texts": documents[:5],
            "vectors": model.transform(documents[:5]).tolist(),
            "document_ids": list(model.document_ids_),
            "document_vectors": model.document_vectors_.tolist(),
            "similar": [id for id, _ in model.similar(id=model.document_ids_[3], k=3)],
        }
        (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
