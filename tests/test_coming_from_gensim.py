"""The page for those who come from gensim: it misses nothing of gensim's, and what it tells to use instead runs."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

from pages import DOCS, code, run_blocks, tables
from paravec import ParagraphVector

PAGE = DOCS / "coming-from-gensim.md"
ARGUMENTS, MEMBERS = "Arguments of the constructor", "Methods and attributes of Doc2Vec"
KEYED = "Documents and words: KeyedVectors"
CALLS = "Arguments of methods"
METHODS = (
    "train",
    "build_vocab",
    "build_vocab_from_freq",
    "infer_vector",
    "similarity_unseen_docs",
    "save_word2vec_format",
)
TABLES = tables(PAGE)
ROWS = [row for rows in TABLES.values() for row in rows if code(row[1])]
NOT_FOR_DOC2VEC = {"self", "kwargs", "sentences", "sg", "null_word"}  # which Doc2Vec sets itself


def named(heading: str) -> set[str]:
    """The names of gensim's that a table has rows for."""
    return {re.split(r"[=(]", name)[0] for row in TABLES[heading] for name in code(row[0])}


def public(*things) -> set[str]:
    return {name for thing in things for name in dir(thing) if not name.startswith("_")}


def theirs(**settings) -> Doc2Vec:
    return Doc2Vec([TaggedDocument(["a", "b"], ["x"])], vector_size=4, min_count=1, **settings)


def test_every_argument_of_gensims_constructor_has_a_row_and_nothing_else():
    arguments = {name for kind in (Doc2Vec, Word2Vec) for name in inspect.signature(kind.__init__).parameters}
    assert named(ARGUMENTS) == arguments - NOT_FOR_DOC2VEC


def test_every_method_and_attribute_has_a_row_and_nothing_else():
    assert named(MEMBERS) == public(theirs(), theirs(hs=1, negative=0))


def test_every_method_and_attribute_of_its_vectors_has_a_row_and_nothing_else():
    model = theirs()
    assert named(KEYED) == public(model.dv, model.wv)


def test_every_argument_of_the_methods_that_matter_has_a_row_and_nothing_else():
    methods = [*(getattr(Doc2Vec, name) for name in METHODS), KeyedVectors.most_similar]
    expected = {f"{method.__name__}({name})" for method in methods for name in inspect.signature(method).parameters}
    rows = {re.sub("=[^)]*", "", name) for row in TABLES[CALLS] for name in code(row[0])}
    assert rows == {name for name in expected if not name.endswith(("(self)", "(kwargs)"))}


def test_every_row_has_a_counterpart_or_says_why_not():
    for heading in (ARGUMENTS, MEMBERS, CALLS, KEYED):
        for theirs, ours, why in TABLES[heading]:
            assert code(ours) or (ours == "-" and why), theirs


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("gensim"))
        yield run_blocks(PAGE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: code(row[0])[0])
def test_counterparts_run(row, names, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("\n".join(names["texts"]))
    for snippet in code(row[1]):
        found = eval(snippet, dict(names))
        if isinstance(found, ParagraphVector) and not hasattr(found, "_fitted"):
            found.set_params(epochs=1).fit(names["documents"])


VALUES = {
    "similarity": lambda theirs: theirs.similarity("a", "b"),
    "distance": lambda theirs: theirs.distance("a", "b"),
    "cosine_similarities": lambda theirs: theirs.cosine_similarities(theirs["a"], theirs.vectors),
    "distances": lambda theirs: theirs.distances("a"),
    "n_similarity": lambda theirs: theirs.n_similarity(["a", "b"], ["c", "d", "e"]),
    "get_mean_vector": lambda theirs: theirs.get_mean_vector(["a", "b"]),
    "rank": lambda theirs: theirs.rank("a", "b"),
    "norms": lambda theirs: theirs.fill_norms() or theirs.norms,
    "get_normed_vectors": lambda theirs: theirs.get_normed_vectors(),
    "get_vector": lambda theirs: theirs.get_vector("a"),
    "key_to_index": lambda theirs: theirs.key_to_index["a"],
    "has_index_for": lambda theirs: theirs.has_index_for("a"),
    "vectors": lambda theirs: theirs.vectors,
}
LISTS = {
    "most_similar": lambda theirs: theirs.most_similar("a", topn=3),
    "similar_by_key": lambda theirs: theirs.similar_by_key("a", topn=3),
    "similar_by_vector": lambda theirs: theirs.similar_by_vector(theirs["a"], topn=3),
    "most_similar_to_given": lambda theirs: theirs.most_similar_to_given("a", ["b", "c"]),
    "index_to_key": lambda theirs: theirs.index_to_key,
}


@pytest.fixture(scope="module")
def keyed(names):
    """Vectors of documents as gensim has them."""
    found = KeyedVectors(20)
    found.add_vectors(names["ids"], names["model"].document_vectors_)
    return found


def counterpart(name: str, names: dict) -> object:
    (row,) = [row for row in TABLES[KEYED] if name in code(row[0])]
    return eval(code(row[1])[0], dict(names))


@pytest.mark.parametrize("name", VALUES)
def test_counterparts_give_the_numbers_of_gensim(name, names, keyed):
    assert np.allclose(counterpart(name, names), VALUES[name](keyed), atol=1e-5)


@pytest.mark.parametrize("name", LISTS)
def test_counterparts_give_the_names_of_gensim(name, names, keyed):
    def plain(found):
        return [each[0] if isinstance(each, tuple) else each for each in found]

    assert plain(counterpart(name, names)) == plain(LISTS[name](keyed))


def test_what_is_closer_is_the_same_whatever_its_order(names, keyed):
    assert sorted(counterpart("closer_than", names)) == sorted(keyed.closer_than("a", "b"))
