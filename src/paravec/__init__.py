"""Paragraph Vector: document vectors learned from your own corpus."""

from paravec.corpus import EncodedCorpus
from paravec.corpus.encode import encode
from paravec.errors import (
    CorpusFormatError,
    DivergedError,
    ForgottenWordsWarning,
    ModelFormatError,
    ReplacedBytesWarning,
    SourceError,
    UnknownWordsWarning,
)
from paravec.estimator import ParagraphVector
from paravec.sources import read
from paravec.text import words

__version__ = "0.1.0"
__all__ = [
    "CorpusFormatError",
    "DivergedError",
    "EncodedCorpus",
    "ForgottenWordsWarning",
    "ModelFormatError",
    "ParagraphVector",
    "ReplacedBytesWarning",
    "SourceError",
    "UnknownWordsWarning",
    "__version__",
    "encode",
    "read",
    "words",
]
