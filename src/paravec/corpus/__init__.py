"""Documents as token ids."""

from paravec.corpus.data import Corpus, CorpusFacts, EncodedCorpus

__all__ = ["Corpus", "CorpusFacts", "EncodedCorpus"]
