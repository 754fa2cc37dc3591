"""The page for those who come from gensim: it misses nothing of gensim's, and what it tells to use instead runs."""

from __future__ import annotations

import inspect
import re

import pytest
from gensim.models import Word2Vec
from gensim.models.doc2vec import Doc2Vec, TaggedDocument

from pages import DOCS, code, run_blocks, tables
from paravec import ParagraphVector

PAGE = DOCS / "coming-from-gensim.md"
ARGUMENTS, MEMBERS = "Arguments of the constructor", "Methods and attributes of Doc2Vec"
KEYED = "Documents and words: KeyedVectors"
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


def test_every_row_has_a_counterpart_or_says_why_not():
    for heading in (ARGUMENTS, MEMBERS, KEYED):
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
