"""Options that several verbs share."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from paravec.settings import Encoding, Settings

INPUT_HELP = (
    "a text file with a document a line (- for standard input), JSON lines, CSV, Parquet, Arrow, or a folder, .tar or "
    ".zip with a document a file"
)
Input = Annotated[str, typer.Argument(metavar="INPUT", help=INPUT_HELP)]
ModelFolder = Annotated[str, typer.Argument(metavar="MODEL", help="a model's folder")]
HowMany = Annotated[int | None, typer.Option("-k", min=1, help="how many; ten, or all if there are less")]
Quiet = Annotated[bool, typer.Option("--quiet", help="print nothing but errors")]
CorpusOrInput = Annotated[
    str, typer.Argument(metavar="INPUT", help=f"a corpus made by paravec encode, or {INPUT_HELP}")
]


Chosen = TypeVar("Chosen", bound=Encoding)


def input_options(
    text: Annotated[str, typer.Option(help="the column of a table that has the documents")] = "text",
    id: Annotated[str | None, typer.Option(help="the column that has their ids; numbers from 1 if left out")] = None,
    format: Annotated[
        str, typer.Option(help="auto (by suffix), lines, files, jsonl, csv, tsv, parquet or arrow")
    ] = "auto",
    pattern: Annotated[str, typer.Option(help="which files of a folder or archive: '*.txt', say")] = "*",
    encoding: Annotated[str, typer.Option(help="of text files")] = "utf-8",
    errors: Annotated[str, typer.Option(help="what is not valid: replace (and count), or strict (fail)")] = "replace",
) -> None:
    """How an input is read: the arguments of :func:`paravec.read`."""


INPUT_NAMES = tuple(inspect.signature(input_options).parameters)


def taken(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the input, taken out of all that were given."""
    return {name: given.pop(name) for name in INPUT_NAMES}


def register(
    app: typer.Typer,
    name: str,
    verb: Callable[..., None],
    settings: type[Encoding] | None = None,
) -> None:
    """Adds a verb with its own options, those of the input, and one for every setting."""
    command_options = [*_parameters(verb), *_parameters(input_options)]
    if settings is not None:
        command_options += _settings(settings)

    def command(**given: Any) -> None:
        verb(**given)

    command.__signature__ = inspect.Signature(command_options)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in command_options}
    app.command(name, help=verb.__doc__)(command)


def _parameters(function: Callable[..., None]) -> list[inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    return [
        parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def _settings(settings: type[Encoding]) -> list[inspect.Parameter]:
    """An option a setting, those of a model before those of the corpus."""
    hints = {**get_type_hints(settings), "tokenizer": str, "checkpoint_every": str | None}
    names = [each.name for each in fields(Encoding)]
    ordered = (
        sorted(fields(settings), key=lambda each: each.name in names) if settings is Settings else fields(settings)
    )
    return [
        inspect.Parameter(
            each.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=each.default,
            annotation=Annotated[hints[each.name], typer.Option(help=each.metadata["help"])],
        )
        for each in ordered
    ]


def checked(settings: type[Chosen], given: dict[str, Any]) -> Chosen:
    """The settings that were given; wrong ones are wrong usage."""
    every = given.get("checkpoint_every")
    try:
        if every is not None and every.isdecimal():
            given["checkpoint_every"] = int(every)
        return settings(**given)
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from None


def seed(random_state: int) -> int:
    """The seed of all draws; a wrong one is wrong usage."""
    from paravec.arguments import seed_of

    try:
        return seed_of(random_state)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def as_kept(given: str, example: str | int) -> str | int:
    """A word or an id as a model keeps it: as an integer, if its others are."""
    return int(given) if isinstance(example, int) and re.fullmatch(r"-?[0-9]{1,19}", given) else given


def ids_of(text: str, example: str | int) -> list[str | int]:
    """The ids of a file, one a line, as a model keeps them."""
    return [as_kept(line.removesuffix("\r"), example) for line in text.split("\n") if line.strip("\r")]


def usage(check: Callable[..., Any], *given: Any) -> Any:
    """What a check gives; what it refuses is wrong usage."""
    try:
        return check(*given)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def print_scores(found: Iterable[tuple[object, float]], what: str, as_json: bool) -> None:
    """A line for each thing that was found, the best first."""
    for name, score in found:
        print(json.dumps({what: name, "score": round(score, 6)}) if as_json else f"{score:.4f}\t{name}")


def source_of(input: str, how: dict[str, Any]) -> Any:
    """What is to be read, by :func:`paravec.read`; wrong options are wrong usage."""
    from paravec.errors import SourceError
    from paravec.sources import read

    try:
        return read(input, **how)
    except SourceError:
        raise
    except (ValueError, TypeError) as error:
        raise typer.BadParameter(str(error)) from None


def corpus_or_source(input: str, how: dict[str, Any]) -> Any:
    """An encoded corpus, for which options of reading have no meaning, or what is to be read."""
    from paravec.corpus.encode import corpus_of

    corpus = corpus_of(input)
    if corpus is None:
        return source_of(input, how)
    for name, parameter in inspect.signature(input_options).parameters.items():
        if how[name] != parameter.default:
            raise typer.BadParameter(f"--{name} has no meaning for {input}, which is encoded already; leave it out")
    return corpus


Vocabulary = Annotated[
    str | None, typer.Option(help="a file of words to know, one a line, each with a tab and its count if that is known")
]


def vocabulary_of(path: str | None) -> Any:
    """The words of a file, or a corpus, as `vocabulary` takes them."""
    from paravec.corpus.folder import is_corpus, open_corpus

    if path is None:
        return None
    if is_corpus(path):
        return open_corpus(path)
    try:
        with open(path, encoding="utf-8") as file:
            rows = [line.rstrip("\r\n").split("\t") for line in file]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is no text in UTF-8: {error}") from None
    rows = [row for row in rows if row != [""]]
    if all(len(row) == 1 for row in rows):
        return [row[0] for row in rows]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not row[1].isdecimal():
            raise ValueError(f"{path}, line {number}: a word, a tab and a count are expected, as in the other lines")
    return {word: int(count) for word, count in rows}


def word_vectors_of(path: str | None, settings: Settings) -> Any:
    """The word vectors of a file, if they go with the settings."""
    from paravec.initial import GivenWords
    from paravec.interchange.word2vec import read_word_vectors

    try:
        GivenWords.check_settings(path is not None, settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    return None if path is None else GivenWords.for_settings(read_word_vectors(path), settings)
