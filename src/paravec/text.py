"""Text to tokens: the only place that assumes that symbols are words."""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

Token = str | int
Tokenizer = Callable[[str], Sequence[str]]

_ASCII_TOKEN = re.compile(r"[a-z0-9_]+(?:'[a-z0-9_]+)*|[!-/:-@\[-`{-~]")


def words(text: str) -> list[str]:
    """The default tokenizer, for any language.

    The text is lower-cased. A word is a run of letters, marks, digits and underscores; an apostrophe inside it stays;
    each Han ideograph is a word; every other visible character is a token of its own.

    >>> words("Don't panic: it's 42!")
    ["don't", 'panic', ':', "it's", '42', '!']
    >>> words("東京 is naïve")
    ['東', '京', 'is', 'naïve']
    """
    text = text.lower()
    return (_ASCII_TOKEN if text.isascii() else _unicode_token()).findall(text)


TOKENIZERS: dict[str, Tokenizer] = {"words": words, "whitespace": str.split}


@lru_cache(maxsize=1)
def _unicode_token() -> re.Pattern[str]:
    """One pattern for all of Unicode; made when the first text beyond ASCII is met, because it takes a moment."""
    han, word, visible = [], [], []
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Lo" and unicodedata.name(character, "").startswith("CJK "):
            han.append(code)
        elif category[0] in "LMN" or character == "_":
            word.append(code)
        elif category[0] in "PS":
            visible.append(code)
    run = f"[{_ranges(word)}]+"
    return re.compile(f"[{_ranges(han)}]|{run}(?:['\u2019]{run})*|[{_ranges(visible)}]")


def _ranges(codes: Iterable[int]) -> str:
    """Sorted code points as the inside of a character class."""
    parts: list[list[int]] = []
    for code in codes:
        if parts and parts[-1][1] == code - 1:
            parts[-1][1] = code
        else:
            parts.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in parts)
