"""Models of every version of the format load for ever, and give the vectors they gave."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from paravec import ParagraphVector
from paravec.settings import RENAMED

GOLDEN = Path(__file__).parent / "golden"
MODELS = sorted(path.parent for path in GOLDEN.rglob("expected.json"))


def test_there_is_a_model_of_every_version():
    from paravec import store

    versions = {json.loads((model / "model" / "settings.json").read_text())["version"] for model in MODELS}
    assert versions == set(range(1, store.VERSION + 1))


@pytest.mark.parametrize("folder", MODELS, ids=lambda folder: str(folder.relative_to(GOLDEN)))
def test_a_model_of_an_earlier_version_is_what_it_was(folder):
    expected = json.loads((folder / "expected.json").read_text())
    model = ParagraphVector.load(folder / "model")
    for name, value in expected["settings"].items():
        assert getattr(model.settings_, RENAMED.get(name, name)) == value, name
    assert list(model.vocabulary_) == expected["words"]
    assert model.loss_history_ == expected["loss_history"]
    assert model.n_documents_ == expected["n_documents"]
    # Bits are promised on one instruction set; these were written on another machine.
    vectors = model.transform(expected["texts"])
    assert np.allclose(vectors, expected["vectors"], atol=1e-4)
    if expected["document_ids"] is None:
        assert not hasattr(model, "document_vectors_")
        return
    assert list(model.document_ids_) == expected["document_ids"]
    assert np.array_equal(model.document_vectors_, np.array(expected["document_vectors"], dtype=np.float32))
    found = model.similar(id=expected["document_ids"][3], k=3)
    assert [id for id, _ in found] == expected["similar"]
