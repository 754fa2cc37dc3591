"""Every example runs, in its quick form."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pages import ROOT

SAID = {
    "classify": "4 packages",
    "clickstreams": "200 visits with a known interest",
    "deduplicate": "have their original as the nearest text",
    "grid_search": "the best is",
    "recommend": "with socket and selectors go",
    "topics": "drawn to topics.png",
}


def test_every_example_is_run_and_listed():
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert names == set(SAID)
    listed = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}.py]({name}.py)" in listed for name in names)


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_without_a_warning(name, tmp_path):
    command = [sys.executable, "-W", "error", ROOT / "examples" / f"{name}.py", "--quick"]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # threads that wait for each other beside other tests take ages
    done = subprocess.run(list(map(str, command)), cwd=tmp_path, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert SAID[name] in done.stdout
    if name == "topics":
        assert (tmp_path / "topics.png").stat().st_size > 10_000
