"""One report of experiments that were run on several machines, from the steps that they have left.

    python benchmarks/report.py REPORT imdb=gpu sst=gpu retrieval=cpu words=cpu --data PATH [--data PATH ...]

REPORT/steps holds the steps, and experiments are named with the engine they were run with. Nothing is run: a step that
is missing is an error, so no GPU is needed. Without ``--data``'s texts no step can be told from that of other texts.
REPORT/README.md is the report with REPORT/notes.md after it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paravec.errors import SourceError
from paravec.experiments import report
from paravec.experiments.catalogue import prepared
from paravec.experiments.options import Options
from paravec.experiments.steps import Steps


class Left(Steps):
    """Steps that were done before."""

    def _done(self, path: Path, name: str, told: dict[str, Any], work: Callable[[], Any]) -> dict[str, Any]:
        raise SourceError(f"{path} is not there: {name} has to be run first")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("experiments", nargs="+", help="NAME=ENGINE")
    parser.add_argument("--data", type=Path, action="append", required=True)
    given = parser.parse_args()
    engines = dict(each.split("=") for each in given.experiments)
    steps, listings = Left(given.report), []
    for run, engine in zip(prepared(list(engines), given.data), engines.values(), strict=True):
        listings += run(steps, Options(engine=engine))
    told = ", ".join(f"{engine} ({name})" for name, engine in engines.items())
    page = report.write(given.report, "report", listings, steps, Options(engine=told))
    parts = [page.with_suffix(".md"), given.report / "notes.md"]
    text = "\n".join(part.read_text(encoding="utf-8") for part in parts if part.exists())
    (given.report / "README.md").write_text(text, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
