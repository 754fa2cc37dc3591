"""Word vectors: analogies, likeness, and the data sets that are looked for."""

from __future__ import annotations

import numpy as np
import pytest

from paravec import SourceError
from paravec.experiments import words
from paravec.experiments.data import Analogies, Similarities
from paravec.experiments.data.places import place
from paravec.experiments.options import Options
from paravec.experiments.steps import Steps

NAMES = ["king", "man", "woman", "queen", "paris", "france", "london", "england"]


def questions() -> Analogies:
    return Analogies({
        "family": [("man", "king", "woman", "queen"), ("man", "king", "woman", "unheard")],
        "gram1-capitals": [("Paris", "France", "London", "England")],
    })  # fmt: skip


def test_analogies_are_answered_by_the_nearest_other_word():
    base = np.eye(8, dtype=np.float32)
    royal, female, land = base[5], base[6], base[7]
    vectors = np.array([base[0] + royal, base[0], base[0] + female, base[0] + female + royal,
                        base[1], base[1] + land, base[2], base[2] + land])  # fmt: skip
    rows = {name: i for i, name in enumerate(NAMES)}
    pairs = {
        "likeness": Similarities([("king", "queen"), ("king", "paris"), ("man", "king"), ("a", "b")], [6, 1, 9, 3])
    }
    found = words.known(rows, vectors, questions(), pairs)
    assert found["semantic"] == [100, 0.5]  # one of two could be asked
    assert found["syntactic"] == [100, 1]
    assert found["likeness"][0] == 0.5  # of three pairs that are known, two are in another order
    assert found["likeness"][1] == 0.75
    worse = vectors.copy()
    worse[3] = -worse[3]
    assert words.known(rows, worse, questions(), pairs)["semantic"][0] == 0


def test_a_run_stands_beside_gensim_or_says_that_it_is_not_there(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(NAMES, 30)) for _ in range(40)]
    pairs = {"WordSim-353": Similarities([("king", "queen"), ("king", "paris"), ("man", "king")], [6, 1, 9])}
    monkeypatch.setattr(words, "has_gensim", lambda: False)
    (found,) = words.run(texts, questions(), pairs, Steps(tmp_path), Options(seeds=(0, 1), n_jobs=1))
    assert [row[0] for row in found.rows] == [
        "paravec, dm", "paravec, dm, 3 words on both sides", "paravec, dm, learning_rate=0.1", "gensim, dm",
        "paravec, dbow with words", "paravec, dbow with words, 3 words on both sides", "gensim, dbow with words",
    ]  # fmt: skip
    assert found.rows[3][1] == "gensim is not installed"
    assert "100 % known" in found.rows[0][3]
    with pytest.raises(SourceError, match="no text"):
        words.run([], questions(), pairs, Steps(tmp_path), Options())


def test_data_sets_are_found_by_their_usual_names(tmp_path):
    for name in ("a/aclImdb_v1.tar.gz", "b/trees/train.txt", "c/my_snippets.jsonl.xz", "d/SimLex-999/SimLex-999.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    given = [tmp_path / "a", tmp_path]
    assert place("imdb", given) == tmp_path / "a" / "aclImdb_v1.tar.gz"
    assert place("sst", given) == tmp_path / "b" / "trees"
    assert place("retrieval", given) == tmp_path / "c" / "my_snippets.jsonl.xz"
    assert place("simlex", given) == tmp_path / "d" / "SimLex-999" / "SimLex-999.txt"
    with pytest.raises(SourceError, match=r"questions-words\.txt"):
        place("analogies", given)
    other = tmp_path / "other.jsonl"
    other.write_text("")
    assert place("retrieval", [other], alone=True) == other
    with pytest.raises(SourceError, match="there is nothing at"):
        place("imdb", [tmp_path / "no"])
