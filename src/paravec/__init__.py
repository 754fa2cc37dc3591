"""Paragraph Vector: document vectors learned from your own corpus."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # typing takes a moment to import, in which an interrupt would find nobody to deal with it
if TYPE_CHECKING:
    from typing import Any

    from paravec.changes import add_documents, build_index, remove_documents
    from paravec.corpus import EncodedCorpus
    from paravec.corpus.encode import encode
    from paravec.errors import (
        CorpusFormatError,
        DeviceError,
        DivergedError,
        EngineWarning,
        ForgottenWordsWarning,
        ModelFormatError,
        NotEnoughMemoryError,
        ReplacedBytesWarning,
        SourceError,
        UnknownWordsWarning,
    )
    from paravec.estimator import ParagraphVector
    from paravec.interchange.word2vec import read_word_vectors
    from paravec.sources import read
    from paravec.text import words
    from paravec.training import Callback, Epoch

__version__ = "0.1.0"
__all__ = [
    "Callback",
    "CorpusFormatError",
    "DeviceError",
    "DivergedError",
    "EncodedCorpus",
    "EngineWarning",
    "Epoch",
    "ForgottenWordsWarning",
    "ModelFormatError",
    "NotEnoughMemoryError",
    "ParagraphVector",
    "ReplacedBytesWarning",
    "SourceError",
    "UnknownWordsWarning",
    "__version__",
    "add_documents",
    "build_index",
    "encode",
    "read",
    "read_word_vectors",
    "remove_documents",
    "words",
]

# Where the names come from, which are imported when they are first used: scikit-learn alone takes a second.
_PLACES = {
    "Callback": "training",
    "EncodedCorpus": "corpus",
    "Epoch": "training",
    "ParagraphVector": "estimator",
    "add_documents": "changes",
    "build_index": "changes",
    "encode": "corpus.encode",
    "read": "sources",
    "read_word_vectors": "interchange.word2vec",
    "remove_documents": "changes",
    "words": "text",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'paravec' has no attribute {name!r}")
    value = getattr(import_module(f"paravec.{_PLACES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
