"""Approximate search: lists of Faiss over the documents, built on request and kept beside the model.

Documents are put into lists by the nearest of some centres. A query looks at those lists whose centres are near, with
four bits for each number of a vector; of the best by these, their own vectors tell the order.
"""

from __future__ import annotations

import errno
import os
import warnings
import zlib
from bisect import bisect_left
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import manifest, search, segments
from paravec.documents import Documents
from paravec.errors import ModelFormatError
from paravec.folders import replacing

FORMAT = "paravec index"
VERSION = 2
FOLDER = "index"
_NAME, _LISTS = "index.json", "lists.faiss"
_FEW = 1000  # documents that are not worth lists: all are looked at
_FOR_A_CENTRE, _ROUNDS = 60, 8  # documents that centres are found by, and how often they are moved
_AT_ONCE = 1 << 16
_ASKED = 500  # documents that recall is measured by, at most; of few documents a tenth
_NEIGHBOURS = 10
_CANDIDATES = (10, 20, 40, 80, 160)  # for each document that is wanted, whose order their own vectors tell


@dataclass(frozen=True)
class Index:
    """Lists of the first `n_rows` rows of documents; rows behind them are looked at all.

    `width` of the lists are searched for `candidates` times as many as are wanted; when that was tried, it found a part
    of the nearest, `recall`.
    """

    lists: Any
    n_rows: int
    width: int
    candidates: int
    recall: float

    @staticmethod
    def build(documents: Documents, recall: float, n_threads: int) -> Index:
        """Lists, so many of which are looked at that a part of the nearest is found, `recall`."""
        check_recall(recall)
        if not len(documents):
            raise ValueError("the model has no documents to build an index of")
        lists = _empty(documents, n_threads)
        asked = _asked(documents)
        others = np.setdiff1d(documents.rows, asked)
        for first in range(0, len(others), _AT_ONCE):
            _add(lists, documents, others[first : first + _AT_ONCE], n_threads)
        width, candidates, found = _measured(lists, documents, asked, recall)  # by queries that are not there yet
        _add(lists, documents, asked, n_threads)
        if found < recall:
            warnings.warn(
                f"the index finds {found:.3f} of the nearest documents, and recall={recall} was asked for; "
                f"search without approximate=True finds all",
                stacklevel=4,
            )
        return Index(lists, documents.n_rows, width, candidates, found)

    def nearest(
        self, documents: Documents, queries: NDArray[np.floating], k: int, leave_out: NDArray[np.int64]
    ) -> search.Found:
        """As :func:`paravec.search.nearest`, with scores that are exact, of rows of which some may be missed."""
        ways = search.directions(queries, documents.n_parts)
        later = None
        if documents.n_rows > self.n_rows:
            later = search.nearest(
                documents.segments, queries, k, documents.without(leave_out, self.n_rows), self.n_rows
            )
        expected = min(k, len(documents) - len(leave_out))
        found = []
        for i, way in enumerate(ways):
            rows, scores = self._known(documents, way, k, leave_out)
            if later is not None:
                rows, scores = np.concatenate([rows, later[0][i]]), np.concatenate([scores, later[1][i]])
            if len(rows) < expected:  # most were removed, or documents of unknown words are wanted, too
                (rows,), (scores,) = search.nearest(documents.segments, way[None], k, documents.without(leave_out))
            best = np.argsort(-scores, kind="stable")[:k]
            found.append((rows[best], scores[best].clip(-1, 1)))
        return np.array([rows for rows, _ in found]), np.array([scores for _, scores in found])

    def _known(
        self, documents: Documents, way: NDArray[np.float32], k: int, leave_out: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Rows of the lists near to a direction, ascending, and their scores; less than `k` if few are left."""
        rows, asked = search.NO_ROWS, (way if documents.n_parts == 1 else search.unit(way))[None]
        n = self.lists.ntotal
        wanted, most = min(self.candidates * k, n), min(_CANDIDATES[-1] * k, n)  # beyond, exact search is quicker
        library = _library()
        library.omp_set_num_threads(1)  # others would only wait for each other
        how = _how(self.lists, self.width)
        while wanted and len(rows) < k and wanted <= most:
            rows = self.lists.search(asked, wanted, params=how)[1][0]
            rows = rows[rows >= 0]
            if len(documents.removed):
                rows = rows[~documents.are_removed(rows)]
            if len(leave_out):
                rows = rows[~np.isin(rows, leave_out)]
            wanted *= 4
        rows.sort()
        return rows, search.scores_of(search.Rows(documents.halves(rows)), way)

    def save(self, folder: Path, identity: str) -> None:
        """Writes it beside the files of a model."""
        names = ("n_rows", "width", "candidates", "recall")
        about: dict[str, Any] = {"identity": identity, **{name: getattr(self, name) for name in names}}
        with replacing(folder / FOLDER) as place:
            _write(self.lists, place / _LISTS)
            about["bytes"], about["crc32"] = (place / _LISTS).stat().st_size, _crc32_of(place / _LISTS)
            manifest.write(place / _NAME, FORMAT, VERSION, about)

    @staticmethod
    def is_beside(folder: Path) -> bool:
        """Whether a model has an index."""
        return (folder / FOLDER).is_dir()

    @staticmethod
    def open(folder: Path, identity: str, documents: Documents) -> Index:
        """Reads the index beside a model, if it is of these documents."""
        place = folder / FOLDER
        if not Index.is_beside(folder):
            raise ValueError(f"there is no index in {folder} to search approximately; build it: paravec index {folder}")
        about = manifest.read(place / _NAME, FORMAT, VERSION, ModelFormatError)
        if about["version"] < VERSION:
            raise ModelFormatError(f"{place} is of an earlier kind; build it again: paravec index {folder}")
        try:
            n_rows, width, candidates = (segments.count(about, name) for name in ("n_rows", "width", "candidates"))
            recall = float(about["recall"])
            is_same = about["identity"] == identity
            is_whole = (place / _LISTS).stat().st_size == segments.count(about, "bytes")
            is_whole = is_whole and _crc32_of(place / _LISTS) == about["crc32"]
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise ModelFormatError(f"{place} is damaged: {error}; build it again") from None
        if not is_same:
            raise ValueError(
                f"the index in {folder} was built for another model than the one that was opened there, of {n_rows} "
                f"documents; load the model again, or build the index again: paravec index {folder}"
            )
        if n_rows > documents.n_rows:
            raise ValueError(
                f"the index in {folder} has documents that were added after the model was opened; load the model again"
            )
        lists = _read(place / _LISTS) if is_whole else None
        if lists is None or lists.d != _width(documents) or lists.ntotal > n_rows:
            raise ModelFormatError(f"{place / _LISTS} is not what was written; build it again")
        return Index(lists, n_rows, max(1, width), max(1, candidates), recall)


def check_recall(recall: float) -> None:
    """Refuses what is no part."""
    if isinstance(recall, bool) or not isinstance(recall, (int, float)) or not 0 < recall <= 1:
        raise ValueError(f"recall={recall!r} is no part of what is to be found; use 0 < recall <= 1")


def _write(lists: Any, path: Path) -> None:
    """Saves lists and sees them to disk; a failure, of which the library does not tell the cause, is an OSError."""
    try:
        _library().write_index(lists, str(path))
    except RuntimeError as error:
        with open(path, "ab", buffering=0) as file:
            file.write(bytes(1 << 20))  # fails again, with the cause
        raise OSError(errno.EIO, str(error), str(path)) from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _read(path: Path) -> Any:
    try:
        return _for_one(_library().read_index(str(path)))
    except (RuntimeError, MemoryError) as error:
        raise ModelFormatError(f"{path} is damaged: {error!s:.200}; build it again") from None


def _crc32_of(path: Path) -> str:
    value = 0
    with open(path, "rb") as file:
        while some := file.read(1 << 22):
            value = zlib.crc32(some, value)
    return f"{value:08x}"


def _empty(documents: Documents, n_threads: int) -> Any:
    """Lists whose centres are found by some of the documents; none, if there are few documents."""
    library, width = _library(), _width(documents)
    if len(documents) < _FEW:
        return library.IndexIDMap(library.IndexFlatIP(width))
    n_lists = round(2 * len(documents) ** 0.5)
    lists = library.index_factory(width, f"IVF{n_lists},PQ{width}x4fs", library.METRIC_INNER_PRODUCT)
    lists.cp.spherical, lists.cp.niter = True, _ROUNDS
    lists.cp.min_points_per_centroid = lists.pq.cp.min_points_per_centroid = 1
    library.omp_set_num_threads(n_threads)
    rng = np.random.default_rng(1)
    some = rng.choice(documents.rows, min(_FOR_A_CENTRE * n_lists, len(documents)), replace=False)
    lists.train(search.unit(_directions(documents, np.sort(some))))
    return _for_one(lists)


def _for_one(lists: Any) -> Any:
    """Searched in the way of Faiss's that is the quickest for single queries."""
    if hasattr(lists, "implem"):
        lists.implem = 10
    return lists


def _how(lists: Any, width: int) -> Any:
    """How lists are searched; where there are none, nothing is to be said."""
    library = _library()
    return library.SearchParametersIVF(nprobe=min(width, lists.nlist)) if hasattr(lists, "nlist") else None


def _width(documents: Documents) -> int:
    return sum(part.shape[1] for part in documents.segments[0].parts)


def _directions(documents: Documents, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The vectors of some rows, with halves of length 1."""
    return search.directions(np.hstack(documents.halves(rows)), documents.n_parts)


def _asked(documents: Documents) -> NDArray[np.int64]:
    """Some rows, drawn at random."""
    rng = np.random.default_rng(0)
    n = len(documents)
    return np.sort(rng.choice(documents.rows, min(_ASKED, -(-n // 10), n // 2), replace=False))


def _add(lists: Any, documents: Documents, rows: NDArray[np.int64], n_threads: int) -> None:
    directions = _directions(documents, rows)
    known = directions.any(axis=1)  # a document without a known word is near to nothing
    _library().omp_set_num_threads(n_threads)
    lists.add_with_ids(search.unit(directions[known]), rows[known])


def _measured(lists: Any, documents: Documents, asked: NDArray[np.int64], recall: float) -> tuple[int, int, float]:
    """How many lists and candidates are to be looked at to find `recall` of what is nearest to some rows, and the part.

    Candidates first, with all lists: if four bits a number do not tell apart what is near, more lists do not help.
    """
    queries = _directions(documents, asked)
    queries = queries[queries.any(axis=1)]
    if not len(queries):
        return 1, _CANDIDATES[0], 1.0
    k = min(_NEIGHBOURS, len(documents) - len(asked))
    true, _ = search.nearest(documents.segments, queries, k, documents.without(asked))

    @cache
    def enough(width: int, candidates: int) -> tuple[bool, float]:
        found, _ = Index(lists, documents.n_rows, width, candidates, 0.0).nearest(documents, queries, k, asked)
        shares = np.array([len(np.intersect1d(*both)) / k for both in zip(found, true, strict=True)])
        part = float(shares.mean())
        return part - float(shares.std()) / len(shares) ** 0.5 >= recall, part  # others may find a little less

    most = getattr(lists, "nlist", 1)
    for candidates in _CANDIDATES:
        if enough(most, candidates)[0]:
            break
    width = 1 + bisect_left(range(1, most), True, key=lambda width: enough(width, candidates)[0])
    return width, candidates, enough(width, candidates)[1]


def _library() -> Any:
    try:
        import faiss
    except ImportError:
        raise ImportError("approximate search needs Faiss; install it: pip install 'paravec[index]'") from None
    return faiss
