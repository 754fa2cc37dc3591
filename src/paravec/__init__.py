"""Paragraph Vector: document vectors learned from your own corpus."""

from paravec.errors import DivergedError, ModelFormatError, UnknownWordsWarning
from paravec.estimator import ParagraphVector

__version__ = "0.1.0"
__all__ = ["DivergedError", "ModelFormatError", "ParagraphVector", "UnknownWordsWarning", "__version__"]
