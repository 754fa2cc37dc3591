"""What the documentation shows runs, what it links to is there, and the site has all of it."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pages import DOCS, ROOT, blocks, run_blocks
from paravec import ParagraphVector

ELSEWHERE = [ROOT / f"{folder}/README.md" for folder in ("examples", "benchmarks", "results")]
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *ELSEWHERE]
WITH_PYTHON = [page for page in PAGES if blocks(page, "python")]
WITH_COMMANDS = [page for page in PAGES if blocks(page, "sh")]
PHRASES = ("a moving story of two brothers", "strong and powerful film", "the plot is thin", "cats on mats")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def reviews(tmp_path, monkeypatch) -> list[str]:
    """The files that pages speak of, in the folder where their code runs."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(PHRASES, size=4)) for _ in range(60)]
    Path("reviews.txt").write_text("\n".join(texts))
    Path("new.txt").write_text("\n".join(texts[:2]))
    rows = [{"key": f"r{i}", "body": text} for i, text in enumerate(texts)]
    with gzip.open("reviews.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    pq.write_table(pa.Table.from_pylist(rows), "reviews.parquet")
    return texts


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_the_python_of_a_page_runs_from_its_first_block_to_its_last(page, reviews, capsys):
    run_blocks(page, {"texts": reviews, "labels": ["good", "bad"] * 30, "new_texts": reviews[:3]})


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=name_of)
def test_the_commands_of_a_page_run(page, reviews):
    model = ParagraphVector("dm", 20, combine="mean", epochs=1)
    model.fit(reviews).save("model")
    model.export("words.bin", "words")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for number, block in enumerate(blocks(page, "sh")):
        folder = Path(f"block{number}")
        folder.mkdir()
        for name in (
            "reviews.txt",
            "reviews.jsonl.gz",
            "new.txt",
            "model",
            *(["words.bin"] if "--word-" in block else []),
        ):
            (folder / name).symlink_to(Path(name).absolute())
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_blocks_are_python_or_commands_which_run_or_plain_text():
    for page in PAGES:
        fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(fences[::2]) <= {"python", "sh", ""}, page
        assert not any(fences[1::2]), page


def test_every_verb_is_among_the_commands_that_run():
    shown = "".join(block for page in WITH_COMMANDS for block in blocks(page, "sh"))
    verbs = {path.stem for path in (ROOT / "src/paravec/cli").glob("*.py")} - {"__init__", "app", "options"}
    missing = {verb for verb in verbs if f"paravec {verb.rstrip('_')}" not in shown}
    assert missing <= {"demo", "reproduce"}  # which has a test of its own; which needs the official files
    for option in ("--among", "--approximate", "--grow-vocabulary"):
        assert option in shown


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        if link.startswith("http"):
            continue
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_navigation_of_the_site():
    shown = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    places = {"README.md": "index.md"}
    expected = {places.get(name_of(page), name_of(page).removeprefix("docs/")) for page in PAGES}
    assert sorted(shown) == sorted(expected | {"CHANGELOG.md"})


def test_every_verb_and_every_public_name_is_documented():
    import paravec

    commands = (DOCS / "command-line.md").read_text(encoding="utf-8")
    verbs = {path.stem for path in (ROOT / "src/paravec/cli").glob("*.py")} - {"__init__", "app", "options"}
    assert all(f"paravec {verb.rstrip('_')} " in commands for verb in verbs)
    api = (DOCS / "api.md").read_text(encoding="utf-8")
    assert all(
        f"::: paravec.{name}\n" in api or hasattr(paravec.errors, name) for name in paravec.__all__ if name[0] != "_"
    )
