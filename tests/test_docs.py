"""What the documentation shows runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", ["life.md", "search.md"])
def test_the_examples_of_a_page_run_one_after_the_other(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    assert len(blocks) > 1


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    for page in (*DOCS.glob("*.md"), root / "README.md", root / "benchmarks" / "README.md"):
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert link.startswith("http") or (page.parent / link).exists(), f"{page.name}: {link}"
