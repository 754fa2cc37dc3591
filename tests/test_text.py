from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from paravec import _core, words
from paravec.text import HTML_TAG, UNICODE_VERSION, kind_of, reference_whitespace, reference_words

# Characters that decide: sigma and what may stand around it, letters that change their length, marks, joiners,
# apostrophes, ideographs, lone surrogates, spaces of all kinds, the parts of tags.
TRICKY = (
    "\u03a3\u03c3\u03c2\u0391\u03b1\u0130\u0131i'\u2019_.:<>/!?b r\u0301\u00ad"
    "\ud800\udfff\u6f22\uf900\u02b0\u0307aZ9,\x1c\x85\u2028\ufe0f\U0001f600\u2167\u24b6\U00010400\U000e0100\x00"
)

# On an interpreter with another version of Unicode, only characters that the two have in common can be compared.
SAME = unicodedata.unidata_version == UNICODE_VERSION
characters = st.characters(codec=None) if SAME else st.characters(max_codepoint=0x2FFF, exclude_categories=["Cn"])
texts = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(max_codepoint=127), characters))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't stop, it's 9.5!", ["don't", "stop", ",", "it's", "9", ".", "5", "!"]),
        ("'quoted' rock'n'roll", ["'", "quoted", "'", "rock'n'roll"]),
        ("snake_case a-b", ["snake_case", "a", "-", "b"]),
        ("Ünïcode naïve ΣΑΣ", ["ünïcode", "naïve", "σας"]),
        ("东京 tower", ["东", "京", "tower"]),
        ("क्षि é", ["क्षि", "é"]),
        ("😀\u200b\ud800 x", ["😀", "x"]),
        ("", []),
        (" \t\n\x00", []),
    ],
)
def test_texts_become_these_words(text, expected):
    assert words(text) == expected


@given(texts, st.booleans(), st.booleans())
@example("\u0391\u03a3.\u0391\u03a3", True, False)  # the full stop is case-ignorable: only the second sigma is final
@example("\u0391\u03a3<br />\u0391", True, True)
@example("a" * 15 + "'b" + "c" * 20, True, False)
@example("abcdefghijklmno'", True, False)
@example("x" * 16 + " y", False, False)
def test_words_are_those_of_the_reference(text, lowercase, strip_tags):
    expected = reference_words(text, lowercase=lowercase, strip_tags=strip_tags)
    assert words(text, lowercase=lowercase, strip_tags=strip_tags) == expected


@given(texts, st.booleans(), st.booleans())
def test_whitespace_is_that_of_the_reference(text, lowercase, strip_tags):
    expected = reference_whitespace(text, lowercase=lowercase, strip_tags=strip_tags)
    assert _core.tokenize(text, "whitespace", lowercase, strip_tags) == expected


@pytest.mark.parametrize("frame", ["{}", "a{}b", "\u0391\u03a3{}\u0391", "A{}'{}B <{}>"])
def test_every_character_is_as_in_the_reference(frame):
    if not SAME:
        pytest.skip(f"this interpreter has Unicode {unicodedata.unidata_version}, the tokenizer {UNICODE_VERSION}")
    text = "\n".join(frame.replace("{}", chr(code)) for code in range(sys.maxunicode + 1))
    assert words(text) == reference_words(text)


def test_the_tables_are_those_of_the_pinned_version():
    assert _core.UNICODE_VERSION == UNICODE_VERSION
    if SAME:
        sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))
        import unicode_tables

        written = unicode_tables.TARGET.read_text(encoding="ascii")
        assert written == unicode_tables.contents()


@given(texts)
def test_every_visible_character_is_kept(text):
    visible = [c for c in text.lower() if kind_of(c)]
    assert "".join(words(text)) == "".join(visible)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("good<br /><br />bad", ["good", "bad"]),
        ("<p class='x'>a</p>b", ["a", "b"]),
        ("1 < 2 > 0", ["1", "<", "2", ">", "0"]),
        ("a <b", ["a", "<", "b"]),
        ("<<b>c", ["<", "c"]),
        ("<!-- no --> <?xml?>", []),
        ("i <3 u <", ["i", "<", "3", "u", "<"]),
    ],
)
def test_tags_are_left_out_and_other_angles_stay(text, expected):
    assert words(text, strip_tags=True) == expected
    assert words(HTML_TAG.sub(" ", text)) == expected


def test_a_word_of_any_length_is_one_token():
    long = "a\u00df" * 3_000_000
    assert words(f"x {long} y") == ["x", long, "y"]


@given(st.binary() | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_invalid_utf8_is_found_where_python_finds_it(data):
    for padded in (data, b"x" * 300 + data):
        try:
            padded.decode("utf-8")
            expected = -1
        except UnicodeDecodeError as error:
            expected = error.start
        assert _core.first_invalid(padded) == expected
