"""What users give as documents, checked and handed to the core block by block, with errors that name the document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from paravec import _core
from paravec.sources import Block, Source, StringColumn
from paravec.text import Token, Tokenizer

_AT_ONCE = 10_000  # documents of a block ...
_SIZE_AT_ONCE = 16 << 20  # ... which ends sooner when so many characters or tokens have come together


def check_documents(documents: object) -> Any:
    """Refuses what cannot be a collection of documents, before anything is read."""
    if isinstance(documents, (str, bytes)):
        raise TypeError(
            f"documents is a single {type(documents).__name__}, {documents[:30]!r}, which would be taken letter by "
            f"letter; give a list of documents: [text], or paravec.read(path) for a file"
        )
    if isinstance(documents, np.ndarray) and documents.ndim != 1:
        raise ValueError(f"documents is an array of shape {documents.shape}; give one column of texts: shape (n,)")
    if hasattr(documents, "columns") or hasattr(documents, "column_names"):
        raise TypeError(
            f"documents is {_what(documents)}, a table; give one column of it, or paravec.read(table, text=..., id=...)"
        )
    if isinstance(documents, Mapping):
        raise TypeError("documents is a mapping; give its values as documents and its keys as ids")
    if not isinstance(documents, Iterable):
        raise TypeError(f"documents is {_what(documents)}; give a list of strings or of lists of tokens")
    if type(documents).__module__.startswith("pyarrow"):
        return documents.to_pylist()  # type: ignore[attr-defined]
    return documents


def as_source(documents: Any) -> Source:
    """Documents of any kind as a source."""
    if isinstance(documents, Source):
        return documents
    documents = check_documents(documents)
    total = len(documents) if hasattr(documents, "__len__") else None
    return Source("the input", lambda: _blocks(documents), total=total, unit="documents")


def _blocks(documents: Iterable[Any]) -> Iterator[Block]:
    first, size = 0, 0
    some: list[Any] = []
    for document in documents:
        if isinstance(document, (bytes, bytearray)):
            raise TypeError(f"document {first + len(some)} is bytes; decode it: document.decode('utf-8')")
        some.append(document)
        size += len(document) if hasattr(document, "__len__") else 0
        if len(some) >= _AT_ONCE or size >= _SIZE_AT_ONCE:
            yield Block(some, None, _numbered(first), first + len(some))
            first, size, some = first + len(some), 0, []
    if some:
        yield Block(some, None, _numbered(first), first + len(some))


def _numbered(first: int) -> Any:
    return lambda i: f"document {first + i}"


class Reader:
    """Blocks to what the core reads. All documents are text or all are token lists; all tokens are of one kind."""

    def __init__(self, tokenizer: str | Tokenizer) -> None:
        self._tokenize = None if isinstance(tokenizer, str) else tokenizer
        self._text: bool | None = None
        self.kind: type | None = None  # of tokens
        self._example: tuple[Token, str] = ("", "")  # a token, and where it is

    def documents(self, block: Block) -> _core.Documents:
        """The documents of a block."""
        given = block.documents
        if isinstance(given, list) and not _all_text(given):
            return _token_lists([self._tokens(block.place, i, given[i]) for i in range(len(given))], block.place)
        self._is(True, block.place, 0, "")
        if self._tokenize is not None:
            lists = [self._tokens(block.place, i, text) for i, text in enumerate(block.texts())]
            return _token_lists(lists, block.place)
        self._note(str, "", "")
        if isinstance(given, bytes):
            return _core.Documents.lines(given)
        if isinstance(given, StringColumn):
            return _core.Documents.column(given.data, given.offsets)
        return _core.Documents.texts(given)

    def check_kind(self, kind: type) -> None:
        """Refuses tokens of another kind than those of a vocabulary."""
        if self.kind is not None and self.kind is not kind:
            token, where = self._example
            what = f"{where} has the {self.kind.__name__} {token!r}" if where else "a document is text"
            raise TypeError(f"the words of the vocabulary are {kind.__name__}, but {what}; give documents of that kind")

    def _is(self, text: bool, place: Any, i: int, document: object) -> None:
        if self._text is None:
            self._text = text
        elif self._text != text:
            raise TypeError(
                f"{place(i)} is {_what(document)}, but the documents before are "
                f"{'strings' if self._text else 'lists of tokens'}; give all documents as strings, or all as lists of "
                f"tokens"
            )

    def _tokens(self, place: Any, i: int, document: Any) -> Sequence[Token]:
        """The tokens of one document."""
        if document is None or isinstance(document, float) or type(document).__name__ == "NAType":
            raise TypeError(f"{place(i)} is missing ({document!r}); fill it or drop it")
        is_text = isinstance(document, str)
        self._is(is_text, place, i, document)
        if is_text and self._tokenize is None:
            return ()  # among other documents that are none, and will be refused
        tokens = self._tokenize(document) if is_text and self._tokenize is not None else document
        if isinstance(tokens, np.ndarray) and tokens.ndim == 1:
            tokens = tokens.tolist()
        elif hasattr(tokens, "to_list"):  # a column of lists in polars gives each list as a Series
            tokens = tokens.to_list()
        elif is_text and not isinstance(tokens, (str, Sequence)) and isinstance(tokens, Iterable):
            tokens = list(tokens)
        if not isinstance(tokens, Sequence) or isinstance(tokens, (str, bytes)):
            if is_text:
                raise TypeError(f"the tokenizer made {_what(tokens)} of {place(i)}; it is to make a list of tokens")
            raise TypeError(f"{place(i)} is {_what(document)}; a document is a string or a list of tokens")
        return self._plain(place, i, tokens)

    def _plain(self, place: Any, i: int, tokens: Sequence[Any]) -> Sequence[Token]:
        """All tokens of all documents are strings, or all are integers; NumPy's and other kinds become plain ones."""
        kinds = dict.fromkeys(map(type, tokens))
        for kind in kinds:
            plain = str if issubclass(kind, str) else int if issubclass(kind, (int, np.integer)) else None
            token: Any = next(token for token in tokens if type(token) is kind)
            if plain is None or kind is bool:
                raise TypeError(f"{place(i)} has the token {token!r}, which is neither a string nor an integer")
            if self.kind is not None and self.kind is not plain:
                raise TypeError(
                    f"{place(i)} has the token {token!r} of type {kind.__name__}, but earlier tokens are "
                    f"{self.kind.__name__}; use strings only or integers only"
                )
            self._note(plain, token, place(i))
        return tokens if kinds.keys() <= {str} or kinds.keys() <= {int} else [_as_plain(token) for token in tokens]

    def _note(self, kind: type, token: Token, where: str) -> None:
        if self.kind is None:
            self.kind, self._example = kind, (token, where)


def _as_plain(token: Any) -> Token:
    """A token without what a subclass adds to it: the value of an Enum that is a string, say."""
    return str.__str__(token) if isinstance(token, str) else int(token)


def _token_lists(lists: list[Sequence[Token]], place: Any) -> _core.Documents:
    try:
        return _core.Documents.tokens(lists)
    except OverflowError:
        for i, tokens in enumerate(lists):
            for token in tokens:
                if isinstance(token, int) and not -(2**63) <= token < 2**63:
                    raise ValueError(
                        f"{place(i)} has the token {token}, which does not fit 64 bits; use strings"
                    ) from None
        raise


def _all_text(documents: list[Any]) -> bool:
    return all(issubclass(kind, (str, bytes)) for kind in set(map(type, documents)))


def _what(thing: object) -> str:
    return f"{thing!r}" if thing is None or isinstance(thing, (int, float)) else f"a {type(thing).__name__}"
