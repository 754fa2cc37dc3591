"""Documents as token ids."""

from paravec.corpus.data import Corpus, EncodedCorpus

__all__ = ["Corpus", "EncodedCorpus"]
