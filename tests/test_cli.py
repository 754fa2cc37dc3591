from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import numpy as np
import pytest

from conftest import COMMAND, paravec
from paravec import EncodedCorpus, ParagraphVector, __version__


def test_train_takes_every_setting_by_its_name(folder):
    done = paravec(
        "train", folder / "corpus.txt", "-o", folder / "other", "--model", "dm+dbow", "--combine", "mean",
        "--window", "3", "--vector-size", "6", "--epochs", "2", "--n-jobs", "2", "--no-refit-documents",
        "--random-state", "7",
    )  # fmt: skip
    assert "dm epoch 2/2: loss" in done.stderr
    assert "200 documents" in done.stderr
    fitted = ParagraphVector.load(folder / "other")
    assert (fitted.model, fitted.combine, fitted.window, fitted.refit_documents) == ("dm+dbow", "mean", 3, False)
    assert fitted.seed_ == 7


def test_train_reads_standard_input(folder):
    paravec("train", "-", "-o", folder / "piped", "--min-count", "1", "--quiet", given="a b c\nb c d\n")
    assert ParagraphVector.load(folder / "piped").document_ids_ == [1, 2]


def test_infer_writes_a_json_line_a_document(folder):
    texts = ["return a string", "the module"]
    for source in ("-", str(folder / "new.txt")):
        (folder / "new.txt").write_text("\n".join(texts))
        lines = paravec("infer", folder / "model", source, given="\n".join(texts)).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        assert [row["id"] for row in rows] == [1, 2]
        expected = ParagraphVector.load(folder / "model").transform(texts)
        assert np.allclose([row["vector"] for row in rows], expected, atol=1e-5)


def test_similar_by_text_and_by_id(folder):
    by_text = paravec("similar", folder / "model", "return a string", "-k", "3").stdout.splitlines()
    assert len(by_text) == 3
    scores = [float(line.split("\t")[0]) for line in by_text]
    assert scores == sorted(scores, reverse=True)
    rows = [json.loads(x) for x in paravec("similar", folder / "model", "--id", "5", "--json").stdout.splitlines()]
    assert len(rows) == 10
    assert 5 not in [row["id"] for row in rows]


def test_info_shows_every_setting(folder):
    about = json.loads(paravec("info", folder / "model", "--json").stdout)
    assert about["documents"] == 200
    assert about["settings"]["vector_size"] == 8
    assert len(about["loss_history"]["dbow"]) == 3
    plain = paravec("info", folder / "model").stdout
    assert all(name in plain for name in about["settings"])


def test_wrong_usage_is_2_and_a_failure_is_1_each_with_a_sentence(folder):
    usage = paravec("train", folder / "corpus.txt", "-o", folder / "x", "--model", "dm", "--window", "1", code=2)
    assert "window=1 leaves no context for model='dm'; use window >= 2" in usage.stderr
    paravec("train", folder / "corpus.txt", code=2)
    paravec("similar", folder / "model", code=2)
    assert paravec("info", folder / "nowhere", code=1).stderr.startswith("paravec: there is no model folder at")
    assert "corpus.text: No such file" in paravec("train", folder / "corpus.text", "-o", folder / "x", code=1).stderr
    for verb in (("train",), ("encode",)):
        assert "is a paravec model" in paravec(*verb, folder / "model", "-o", folder / "x", code=1).stderr
    empty = paravec("train", "-", "-o", folder / "x", code=1)
    assert empty.stderr.strip() == "paravec: the corpus is empty: standard input holds no document; give at least one"
    assert "no document has the id 9999" in paravec("similar", folder / "model", "--id", "9999", code=1).stderr
    (folder / "latin").write_bytes(b"caf\xe9 caf\xe9\n")
    strict = paravec("train", folder / "latin", "-o", folder / "x", "--errors", "strict", code=1)
    assert "is not UTF-8: byte 3 (line 1) is 0xe9" in strict.stderr
    assert not (folder / "x").exists()


def test_the_demo_answers_from_pythons_own_documentation(folder):
    out = paravec("demo", "-o", folder / "demo").stdout
    assert "parse a date from a string" in out
    assert "paragraphs" in out
    assert ParagraphVector.load(folder / "demo").n_documents_ > 5000


def test_standard_input_must_be_utf8_too(folder):
    given = "the cat sat\nthe dog sat\n".encode("utf-16")
    done = subprocess.run([*COMMAND, "train", "-", "-o", str(folder / "y")], input=given, capture_output=True)
    assert done.returncode == 1
    assert b"standard input is not UTF-8: it starts with the mark of utf-16" in done.stderr


def test_the_place_of_the_model_is_checked_before_the_work(folder):
    (folder / "full").mkdir()
    (folder / "full" / "file").touch()
    done = paravec("train", folder / "missing.txt", "-o", folder / "full", code=1)
    assert "exists and is no paravec model" in done.stderr


def test_unknown_lines_are_named_by_their_number(folder):
    done = paravec("infer", folder / "model", "-", given="return a value\nzzzz\n")
    assert "1 of 2 documents have no word the model knows (the first is 2)" in done.stderr


def test_encode_and_train_on_what_it_made(folder):
    done = paravec("encode", folder / "corpus.txt", "-o", folder / "corpus", "--n-jobs", "2", "--ngrams", "2")
    assert "200 documents" in done.stderr
    paravec("train", folder / "corpus", "-o", folder / "a", "--vector-size", "8", "--epochs", "3", "--quiet")
    paravec("train", folder / "corpus.txt", "-o", folder / "b", "--vector-size", "8", "--epochs", "3", "--ngrams", "2")
    a, b = ParagraphVector.load(folder / "a"), ParagraphVector.load(folder / "b")
    assert np.array_equal(a.document_vectors_, b.document_vectors_)
    assert a.document_ids_ == b.document_ids_ == list(range(1, 201))
    wrong = paravec("train", folder / "corpus", "-o", folder / "c", "--min-count", "7", code=1)
    assert "min_count=7, but the corpus was encoded with min_count=2" in wrong.stderr
    about = json.loads(paravec("info", folder / "corpus", "--json").stdout)
    assert about["documents"] == 200
    assert about["settings"]["ngrams"] == 2
    assert "n_ngrams" in paravec("info", folder / "corpus").stdout


def test_tables_are_read_by_their_columns(folder):
    rows = [{"name": f"d{i}", "body": f"word{i % 3} and word{i % 2}"} for i in range(20)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = ("--text", "body", "--id", "name")
    paravec("train", folder / "rows.jsonl", "-o", folder / "rows", *columns, "--vector-size", "4", "--quiet")
    assert ParagraphVector.load(folder / "rows").document_ids_ == [row["name"] for row in rows]
    lines = paravec("infer", folder / "rows", folder / "rows.jsonl", *columns).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [row["name"] for row in rows]
    missing = paravec("encode", folder / "rows.jsonl", "-o", folder / "x", code=1)
    assert "text" in missing.stderr
    assert "body" in missing.stderr


def test_a_vocabulary_is_taken_from_a_file_or_a_corpus(folder):
    (folder / "words.txt").write_text("the\nfile\nstring\n")
    (folder / "counts.txt").write_text("the\t5\nfile\t50\n")
    paravec("encode", folder / "corpus.txt", "-o", folder / "w", "--vocabulary", folder / "words.txt", "--quiet")
    assert set(EncodedCorpus.open(folder / "w").vocabulary.words) == {"the", "file", "string"}
    paravec("encode", folder / "corpus.txt", "-o", folder / "w", "--vocabulary", folder / "counts.txt", "--quiet")
    assert EncodedCorpus.open(folder / "w").vocabulary.counts.tolist() == [50, 5]
    paravec("encode", folder / "corpus.txt", "-o", folder / "v", "--vocabulary", folder / "w", "--quiet")
    assert EncodedCorpus.open(folder / "v").vocabulary.words == ("file", "the")
    (folder / "counts.txt").write_text("the\t5\nfile\n")
    wrong = paravec("encode", folder / "corpus.txt", "-o", folder / "w", "--vocabulary", folder / "counts.txt", code=1)
    assert "counts.txt, line 2: a word, a tab and a count are expected" in wrong.stderr


def on_a_terminal(*arguments: object) -> tuple[str, int]:
    """What a command shows on a real (pseudo) terminal."""
    terminal, its_end = pty.openpty()
    with subprocess.Popen([*COMMAND, *map(str, arguments)], stderr=its_end, stdout=its_end) as run:
        os.close(its_end)
        shown = b""
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
        return shown.decode(), run.wait(timeout=60)


def test_bars_show_on_a_terminal_and_nowhere_else(folder):
    arguments = ("encode", folder / "corpus.txt", "-o", folder / "t", "--ngrams", "2")
    shown, code = on_a_terminal(*arguments)
    assert code == 0
    for stage in ("reading", "counting 2-grams", "encoding"):
        assert stage in shown
    assert "documents/s" in shown
    assert "100 %" in shown
    assert "reading" not in paravec(*arguments).stderr
    assert "reading" not in on_a_terminal(*arguments, "--quiet")[0]


def test_a_corpus_can_be_inferred_and_takes_no_options_of_reading(folder):
    paravec("encode", folder / "corpus.txt", "-o", folder / "coded", "--quiet")
    from_text = paravec("infer", folder / "model", folder / "corpus.txt").stdout
    assert paravec("infer", folder / "model", folder / "coded").stdout == from_text
    for option in (("--text", "body"), ("--encoding", "latin-1"), ("--pattern", "*.txt")):
        wrong = paravec("train", folder / "coded", "-o", folder / "x", *option, code=2)
        assert f"{option[0]} has no meaning" in wrong.stderr
    assert (
        "format='xml' is not one of"
        in paravec("encode", folder / "corpus.txt", "-o", "x", "--format", "xml", code=2).stderr
    )


def test_a_full_disk_is_a_sentence_with_the_place(tmp_path):
    (tmp_path / "text").write_text("".join(f"word{i % 5000} and word{i % 70}\n" for i in range(50_000)))
    limited = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)); " \
        "from paravec.cli import main; main()"  # fmt: skip
    for verb, name in (("encode", "corpus"), ("train", "model")):
        arguments = [verb, tmp_path / "text", "-o", tmp_path / name, "--quiet"]
        arguments += ["--epochs", "1"] if verb == "train" else []
        command = [sys.executable, "-c", limited, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr.startswith("paravec: ")
        assert "File too large" in done.stderr
        assert "Traceback" not in done.stderr
        assert os.listdir(tmp_path) == ["text"]


def test_the_version_is_told():
    assert paravec("--version").stdout == f"paravec {__version__}\n"


def test_words_near_a_word_and_sums_of_words(folder):
    text, words = folder / "corpus.txt", folder / "words"
    paravec("train", text, "-o", words, "--train-words", "--vector-size", "8", "--epochs", "3", "--quiet")
    lines = paravec("words", words, "string", "-k", "3").stdout.splitlines()
    assert len(lines) == 3
    expected = ParagraphVector.load(words).similar_words("string", 3)
    assert [line.split("\t")[1] for line in lines] == [word for word, _ in expected]
    found = paravec("words", words, "string", "is", "--negative", "the", "--json", "-k", "4").stdout.splitlines()
    expected = ParagraphVector.load(words).analogy(["string", "is"], ["the"], 4)
    assert [json.loads(line)["word"] for line in found] == [word for word, _ in expected]
    assert "the word 'zzzz' is not in the vocabulary" in paravec("words", words, "zzzz", code=1).stderr
    assert "model='dbow' has no word vectors" in paravec("words", folder / "model", "string", code=1).stderr
    assert "WORD" in paravec("words", words, code=2).stderr


def test_similar_takes_its_text_from_standard_input_too(folder):
    given = paravec("similar", folder / "model", "return a string").stdout
    assert paravec("similar", folder / "model", "-", given="return a string\n").stdout == given


def test_json_for_machines(folder):
    text = folder / "corpus.txt"
    made = paravec("encode", text, "-o", folder / "j", "--json", "--quiet")
    about = json.loads(made.stdout)
    assert about.keys() == {"documents", "tokens", "words", "n_ngrams", "seconds", "corpus"}
    assert made.stderr == ""
    trained = paravec("train", folder / "j", "-o", folder / "jm", "--epochs", "2", "--vector-size", "4", "--json")
    about = json.loads(trained.stdout)
    assert about["documents"] == 200
    assert len(about["loss_history"]["dbow"]) == 2


def test_a_model_without_documents_infers_but_has_none_to_search(folder):
    small = folder / "small"
    paravec("train", folder / "corpus.txt", "-o", small, "--no-documents", "--epochs", "1", "--quiet")
    assert paravec("infer", small, given="return a string\n").stdout
    assert "was saved without its documents" in paravec("similar", small, "return a string", code=1).stderr
    assert not json.loads(paravec("info", small, "--json").stdout)["document_vectors"]


def test_wrong_usage_is_one_sentence(folder):
    for arguments in (
        ("train",), ("train", "x"), ("trian", "x"), ("similar", folder / "model"),
        ("train", "x", "-o", "y", "--epochs", "a"),
        ("train", "x", "-o", "y", "--checkpoint-every", "soon"), ("train", "x", "-o", "y", "--patience", "3"),
        ("words", folder / "model"), ("info",), ("--nothing",), ("similar", folder / "model", "x", "-k", "0"),
    ):  # fmt: skip
        done = paravec(*arguments, code=2)
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith("paravec")
        assert done.stderr.rstrip().endswith("--help")


def test_no_arguments_show_the_help():
    done = paravec(code=2)
    assert "Usage: " in done.stdout + done.stderr
    assert "train" in paravec("--help").stdout


IMPORTED = """
import sys
sys.argv = ["paravec", *sys.argv[1:]]
from paravec.cli import main
try:
    main()
finally:
    print(*[name for name in ("numpy", "sklearn", "scipy", "rich", "pyarrow", "pandas") if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["--help"], set()),
        (["train", "--help"], set()),
        (["similar", "model", "return a string"], {"numpy"}),
        (["infer", "model", "corpus.txt"], {"numpy"}),
        (["info", "model"], {"numpy"}),
        (["train", "corpus.txt", "-o", "x", "--epochs", "1"], {"numpy"}),
    ],
    ids=str,
)
def test_heavy_things_are_imported_where_they_are_used(folder, arguments, allowed):
    done = subprocess.run([sys.executable, "-c", IMPORTED, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()[-1].split()) <= allowed


def test_a_place_that_cannot_be_written_to_is_told_before_the_work(folder):
    for out in ("/proc/nowhere/model", folder / "corpus.txt" / "model"):
        done = paravec("train", folder / "missing.txt", "-o", out, code=1)
        assert "cannot be written there" in done.stderr
    for seed in ("-5", "9223372036854775808"):
        done = paravec("train", folder / "corpus.txt", "-o", folder / "x", "--random-state", seed, code=2)
        assert "is out of range; use 0 <= random_state < 2**63" in done.stderr


def test_output_that_nobody_reads(folder):
    command = " ".join(map(str, [*COMMAND, "info", folder / "model", ">&-"]))
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "paravec: standard output is closed\n")
    command = " ".join(map(str, [*COMMAND, "infer", folder / "model", folder / "corpus.txt", "|", "head", "-1"]))
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_documents_without_known_words_are_named_by_their_ids_and_similar_to_nothing(folder):
    (folder / "gap.txt").write_text("a b a\n\nb a b\n")
    done = paravec("train", folder / "gap.txt", "-o", folder / "gap", "--epochs", "1")
    assert (
        "1 of 3 documents have no word the model knows, and get the zero vector (the first is document 2)"
        in done.stderr
    )
    assert "the document with the id 2 has no word" in paravec("similar", folder / "gap", "--id", "2", code=1).stderr
