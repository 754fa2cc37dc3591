"""What the site has beyond docs/: pages that lie elsewhere in the repository, and links that work in both places."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = (
    "README.md",
    "CHANGELOG.md",
    "benchmarks/README.md",
    "benchmarks/results/*.svg",
    "results/README.md",
    "results/*.svg",
    "examples/*",
)
_LINK = re.compile(r"(\]\()([^)#\s]+)([^)]*\))")
_ROLE = re.compile(r":(?:func|class|meth):`([^`]+)`")


def on_files(files: Files, config: Any) -> Files:
    """Adds what lies outside docs/, where it lies in the repository; the README is the home page."""
    for path in sorted(path for pattern in OUTSIDE for path in ROOT.glob(pattern) if path.is_file()):
        files.append(File.generated(config, _place(path.relative_to(ROOT).as_posix()), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links are written for the repository; here they lead to the same file's place on the site."""
    here = page.file.src_uri
    folder = posixpath.dirname(_path(here))

    def moved(link: re.Match[str]) -> str:
        if ":" in link[2]:
            return link[0]
        place = _place(posixpath.normpath(posixpath.join(folder, link[2])))
        return f"{link[1]}{posixpath.relpath(place, posixpath.dirname(here) or '.')}{link[3]}"

    return _LINK.sub(moved, markdown)


def _place(path: str) -> str:
    """Where a file of the repository is on the site."""
    return "index.md" if path == "README.md" else path.removeprefix("docs/")


def _path(place: str) -> str:
    """Where a page of the site is in the repository."""
    if place == "index.md":
        return "README.md"
    return place if (ROOT / place).exists() else f"docs/{place}"


class Docstrings(griffe.Extension):
    """Makes links of the names that docstrings mark, and gives parameters that are told together each its default."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Looks at the docstring of each object."""
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(lambda role: _reference(role[1], obj.parent), obj.docstring.value)
            if isinstance(obj, griffe.Class):
                _tell_defaults(obj, obj.docstring)


def _tell_defaults(kind: griffe.Class, docstring: griffe.Docstring) -> None:
    docstring.parser = griffe.Parser.numpy
    for section in docstring.parsed:
        if section.kind is griffe.DocstringSectionKind.parameters:
            for parameter in section.value:
                parameter.default = str(kind.parameters[parameter.name].default)


def _reference(name: str, owner: griffe.Object | griffe.Alias | None) -> str:
    """A link to a public name; one without dots may be a neighbour in the same class."""
    neighbour = owner is not None and owner.is_class and name in owner.members
    public = f"{owner.name}.{name}" if neighbour else name.removeprefix("paravec.")
    return f"[`{name}`][paravec.{public}]"
