"""Changes to a model that is saved: documents added and removed in place, and an index built beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paravec import store
from paravec.arguments import DocumentId, listed_ids
from paravec.index import Index
from paravec.settings import Settings, threads
from paravec.text import Tokenizer


def add_documents(
    model: str | os.PathLike[str],
    X: Any,
    ids: Sequence[DocumentId] | None = None,
    *,
    n_jobs: int | None = None,
    tokenizer: Tokenizer | None = None,
) -> int:
    """Infers documents and appends them to the saved `model`, whose vectors are not rewritten; tells how many.

    It happens at once: whoever opens the model meanwhile, or after a failure or a kill, finds all of them or none. X
    and `ids` are those of :meth:`ParagraphVector.add_documents`. The new vectors are held in memory.

    >>> import tempfile
    >>> from paravec import ParagraphVector
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ParagraphVector(vector_size=4, min_count=1).fit(["a b", "b c"]).save(folder)
    ...     add_documents(folder, ["c a"])
    ...     ParagraphVector.load(folder).document_ids_
    1
    [0, 1, 2]
    """
    fitted = store.load(model, tokenizer)
    assert fitted.origin is not None
    settings = replace(fitted.settings, n_jobs=n_jobs)
    segment = fitted.inferred(X, ids, settings)
    numbered = isinstance(segment.ids, range)
    store.change(
        model,
        fitted.origin[1],
        # Another process may have added documents with these numbers meanwhile.
        lambda now: now.adding(replace(segment, ids=now.numbers(len(segment))) if numbered else segment),
    )
    return len(segment)


def remove_documents(model: str | os.PathLike[str], ids: Iterable[DocumentId]) -> int:
    """Removes the documents with some ids from the saved `model`, at once; tells how many are left.

    Their vectors are no longer found, but lie in the files until the model is saved anew.
    """
    documents, identity = store.documents_of(model)
    wanted = listed_ids(ids, "ids")
    documents.rows_of(wanted)
    return len(store.change(model, identity, lambda now: now.removing(wanted)))


def build_index(model: str | os.PathLike[str], recall: float = 0.95, *, n_jobs: int | None = None) -> float:
    """Builds an index of the documents of the saved `model` and puts it beside them; tells the part that it finds.

    See :meth:`ParagraphVector.build_index`.
    """
    documents, identity = store.documents_of(model)
    index = Index.build(documents, recall, threads(Settings(n_jobs=n_jobs).n_jobs))
    folder = Path(os.path.realpath(model))
    with store.unchanged(folder, identity):
        index.save(folder, identity)
    return index.recall
