from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

from paravec import ModelFormatError, ParagraphVector, store
from paravec.text import UNICODE_VERSION

MODELS = [
    {"model": "dbow", "ngrams": 2},
    {"model": "dm", "output": "hs", "word_size": 5},
    {"model": "dm+dbow", "combine": "mean", "output": "softmax"},
    {"model": "dbow", "train_words": True, "logit": "cosine"},
]


@pytest.fixture(scope="module")
def texts(python_docs):
    return [text for _, text in python_docs[:150]]


@pytest.mark.parametrize("settings", MODELS, ids=str)
def test_a_saved_model_is_the_model(settings, texts, tmp_path):
    fitted = ParagraphVector(vector_size=8, window=3, epochs=2, **settings).fit(
        texts, ids=[f"d{i}" for i in range(150)]
    )
    fitted.save(tmp_path / "model")
    again = ParagraphVector.load(tmp_path / "model")
    assert again.get_params() == {**fitted.get_params(), "random_state": 0}
    assert np.array_equal(again.transform(texts[:20]), fitted.transform(texts[:20]))
    assert np.array_equal(again.document_vectors_, fitted.document_vectors_)
    assert again.document_ids_ == fitted.document_ids_
    assert again.loss_history_ == fitted.loss_history_
    assert again.vocabulary_ == fitted.vocabulary_


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(texts, tmp_path):
    for size in (4, 5):
        ParagraphVector(vector_size=size, epochs=1).fit(texts).save(tmp_path / "model")
    assert ParagraphVector.load(tmp_path / "model").vector_size == 5
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_saving_never_replaces_what_is_no_model(texts, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("meow")
    with pytest.raises(FileExistsError, match="is no paravec model"):
        ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "photos")
    assert (tmp_path / "photos" / "cat.jpg").read_text() == "meow"


def test_integer_tokens_and_odd_strings_survive(tmp_path):
    for docs in ([[1, -2, 1, -2], [3, 1]], [["a b", "\ud800", "\n"], ["a b", "é", "\x00"]]):
        fitted = ParagraphVector(vector_size=4, min_count=1).fit(docs)
        fitted.save(tmp_path / "model")
        again = ParagraphVector.load(tmp_path / "model")
        assert again.vocabulary_ == fitted.vocabulary_
        assert np.array_equal(again.transform(docs), fitted.transform(docs))


def test_a_tokenizer_of_ones_own_must_be_given_again(texts, tmp_path):
    fitted = ParagraphVector(vector_size=4, epochs=1, min_count=1, tokenizer=str.split).fit(texts)
    fitted.save(tmp_path / "model")
    with pytest.raises(ValueError, match=r"load it with .*tokenizer="):
        ParagraphVector.load(tmp_path / "model").transform(texts[:1])
    again = ParagraphVector.load(tmp_path / "model", tokenizer=str.split)
    assert np.array_equal(again.transform(texts[:3]), fitted.transform(texts[:3]))


def test_a_model_holds_no_pickle(texts, tmp_path):
    ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").rglob("*") if path.is_file()} == {".json", ".safetensors"}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("settings.json", b"{", "is not JSON"),
        ("settings.json", b"{}", "does not describe a paravec model"),
        ("settings.json", b'{"format": "paravec model", "version": 99}', "has format version 99"),
        ("settings.json", None, "is no paravec model: it has no settings.json"),
        ("model.safetensors", b"short", "model.safetensors is no good safetensors file"),
        ("model.safetensors", None, "cannot be read"),
    ],
)
def test_a_damaged_folder_is_refused_with_a_sentence(texts, tmp_path, file, content, message):
    ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "model")
    if content is None:
        (tmp_path / "model" / file).unlink()
    else:
        (tmp_path / "model" / file).write_bytes(content)
    with pytest.raises(ModelFormatError, match=message):
        ParagraphVector.load(tmp_path / "model")


def test_nan_in_weights_is_refused(texts, tmp_path):
    fitted = ParagraphVector(vector_size=4, epochs=1).fit(texts)
    fitted._fitted.models[0].outputs[3, 2] = np.nan
    fitted.save(tmp_path / "model")
    with pytest.raises(ModelFormatError, match="'outputs' holds NaN"):
        ParagraphVector.load(tmp_path / "model")


def test_a_setting_out_of_range_is_refused(texts, tmp_path):
    ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "model")
    path = tmp_path / "model" / "settings.json"
    about = json.loads(path.read_text())
    about["settings"]["vector_size"] = -1
    path.write_text(json.dumps(about))
    with pytest.raises(ModelFormatError, match="vector_size=-1"):
        ParagraphVector.load(tmp_path / "model")


def test_no_folder_is_said_plainly(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no model folder at"):
        ParagraphVector.load(tmp_path / "nowhere")


def test_an_empty_folder_may_be_filled_and_others_may_read_it(texts, tmp_path):
    (tmp_path / "model").mkdir()
    ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "model")
    mask = os.umask(0)
    os.umask(mask)
    for path in (tmp_path / "model").iterdir():
        assert path.stat().st_mode & 0o777 == 0o666 & ~mask
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o777 & ~mask


def test_a_model_says_which_unicode_it_was_made_with(texts, tmp_path):
    ParagraphVector(vector_size=4, epochs=1).fit(texts).save(tmp_path / "model")
    about = json.loads((tmp_path / "model" / "settings.json").read_text())
    assert about["unicode"] == UNICODE_VERSION
    (tmp_path / "model" / "settings.json").write_text(json.dumps({**about, "unicode": "9.0.0"}))
    with pytest.warns(UserWarning, match=r"made with the characters of Unicode 9\.0\.0"):
        ParagraphVector.load(tmp_path / "model")


def test_models_that_differ_in_their_vectors_alone_are_two(tmp_path):
    texts = ["the cat sat", "the dog sat", "the dog ran", "a cat ran"]
    model = ParagraphVector(vector_size=4, epochs=1, min_count=1).fit(texts[:3], ids=list("xyz"))
    model.save(tmp_path / "one")
    model.save(tmp_path / "again")
    model.remove_documents(["z"]).add_documents(texts[3:], ids=["z"]).save(tmp_path / "two")
    one, again, two = (store.load(tmp_path / name).origin[1] for name in ("one", "again", "two"))
    assert one == again != two
    shutil.copy(tmp_path / "one" / "documents.safetensors", tmp_path / "two" / "documents.safetensors")
    with pytest.raises(ModelFormatError, match="belongs to another model"):
        store.load(tmp_path / "two")
