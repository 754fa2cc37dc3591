"""Changes to a model that is saved: documents added and removed in place, and an index built beside it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from paravec import store
from paravec.arguments import DocumentId
from paravec.fitted import Fitted
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
    settings = replace(fitted.settings, n_jobs=n_jobs)
    segment = fitted.inferred(X, ids, settings)
    numbered = isinstance(segment.ids, range)
    store.change(
        model,
        _identity(fitted),
        # Another process may have added documents with these numbers meanwhile.
        lambda now: now.adding(replace(segment, ids=now.numbers(len(segment))) if numbered else segment),
    )
    return len(segment)


def remove_documents(model: str | os.PathLike[str], ids: Iterable[DocumentId]) -> int:
    """Removes the documents with some ids from the saved `model`, at once; tells how many are left.

    Their vectors are no longer found, but lie in the files until the model is saved anew.
    """
    wanted = ids if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable) else list(ids)
    fitted = store.load(model)
    fitted.known_documents().rows_of(wanted)
    return len(store.change(model, _identity(fitted), lambda now: now.removing(wanted)))


def build_index(model: str | os.PathLike[str], recall: float = 0.95, *, n_jobs: int | None = None) -> float:
    """Builds an index of the documents of the saved `model` and puts it beside them; tells the part that it finds.

    See :meth:`ParagraphVector.build_index`.
    """
    fitted = store.load(model)
    index = fitted.build_index(recall, replace(fitted.settings, n_jobs=n_jobs))
    folder, identity = Path(os.path.realpath(model)), _identity(fitted)
    with store.unchanged(folder, identity):
        index.save(folder, identity)
    return index.recall


def _identity(fitted: Fitted) -> str:
    assert fitted.origin is not None
    return fitted.origin[1]
