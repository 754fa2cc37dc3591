"""Arguments of the estimator's methods that are checked before any work; settings check themselves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

DocumentId = str | int


def checked_k(k: Any, there: int, what: str) -> int:
    """How many results are wanted, of those `there` are: ten if it is left out, or all if there are less."""
    if k is None:
        return min(10, there)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k={k!r} is not a whole number")
    if k < 1:
        raise ValueError(f"k={k} asks for nothing; use k >= 1")
    if k > there:
        raise ValueError(f"k={k} is more than the {there} {what} there are; use k <= {there}, or leave it out")
    return int(k)


def checked_callbacks(callbacks: Any) -> tuple[Any, ...]:
    """Callbacks of a fit, each of which can be called."""
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise TypeError(f"callbacks={callbacks!r} is not a list; give a list of functions")
    found = tuple(callbacks)
    for callback in found:
        if not callable(callback):
            raise TypeError(f"the callback {callback!r} cannot be called; give a function of an epoch")
    return found


def seed_of(random_state: Any) -> int:
    """The seed that scikit-learn's `random_state` means."""
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        if not 0 <= random_state < 2**63:
            raise ValueError(f"random_state={random_state} is out of range; use 0 <= random_state < 2**63")
        return int(random_state)
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


def plain_id(id: Any) -> DocumentId:
    """An id as Python's own string or integer."""
    plain = id.item() if isinstance(id, np.generic) else id
    if isinstance(plain, bool) or not isinstance(plain, (str, int)):
        raise TypeError(f"the id {plain!r} is neither a string nor an integer")
    return plain


def listed_ids(ids: Any, name: str) -> list[DocumentId]:
    """Ids of documents that are there, given as the argument `name`."""
    if isinstance(ids, (str, bytes, int, np.generic)):
        raise TypeError(f"{name}={ids!r} is a single id; give a list of them: [{ids!r}]")
    if not isinstance(ids, Iterable):
        raise TypeError(f"{name}={ids!r} is no list of ids")
    return [id if type(id) in (str, int) else plain_id(id) for id in ids]


def checked_ids(ids: Sequence[DocumentId], expected: int | None) -> list[DocumentId]:
    """Document ids as a list of plain labels, all different."""
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"ids is a single string, {ids!r}; give a list with one id a document")
    if not isinstance(ids, Iterable):
        raise TypeError(f"ids={ids!r} is not a list; give a list with one id a document")
    listed = [plain_id(id) for id in ids]
    for id in listed:
        if isinstance(id, int) and not -(2**63) <= id < 2**63:
            raise ValueError(f"the id {id} does not fit 64 bits; use strings")
    if len({str if isinstance(id, str) else int for id in listed}) > 1:
        raise ValueError("ids are strings and integers mixed; use strings only or integers only")
    if expected is not None and len(listed) != expected:
        raise ValueError(f"there are {expected} documents, but {len(listed)} ids; give one id a document")
    if len(set(listed)) < len(listed):
        seen: set[DocumentId] = set()
        twice = [id for id in listed if id in seen or seen.add(id)]  # type: ignore[func-returns-value]
        raise ValueError(f"ids must differ, but {len(twice)} are given again, the first {twice[0]!r}")
    return listed
