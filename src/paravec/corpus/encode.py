"""From whatever a user has to an encoded corpus."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from paravec.arguments import DocumentId, checked_ids
from paravec.corpus import Corpus, EncodedCorpus
from paravec.corpus.documents import as_source
from paravec.corpus.encoder import Chunk, Encoder, MemorySpool, Tell, encode_blocks, in_ids_of, joined
from paravec.corpus.folder import encode_to_folder, is_corpus, open_corpus
from paravec.corpus.labels import LabelCollector, packed
from paravec.progress import Bars
from paravec.settings import Encoding, threads
from paravec.sources import Source, read
from paravec.vocab import GivenVocabulary, Vocabulary


def encode(
    X: Any,
    out: str | os.PathLike[str] | None = None,
    *,
    ids: Sequence[DocumentId] | None = None,
    vocabulary: Any = None,
    progress: bool = False,
    **encoding: Any,
) -> EncodedCorpus:
    """Documents to token ids, once for many fits: in memory, or in the folder `out` if it is given.

    Parameters
    ----------
    X
        Documents as for :meth:`ParagraphVector.fit`: a list of strings or of lists of tokens, a column, a path, or
        what :func:`paravec.read` gives.
    out : path, optional
        A folder to write the corpus to. It is then never whole in memory, and what is returned is mapped from there.
    ids : list, optional
        An id for each document.
    vocabulary : list of words, dict of words and counts, or a corpus, optional
        The words to know, instead of those that occur `min_count` times; of a corpus its n-grams, too.
    progress : bool
        Show bars, if standard error is a terminal.
    **encoding
        `tokenizer`, `lowercase`, `strip_tags`, `min_count`, `max_vocab`, `ngrams`, `ngram_min_count`, `max_unique` and
        `n_jobs`, as for :class:`ParagraphVector`.

    Examples
    --------
    >>> corpus = encode(["the cat sat", "the cat ran", "a dog ran"], min_count=2)
    >>> corpus.words(0), corpus.words(2)
    (['the', 'cat'], ['ran'])

    """
    if _is_encoded(X):
        raise ValueError("X is an encoded corpus already; give the documents it was made of")
    chosen = Encoding(**encoding)
    given = None if vocabulary is None else GivenVocabulary(vocabulary)
    with Bars(progress) as bars:
        return encode_source(source_of(X), chosen, out, given, checked(ids, X), bars)


def encode_source(
    source: Source,
    encoding: Encoding,
    out: str | os.PathLike[str] | None,
    given: GivenVocabulary | None,
    ids: list[DocumentId] | None,
    tell: Tell | None,
) -> EncodedCorpus:
    """See :func:`encode`; `given` and `ids` have been checked."""
    if out is not None:
        packed("ids", ids or ())  # refuses ids that a folder cannot hold
        return encode_to_folder(source, out, encoding, given, tell, ids)
    encoder = Encoder(encoding, MemorySpool(), given, tell, ids)
    encoder.read(source)
    labels, known = encoder.ids(), encoder.vocabulary()
    return EncodedCorpus(joined(encoder.encoded(), threads(encoding.n_jobs)), known, labels, encoding)


def encode_known(
    X: Any, ids: Sequence[DocumentId] | None, vocabulary: Vocabulary, encoding: Encoding
) -> tuple[Corpus, Sequence[DocumentId] | None]:
    """Documents in the ids of a vocabulary, and their own ids; None if they are just numbered."""
    encoded = corpus_of(X)
    source = None if encoded is not None else source_of(X)  # refuses what is none
    given = checked(ids, X)
    if encoded is not None:
        if given is not None:
            raise ValueError("ids are given, but an encoded corpus has its own; leave ids out")
        own = None if isinstance(encoded.ids, range) else list(encoded.ids)
        return in_ids_of(encoded, vocabulary, encoding), own
    assert source is not None
    labels = LabelCollector()
    chunks: list[Chunk] = []
    first = 0
    for chunk, some in encode_blocks(source, vocabulary, encoding):
        chunks.append(chunk)
        if some is not None:
            labels.add(some, lambda i, first=first: f"document {first + i}")  # type: ignore[misc]
        first += len(chunk[1]) - 1
    if not chunks:
        raise ValueError(f"{source.name} holds no document; give at least one")
    corpus = joined(chunks, threads(encoding.n_jobs))
    if given is None:
        return corpus, labels.labels().tolist() if len(labels) else None
    if len(labels):
        raise ValueError("ids are given, but the source has ids of its own; leave one of them out")
    return corpus, checked_ids(given, len(corpus))


def checked(ids: Sequence[DocumentId] | None, X: Any) -> list[DocumentId] | None:
    """Ids that a user gave for X."""
    return None if ids is None else checked_ids(ids, len(X) if hasattr(X, "__len__") else None)


def source_of(X: Any) -> Source:
    """Where documents are to be read from: a path is read by :func:`paravec.read`."""
    return read(X) if isinstance(X, os.PathLike) else as_source(X)


def corpus_of(X: Any) -> EncodedCorpus | None:
    """X if it is an encoded corpus, or the path of one."""
    if isinstance(X, EncodedCorpus):
        return X
    return open_corpus(X) if _is_encoded(X) else None


def _is_encoded(X: Any) -> bool:
    return isinstance(X, EncodedCorpus) or (isinstance(X, (str, os.PathLike)) and is_corpus(X))
