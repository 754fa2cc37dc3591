"""Files of the official formats are read whole, and others are refused with the name of what was expected."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import tarfile
import zipfile

import pytest

from paravec import SourceError
from paravec.experiments.data import analogies, imdb, similarities, snippets, sst

REVIEWS = {
    "aclImdb/train/pos/10_9.txt": "Good.<br /><br />Very good.",
    "aclImdb/train/pos/2_7.txt": "Fine.",
    "aclImdb/train/neg/0_1.txt": "Bad.",
    "aclImdb/train/unsup/0_0.txt": "So so.",
    "aclImdb/test/pos/0_10.txt": "Crème de la crème.",
    "aclImdb/test/neg/0_2.txt": "Not good.",
    "aclImdb/train/urls_pos.txt": "\n".join(f"http://www.imdb.com/title/tt{i:07}/usercomments" for i in range(11)),
    "aclImdb/train/urls_neg.txt": "http://example.org",
    "aclImdb/README": "read me",
}


def tar(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def tree(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["archive", "xz", "folder", "parent"])
def test_reviews_are_the_same_from_an_archive_and_from_a_folder(kind, tmp_path):
    path = {
        "archive": lambda: tar(tmp_path / "aclImdb_v1.tar.gz", REVIEWS),
        "xz": lambda: tar(tmp_path / "a.tar.xz", dict(reversed(REVIEWS.items())), "w:xz"),
        "folder": lambda: tree(tmp_path, REVIEWS) / "aclImdb",
        "parent": lambda: tree(tmp_path, REVIEWS),
    }[kind]()
    data = imdb(path)
    assert data.train == ["Fine.", "Good.  Very good.", "Bad.", "So so."]
    assert data.train_labels == [1, 1, 0, None]
    assert data.labelled == [0, 1, 2]
    assert data.films == ["tt0000002", "tt0000010", None, None]
    assert (data.test, data.test_labels) == (["Crème de la crème.", "Not good."], [1, 0])
    assert not data.complete


def without(*names):
    return {name: text for name, text in REVIEWS.items() if not name.startswith(names)}


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (without("aclImdb/train/neg"), "has no reviews in train/neg"),
        (without("aclImdb/test"), "has no reviews in test/pos"),
        (REVIEWS | {"aclImdb/train/pos/3_8.txt": b"\xff\xfe"}, r"holds train/pos/3_8\.txt, which is not UTF-8"),
    ],
)
def test_an_archive_that_lacks_something_is_refused(files, words, tmp_path):
    with pytest.raises(SourceError, match=rf"{words}.*aclImdb_v1\.tar\.gz.*https://ai\.stanford\.edu"):
        imdb(tar(tmp_path / "a.tar.gz", files))


def test_a_damaged_archive_is_refused(tmp_path):
    whole = tar(tmp_path / "a.tar.gz", {**REVIEWS, "aclImdb/train/pos/11_9.txt": "long " * 10_000}).read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive", b""):
        (tmp_path / "b.tar.gz").write_bytes(content)
        with pytest.raises(SourceError, match=r"b\.tar\.gz is damaged, or no archive.*expected aclImdb"):
            imdb(tmp_path / "b.tar.gz")


@pytest.mark.parametrize("load", [imdb, sst, snippets, analogies, similarities])
def test_a_missing_file_is_told_with_the_name_of_what_was_expected(load, tmp_path):
    with pytest.raises(SourceError, match=r"there is nothing at .*nowhere; expected .* published at https://"):
        load(tmp_path / "nowhere")


TREES = {
    "trees/train.txt": "(3 (2 It) (4 (2 's) (4 lovely)))\n(1 (2 a) (0 (1 bad) (2 film)))\n",
    "trees/dev.txt": "(2 (2 so) (2 so))\n\n",
    "trees/test.txt": r"(4 (3 good) (2 (2 1\/2) (2 M\*A)))",
}


@pytest.mark.parametrize("kind", ["folder", "trees", "zip"])
def test_trees_are_read_with_all_their_phrases(kind, tmp_path):
    path = tree(tmp_path, TREES)
    if kind == "trees":
        path = path / "trees"
    if kind == "zip":
        path = tmp_path / "trainDevTestTrees_PTB.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for name, text in TREES.items():
                archive.writestr(name, text)
    data = sst(path)
    assert (len(data.train), len(data.dev), len(data.test)) == (2, 1, 1)
    first = data.train[0]
    assert (first.sentence.text, first.sentence.label) == ("It's lovely", 3)
    assert data.test[0].sentence.text == "good 1/2 M*A"
    assert [phrase.label for phrase in first.phrases] == [3, 2, 4, 2, 4]
    assert [phrase.text for phrase in data.train[1].phrases] == ["a bad film", "a", "bad film", "bad", "film"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("(3 (2 It)", "a bracket is not closed"),
        ("(7 It)", "'7' is no label"),
        (")", "closed that was not opened"),
        ("It", "'It' stands outside of it"),
        ("(2 a) b", "'b' stands outside of it"),
        ("(2 a) (3 b)", "there is more than one"),
        ("(2 )", "a phrase has no words"),
    ],
)
def test_a_line_that_is_no_tree_is_refused_with_its_number(line, words, tmp_path):
    tree(tmp_path, TREES)
    (tmp_path / "trees" / "dev.txt").write_text(f"(2 (2 so) (2 so))\n{line}\n")
    with pytest.raises(SourceError, match=f"has no tree in line 2 of dev.txt.*{words}"):
        sst(tmp_path)


def test_a_split_that_lacks_is_refused(tmp_path):
    tree(tmp_path, TREES)
    (tmp_path / "trees" / "test.txt").unlink()
    with pytest.raises(SourceError, match=r"nothing at .*test\.txt; expected trainDevTestTrees_PTB\.zip"):
        sst(tmp_path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("trees/train.txt", "(2 a)")
    with pytest.raises(SourceError, match=r"has no dev\.txt"):
        sst(tmp_path / "a.zip")
    (tmp_path / "trees" / "test.txt").write_text("\n")
    with pytest.raises(SourceError, match=r"has no tree in test\.txt"):
        sst(tmp_path)


QUERIES = [
    {"query_id": "a", "query": "what?", "passages": ["this", " ", "that", "this"], "titles": ["t", "u"]},
    {"query_id": "b", "query": "nothing", "passages": [" "]},
    {"query_id": "c", "query": "who?", "passages": ["she"]},
]


@pytest.mark.parametrize("opener", [open, gzip.open, lzma.open], ids=["plain", "gz", "xz"])
def test_queries_with_snippets_are_read(opener, tmp_path):
    path = tmp_path / f"q.jsonl{ {open: '', gzip.open: '.gz', lzma.open: '.xz'}[opener] }"
    with opener(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(query) + "\n" for query in QUERIES)
        file.write("\n")
    found = snippets(path)
    assert [(query.id, query.snippets) for query in found] == [("a", ("this", "that")), ("c", ("she",))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "has no query with snippets"),
        ("{}\n", r"has no query in line 1 \(KeyError"),
        ('{"query_id": 1, "query": "a", "passages": ["b"]}\nno json\n', "has no query in line 2"),
        ('{"query_id": 1, "query": "a", "passages": [3]}\n', "something else than texts in line 1"),
        ('{"query_id": 1, "query": "a", "passages": "abc"}\n', "something else than texts in line 1"),
    ],
)
def test_lines_that_are_no_queries_are_refused(text, words, tmp_path):
    (tmp_path / "q.jsonl").write_text(text)
    with pytest.raises(SourceError, match=words):
        snippets(tmp_path / "q.jsonl")
    with pytest.raises(SourceError, match="is a folder"):
        snippets(tmp_path)


def test_analogies_are_read_by_section(tmp_path):
    path = tmp_path / "questions-words.txt"
    path.write_text(": capitals\nAthens Greece Oslo Norway\n: family\nboy girl king queen\nboy girl he she\n")
    assert {name: len(questions) for name, questions in analogies(path).sections.items()} == {
        "capitals": 1,
        "family": 2,
    }
    for text, words in (
        (": a\nb c d\n", "no four words in line 2"),
        ("a b c d\n", "or no section"),
        ("", "no question"),
    ):
        path.write_text(text)
        with pytest.raises(SourceError, match=words):
            analogies(path)


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nlove\tsex\t6.77\ntiger\tcat\t7.35\n",
        "Word 1,Word 2,Human (mean)\nlove,sex,6.77\ntiger,cat,7.35\n",
        "word1\tword2\tPOS\tSimLex999\tconc\nlove\tsex\tN\t6.77\t1\ntiger\tcat\tN\t7.35\t2\n",
    ],
    ids=["tsv", "combined.csv", "SimLex-999.txt"],
)
def test_pairs_of_words_are_read_in_all_published_forms(text, tmp_path):
    (tmp_path / "pairs").write_text(text)
    found = similarities(tmp_path / "pairs")
    assert (found.pairs, found.judged) == ([("love", "sex"), ("tiger", "cat")], [6.77, 7.35])


@pytest.mark.parametrize("text", ["", "a\tb\tc\n", "a\tb\t1.0\nc\td\n"])
def test_a_file_without_pairs_is_refused(text, tmp_path):
    (tmp_path / "pairs").write_text(text)
    with pytest.raises(SourceError, match="lines of two words and a number"):
        similarities(tmp_path / "pairs")
