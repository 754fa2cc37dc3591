"""Approximate search: a graph of usearch over the documents, built on request and kept beside the model."""

from __future__ import annotations

import errno
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paravec import manifest, search, segments
from paravec.documents import Documents
from paravec.errors import ModelFormatError
from paravec.folders import replacing

FORMAT = "paravec index"
VERSION = 1
FOLDER = "index"
_NAME, _GRAPH = "index.json", "graph.usearch"
_AT_ONCE = 1 << 16
_ASKED = 200  # documents that recall is measured by
_NEIGHBOURS = 10
# For each document that is wanted: the graph has numbers of 8 bits, and the best are told by the vectors.
_CANDIDATES = 6
_MOST_CANDIDATES = 96  # if most of them were removed; then exact search is quicker
_WIDTHS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)  # of search: how many candidates are kept on the way


@dataclass(frozen=True)
class Index:
    """A graph that leads to the nearest of the first `n_rows` rows of documents; rows behind them are looked at all."""

    graph: Any
    n_rows: int
    width: int
    recall: float

    @staticmethod
    def build(documents: Documents, recall: float, n_threads: int) -> Index:
        """A graph that is searched so widely that it finds a part of the nearest, `recall`."""
        check_recall(recall)
        if not len(documents):
            raise ValueError("the model has no documents to build an index of")
        graph = _library().Index(ndim=_width(documents), metric="ip", dtype="i8", connectivity=32, expansion_add=128)
        asked = _asked(documents)
        others = np.setdiff1d(documents.rows, asked)
        for first in range(0, len(others), _AT_ONCE):
            _add(graph, documents, others[first : first + _AT_ONCE], n_threads)
        width, found = _measured(graph, documents, asked, recall)  # by queries that the graph does not hold yet
        _add(graph, documents, asked, n_threads)
        if found < recall:
            warnings.warn(
                f"the index finds {found:.3f} of the nearest documents, and recall={recall} was asked for; "
                f"search without approximate=True finds all",
                stacklevel=4,
            )
        return Index(graph, documents.n_rows, width, found)

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
        """Rows of the graph near to a direction, ascending, and their scores; less than `k` if few are left."""
        rows, asked = search.NO_ROWS, way if documents.n_parts == 1 else search.unit(way)
        wanted, most = min(_CANDIDATES * k, len(self.graph)), min(_MOST_CANDIDATES * k, len(self.graph))
        while wanted and len(rows) < k and wanted <= most:
            self.graph.expansion_search = max(self.width, wanted)
            rows = self.graph.search(asked, wanted, threads=1).keys.astype(np.int64)
            if len(documents.removed):
                rows = rows[~documents.are_removed(rows)]
            for row in leave_out:
                rows = rows[rows != row]
            wanted *= 4
        rows.sort()
        return rows, search.scores_of(search.Rows(documents.halves(rows)), way)

    def save(self, folder: Path, identity: str) -> None:
        """Writes it beside the files of a model."""
        about = {"identity": identity, "n_rows": self.n_rows, "width": self.width, "recall": self.recall}
        with replacing(folder / FOLDER) as place:
            _write(self.graph, place / _GRAPH)
            about["bytes"] = (place / _GRAPH).stat().st_size
            manifest.write(place / _NAME, FORMAT, VERSION, about)

    @staticmethod
    def is_beside(folder: Path) -> bool:
        """Whether a model has an index."""
        return (folder / FOLDER).is_dir()

    @staticmethod
    def open(folder: Path, identity: str, documents: Documents) -> Index:
        """Maps the index beside a model, if it is of these documents."""
        place = folder / FOLDER
        if not Index.is_beside(folder):
            raise ValueError(f"there is no index in {folder} to search approximately; build it: paravec index {folder}")
        about = manifest.read(place / _NAME, FORMAT, VERSION, ModelFormatError)
        try:
            kept = segments.count(about, "n_rows"), max(1, segments.count(about, "width")), float(about["recall"])
            is_same = about["identity"] == identity
            size, expected = (place / _GRAPH).stat().st_size, segments.count(about, "bytes")
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise ModelFormatError(f"{place} is damaged: {error}; build it again") from None
        if not is_same:
            raise ValueError(
                f"the index in {folder} was built for another model than the one that was opened there, of {kept[0]} "
                f"documents; load the model again, or build the index again: paravec index {folder}"
            )
        if kept[0] > documents.n_rows:
            raise ValueError(
                f"the index in {folder} has documents that were added after the model was opened; load the model again"
            )
        graph = _mapped(place / _GRAPH) if size == expected else None
        if graph is None or graph.ndim != _width(documents) or len(graph) > kept[0]:
            raise ModelFormatError(
                f"{place / _GRAPH} is not the graph of {size} bytes that was written; build it again"
            )
        return Index(graph, *kept)


def check_recall(recall: float) -> None:
    """Refuses what is no part."""
    if isinstance(recall, bool) or not isinstance(recall, (int, float)) or not 0 < recall <= 1:
        raise ValueError(f"recall={recall!r} is no part of what is to be found; use 0 < recall <= 1")


def _write(graph: Any, path: Path) -> None:
    """Saves a graph and sees it to disk; a failure, of which the library does not tell the cause, is an OSError."""
    try:
        graph.save(str(path))
    except RuntimeError as error:
        with open(path, "ab", buffering=0) as file:
            file.write(bytes(1 << 20))  # fails again, with the cause
        raise OSError(errno.EIO, str(error), str(path)) from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _mapped(path: Path) -> Any:
    try:
        return _library().Index.restore(str(path), view=True)
    except (RuntimeError, ValueError) as error:
        raise ModelFormatError(f"{path} is damaged: {error}; build it again") from None


def _width(documents: Documents) -> int:
    return sum(part.shape[1] for part in documents.segments[0].parts)


def _directions(documents: Documents, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The vectors of some rows, with halves of length 1."""
    return search.directions(np.hstack(documents.halves(rows)), documents.n_parts)


def _asked(documents: Documents) -> NDArray[np.int64]:
    """Some rows, drawn at random."""
    rng = np.random.default_rng(0)
    return np.sort(rng.choice(documents.rows, min(_ASKED, len(documents) // 2), replace=False))


def _add(graph: Any, documents: Documents, rows: NDArray[np.int64], n_threads: int) -> None:
    directions = _directions(documents, rows)
    known = directions.any(axis=1)  # a document without a known word is near to nothing
    graph.add(rows[known], search.unit(directions[known]), threads=n_threads)


def _measured(graph: Any, documents: Documents, asked: NDArray[np.int64], recall: float) -> tuple[int, float]:
    """How widely the graph is to be searched to find `recall` of what is nearest to some rows, and what is found."""
    queries = _directions(documents, asked)
    queries = queries[queries.any(axis=1)]
    if not len(queries):
        return _WIDTHS[0], 1.0
    k = min(_NEIGHBOURS, len(documents) - len(asked))
    true, _ = search.nearest(documents.segments, queries, k, documents.without(asked))
    for width in _WIDTHS:
        found, _ = Index(graph, documents.n_rows, width, 0.0).nearest(documents, queries, k, asked)
        shares = np.array([len(np.intersect1d(*both)) / k for both in zip(found, true, strict=True)])
        if shares.mean() - shares.std() / len(shares) ** 0.5 >= recall:  # others may find a little less
            break
    return width, float(shares.mean())


def _library() -> Any:
    try:
        from usearch import index
    except ImportError:
        raise ImportError("approximate search needs usearch; install it: pip install 'paravec[index]'") from None
    return index
