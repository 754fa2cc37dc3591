"""What a fitted ParagraphVector has and is asked: its documents and words, and what is near to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from paravec.arguments import DocumentId
from paravec.fitted import Fitted
from paravec.settings import Settings
from paravec.text import Token


class Questions:
    """The questions of :class:`paravec.ParagraphVector`, which are all answered by its fit."""

    _fitted: Fitted

    if TYPE_CHECKING:

        def _now(self) -> Settings: ...  # the estimator's

    def similar(
        self,
        query: Any = None,
        k: int | None = None,
        *,
        id: DocumentId | None = None,
        among: Iterable[DocumentId] | None = None,
        approximate: bool = False,
    ) -> Any:
        """The documents nearest to a text, a list of tokens, a vector, or the document with an `id`.

        Parameters
        ----------
        query : str, list of tokens, or array of floats
            A vector may also be a list of floats. A matrix (what `transform` gives) asks for each row at once.
        k : int, optional
            How many. If left out ten, or all if there are less.
        id : str or int, optional
            Instead of a query, the id of a document, which itself is left out.
        among : list or set of ids, optional
            Look at these documents only. There may be less than `k` of them.
        approximate : bool
            Ask the index (`build_index`), which is quicker and misses some. With `among` it is not needed.

        Returns
        -------
        list of (id, score)
            The best first; for a matrix, a list of such lists. The score is the cosine; for "dm+dbow" the mean of
            those of both halves, which so weigh the same.

        Examples
        --------
        >>> from paravec import ParagraphVector
        >>> texts = ["cats purr and cats sleep", "dogs bark and dogs run", "cats sleep and purr"]
        >>> model = ParagraphVector(vector_size=8, min_count=1).fit(texts, ids=["a", "b", "c"])
        >>> [id for id, score in model.similar("cats sleep and purr", k=2)]
        ['c', 'a']
        >>> [id for id, score in model.similar(id="a", among=["a", "b"])]
        ['b']

        """
        check_is_fitted(self)
        now = None if query is None or isinstance(query, np.ndarray) else self._now()  # a text is inferred
        return self._fitted.similar(query, k, id, among, approximate, now)

    def similar_words(self, word: Token, k: int | None = None) -> list[tuple[Token, float]]:
        """The `k` words nearest to a word."""
        return self.analogy([word], [], k)

    def analogy(
        self, positive: Sequence[Token], negative: Sequence[Token], k: int | None = None
    ) -> list[tuple[Token, float]]:
        """The `k` words nearest to the sum of `positive` minus the sum of `negative` word vectors (of length 1)."""
        check_is_fitted(self)
        return self._fitted.analogy(positive, negative, k)

    def build_index(self, recall: float = 0.95) -> float:
        """Builds an index of the documents, for ``similar(..., approximate=True)``.

        Before the last 200 documents, drawn at random, go into it, it is asked for the ten nearest to each, more and
        more thoroughly until it finds this part of those that truly are. Returns the part that it finds. Documents
        that are added afterwards are searched exactly. It is saved with the model, unless documents were removed.
        Needs Faiss: ``pip install 'paravec[index]'``.
        """
        check_is_fitted(self)
        return self._fitted.build_index(recall, self._now()).recall

    @property
    def document_vectors_(self) -> NDArray[np.float32]:
        """The vectors of the documents, a row each."""
        vectors: NDArray[np.float32] = self._get("document_vectors_", Fitted.document_vectors)
        return vectors

    @property
    def document_ids_(self) -> Sequence[DocumentId]:
        """The ids of the documents."""
        ids: Sequence[DocumentId] = self._get("document_ids_", lambda fitted: fitted.known_documents().ids)
        return ids

    @property
    def n_documents_(self) -> int:
        """The number of documents."""
        number: int = self._get("n_documents_", lambda fitted: fitted.n_documents)
        return number

    @property
    def word_vectors_(self) -> NDArray[np.float32]:
        """The word vectors, a row for each entry of `vocabulary_`."""
        vectors: NDArray[np.float32] = self._get("word_vectors_", Fitted.word_vectors)
        return vectors

    @property
    def vocabulary_(self) -> Mapping[Token, int]:
        """The row of each word in `word_vectors_`; read only."""
        return MappingProxyType(self._get("vocabulary_", lambda fitted: fitted.vocabulary.index))

    def _get(self, name: str, what: Callable[[Fitted], Any]) -> Any:
        """An attribute of the fit; one that is not there is missing as Python and scikit-learn expect it."""
        if not hasattr(self, "_fitted"):
            raise AttributeError(f"{name} is there after fit; this {type(self).__name__} is not fitted")
        try:
            return what(self._fitted)
        except ValueError as error:
            raise AttributeError(str(error)) from None
