"""Text to tokens: the only place that assumes that symbols are words.

:func:`reference_words` defines the default tokenizer, character by character; the C++ core does the same many times
quicker, from tables of one version of Unicode (``tools/unicode_tables.py``), whatever the interpreter's own is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from enum import IntEnum

Token = str | int
Tokenizer = Callable[[str], Sequence[str]]

TOKENIZERS = ("words", "whitespace")
UNICODE_VERSION = "14.0.0"
APOSTROPHES = "'\u2019"
HTML_TAG = re.compile(r"<[A-Za-z/!?][^<>]*>")


class Kind(IntEnum):
    """What a character is to the tokenizer."""

    GAP = 0  # separates words and is dropped: spaces, controls, what is not assigned
    WORD = 1  # stands in words: letters, marks, digits, underscores
    HAN = 2  # a word of its own, being an ideograph
    VISIBLE = 3  # a token of its own: punctuation and symbols


def words(text: str, *, lowercase: bool = True, strip_tags: bool = False) -> list[str]:
    """The default tokenizer, for any language.

    The text is lower-cased. A word is a run of letters, marks, digits and underscores; an apostrophe inside it stays;
    each Han ideograph is a word; every other visible character is a token of its own.

    >>> words("Don't panic: it's 42!")
    ["don't", 'panic', ':', "it's", '42', '!']
    >>> words("東京 is naïve")
    ['東', '京', 'is', 'naïve']
    >>> words("Kept<br />as IT is", lowercase=False, strip_tags=True)
    ['Kept', 'as', 'IT', 'is']
    """
    from paravec import _core

    if not isinstance(text, str):
        raise TypeError(f"text is a {type(text).__name__}; give a string")
    return _core.tokenize(text, "words", lowercase, strip_tags)


def reference_words(text: str, *, lowercase: bool = True, strip_tags: bool = False) -> list[str]:
    """What :func:`words` is defined to give, by ``unicodedata``."""
    text = HTML_TAG.sub(" ", text) if strip_tags else text
    text = text.lower() if lowercase else text
    kinds = [kind_of(character) for character in text] + [Kind.GAP]
    tokens: list[str] = []
    word = ""
    for i, character in enumerate(text):
        inside = character in APOSTROPHES and word and kinds[i + 1] == Kind.WORD
        if kinds[i] == Kind.WORD or inside:
            word += character
            continue
        if word:
            tokens.append(word)
            word = ""
        if kinds[i] != Kind.GAP:
            tokens.append(character)
    return [*tokens, word] if word else tokens


def reference_whitespace(text: str, *, lowercase: bool = False, strip_tags: bool = False) -> list[str]:
    """What ``tokenizer="whitespace"`` is defined to give."""
    text = HTML_TAG.sub(" ", text) if strip_tags else text
    return (text.lower() if lowercase else text).split()


def kind_of(character: str) -> Kind:
    """The kind of a character by its Unicode category (and, for ideographs, its name)."""
    category = unicodedata.category(character)
    if category == "Lo" and unicodedata.name(character, "").startswith(("CJK UNIFIED IDEO", "CJK COMPATIBILITY IDEO")):
        return Kind.HAN
    if category[0] in "LMN" or character == "_":
        return Kind.WORD
    return Kind.VISIBLE if category[0] in "PS" else Kind.GAP
