"""Approximate search: a graph of Faiss over the documents, built on request and kept beside the model."""

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
VERSION = 2
FOLDER = "index"
_NAME, _GRAPH = "index.json", "graph.faiss"
_NEIGHBOURS_OF_A_ROW, _WIDTH_OF_BUILDING = 48, 128
_AT_ONCE = 1 << 16
_ASKED = 200  # documents that recall is measured by
_NEIGHBOURS = 10
_MOST_CANDIDATES = 64  # for each document that is wanted, if most of them were removed; then exact search is quicker
# Of search: how many candidates are kept on the way.
_WIDTHS = (32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 2048)


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
        graph = _empty(_width(documents))
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
        rows, asked = search.NO_ROWS, (way if documents.n_parts == 1 else search.unit(way))[None]
        wanted, most = min(k + bool(len(leave_out)), self.graph.ntotal), min(_MOST_CANDIDATES * k, self.graph.ntotal)
        library = _library()
        library.omp_set_num_threads(1)  # others would only wait for each other
        while wanted and len(rows) < k and wanted <= most:
            how = library.SearchParametersHNSW(efSearch=max(self.width, wanted))
            rows = self.graph.search(asked, wanted, params=how)[1][0]
            rows = rows[rows >= 0]
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
        if about["version"] < VERSION:
            raise ModelFormatError(f"{place} is of an earlier kind; build it again: paravec index {folder}")
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
        if graph is None or graph.d != _width(documents) or graph.ntotal > kept[0]:
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
        _library().write_index(graph, str(path))
    except RuntimeError as error:
        with open(path, "ab", buffering=0) as file:
            file.write(bytes(1 << 20))  # fails again, with the cause
        raise OSError(errno.EIO, str(error), str(path)) from error
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def _mapped(path: Path) -> Any:
    try:
        graph = _library().read_index(str(path), _library().IO_FLAG_MMAP_IFC)
    except (RuntimeError, MemoryError) as error:
        raise ModelFormatError(f"{path} is damaged: {error!s:.200}; build it again") from None
    if not isinstance(graph, _library().IndexIDMap):
        raise ModelFormatError(f"{path} is another index; build it again")
    return graph


def _empty(width: int) -> Any:
    """A graph of inner products whose nodes have the numbers of rows."""
    library = _library()
    graph = library.IndexHNSWFlat(width, _NEIGHBOURS_OF_A_ROW, library.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _WIDTH_OF_BUILDING
    return library.IndexIDMap(graph)


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
    _library().omp_set_num_threads(n_threads)
    graph.add_with_ids(search.unit(directions[known]), rows[known])


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
        import faiss
    except ImportError:
        raise ImportError("approximate search needs Faiss; install it: pip install 'paravec[index]'") from None
    return faiss
