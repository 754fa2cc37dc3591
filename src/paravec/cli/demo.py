"""``paravec demo``: Python's own documentation, searched by meaning."""

from __future__ import annotations

import ast
import sys
import sysconfig
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

QUESTIONS = (
    "parse a date from a string",
    "compress a file with gzip",
    "run a command in a subprocess and read its output",
    "sort a list by a key function",
    "send an email message over smtp",
)
_SKIPPED = {
    "test",
    "tests",
    "idlelib",
    "turtledemo",
    "lib2to3",
    "site-packages",
    "dist-packages",
    "__pycache__",
}


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command("demo")(demo)


def demo(
    out: Annotated[str | None, typer.Option("-o", "--out", help="also save the model to this folder")] = None,
    n_jobs: Annotated[int, typer.Option(help="threads; -1 for all cores")] = -1,
) -> None:
    """Trains on the documentation of Python's standard library and answers a few questions."""
    from rich.console import Console

    from paravec import ParagraphVector

    console = Console(highlight=False)
    console.print("[bold]paravec demo[/]: document vectors of Python's own documentation\n")
    with _timed(console, "read the docstrings and the language reference"):
        paragraphs = list(documentation())
    names, texts = [name for name, _ in paragraphs], [text for _, text in paragraphs]
    words = sum(len(text.split()) for text in texts)
    console.print(f"  {len(texts):,} paragraphs, {words:,} words\n")

    # A small corpus of short paragraphs: more noise words and sub-sampling help, many epochs are cheap.
    settings: dict[str, Any] = {"vector_size": 100, "epochs": 30, "negative": 20, "sample": 1e-3, "infer_l2": 5.0}
    estimator = ParagraphVector(**settings, n_jobs=n_jobs)
    with _timed(
        console, f"train PV-DBOW ({', '.join(f'{k}={v}' for k, v in settings.items())}), infer every paragraph"
    ):
        # The name of a thing belongs to what is said about it.
        estimator.fit([f"{name.split('#')[0]}: {text}" for name, text in paragraphs], ids=names)
    losses = estimator.loss_history_["dbow"]
    console.print(f"  vocabulary {len(estimator.vocabulary_):,} words, loss {losses[0]:.3f} -> {losses[-1]:.3f}\n")

    text_of = dict(paragraphs)
    with _timed(console, f"answer {len(QUESTIONS)} questions"):
        for question in QUESTIONS:
            console.print(f"  [bold cyan]{question}[/]")
            for name, score in estimator.similar(question, k=3):
                start = textwrap.shorten(text_of[str(name)], 90, placeholder=" ...")
                console.print(f"    {score:.2f}  [green]{name}[/]  {start}", soft_wrap=True, markup=True)
    if out is not None:
        estimator.save(out)
        console.print(f"\nsaved to {out}; try: paravec similar {out} 'open a file for reading'")


def documentation() -> Iterator[tuple[str, str]]:
    """(name, text) of the paragraphs, of six words or more, of the docstrings and of pydoc's topics."""
    seen: set[str] = set()
    count: Counter[str] = Counter()
    for name, text in _documented():
        for paragraph in text.split("\n\n"):
            plain = " ".join(paragraph.split())
            if len(plain.split()) >= 6 and plain not in seen:
                seen.add(plain)
                count[name] += 1
                yield f"{name}#{count[name]}", plain


def _documented() -> Iterator[tuple[str, str]]:
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if _SKIPPED.isdisjoint(parts) and parts[0] != "pydoc_data":
            module = ".".join(part for part in parts if part != "__init__")
            yield from _docstrings(path, module)
    from pydoc_data.topics import topics

    for topic, text in topics.items():
        yield f"reference:{topic}", text


def _docstrings(path: Path, module: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return  # a broken file of the interpreter is no matter of ours
    waiting: list[tuple[str, Any]] = [(module, tree)]
    while waiting:
        name, node = waiting.pop()
        text = ast.get_docstring(node)
        if text:
            yield name, text
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                waiting.append((f"{name}.{child.name}", child))


@contextmanager
def _timed(console: Any, what: str) -> Iterator[None]:
    console.print(f"[dim]>[/] {what}")
    sys.stdout.flush()
    began = time.perf_counter()
    yield
    console.print(f"  [dim]{time.perf_counter() - began:.1f} s[/]")
