"""Saving that is killed, interrupted, out of space, or done by several processes at once."""

from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest

from paravec import folders, tensors

FILES = ("a", "b", "part/c", "part/d")

# The module by itself starts in a moment, and many processes are started here.
COMMON = """
import errno, importlib.util, os, shutil, signal, sys, threading
from pathlib import Path
spec = importlib.util.spec_from_file_location("folders", sys.argv[1])
folders = importlib.util.module_from_spec(spec)
spec.loader.exec_module(folders)
target = Path(sys.argv[2])
if sys.argv[3] == "renames":
    folders._exchange = lambda *_: False

def save(tag):
    with folders.replacing(target) as folder:
        (folder / "part").mkdir()
        for name in ("a", "b", "part/c", "part/d"):
            (folder / name).write_text(tag)

def at_line(n, act, *modules):
    # Does `act` before the n-th line of the modules that runs from now on; tells whether it came to that.
    left, files = [n], [module.__file__ for module in modules]
    def trace(frame, event, _):
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                act()
        return trace
    sys.settrace(trace)
    return lambda: (sys.settrace(None), left[0] <= 0)[1]
"""

WAYS = [
    pytest.param(
        "exchange", marks=pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be swapped")
    ),
    "renames",
]

pytestmark = pytest.mark.skipif(folders.fcntl is None, reason="no locks tell whose folders are left behind")


def started(script, target, *arguments) -> subprocess.Popen:
    command = [sys.executable, "-c", COMMON + script, folders.__file__, target, *arguments]
    return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)


def finished(*processes) -> list[int]:
    """Their exit codes."""
    with ExitStack() as stack:
        return [stack.enter_context(process).wait() for process in processes]


def save(target, tag) -> None:
    with folders.replacing(target) as folder:
        (folder / "part").mkdir()
        for name in FILES:
            (folder / name).write_text(tag)


def saved(target) -> str:
    """What a folder holds, which must be one thing."""
    (tag,) = {(target / name).read_text() for name in FILES}
    return tag


@pytest.fixture
def target(tmp_path):
    save(tmp_path / "model", "old")
    return tmp_path / "model"


@pytest.fixture(params=WAYS)
def way(request, monkeypatch) -> str:
    if request.param == "renames":
        monkeypatch.setattr(folders, "_exchange", lambda *_: False)
    return request.param


def test_a_folder_takes_the_place_of_another(target, way):
    before = target.stat().st_ino
    save(target, "new")
    assert saved(target) == "new"
    assert target.stat().st_ino != before
    assert os.listdir(target.parent) == ["model"]


@pytest.mark.parametrize("there", ["nothing", "no parent", "an empty folder"])
def test_a_folder_takes_a_free_place(tmp_path, there, way):
    target = tmp_path / "deep" / "model" if there == "no parent" else tmp_path / "model"
    if there == "an empty folder":
        target.mkdir()
    save(target, "new")
    assert saved(target) == "new"
    assert os.listdir(target.parent) == ["model"]


def test_a_link_to_a_folder_stays_a_link(target, way):
    link, dangling = target.parent / "link", target.parent / "dangling"
    link.symlink_to("model")
    dangling.symlink_to("elsewhere")
    save(link, "new")
    save(dangling, "newer")
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert (saved(target), saved(target.parent / "elsewhere")) == ("new", "newer")
    assert sorted(os.listdir(target.parent)) == ["dangling", "elsewhere", "link", "model"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_failure_on_the_way_leaves_what_was_there(target, error, way):
    def fail():
        with folders.replacing(target) as folder:
            (folder / "a").write_text("new")
            raise error

    with pytest.raises(error):
        fail()
    assert saved(target) == "old"
    assert os.listdir(target.parent) == ["model"]


def test_a_file_in_the_way_is_an_error_and_stays(tmp_path, way):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(NotADirectoryError):
        save(tmp_path / "model", "new")
    assert (tmp_path / "model").read_text() == "mine"
    assert os.listdir(tmp_path) == ["model"]


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
with folders.replacing(target) as folder:
    (folder / "a").write_text("new")
    try:
        (folder / "b").write_bytes(bytes(200_000))
    except OSError as error:
        assert error.errno == errno.EFBIG
        raise
"""


def test_a_file_that_may_not_grow_leaves_what_was_there(target):
    assert finished(started(LIMITED, target, "exchange")) == [1]
    assert saved(target) == "old"
    assert os.listdir(target.parent) == ["model"]


@pytest.fixture
def small_disk(tmp_path):
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", tmp_path], capture_output=True)
    if mounted.returncode:
        pytest.skip("only root mounts a small disk")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are Linux's")
def test_a_full_disk_leaves_what_was_there_and_is_named(small_disk):
    target = small_disk / "model"
    save(target, "old")

    def fill():
        with folders.replacing(target) as folder:
            tensors.write(folder / "a", {"documents": np.zeros((20_000, 100), np.float32)})

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(target))
    assert saved(target) == "old"
    assert os.listdir(small_disk) == ["model"]


WRITER = """
for generation in range(int(sys.argv[5])):
    save(f"{sys.argv[4]} {generation}")
"""


def read_at_once(target) -> str | None:
    """What the folder that is at the target now holds; None if it was replaced, and removed, while it was read."""
    folder = os.open(target, os.O_RDONLY | os.O_DIRECTORY)  # there is always one
    try:
        tags = set()
        for name in FILES:
            with open(name, opener=lambda path, flags: os.open(path, flags, dir_fd=folder)) as file:
                tags.add(file.read())
        (tag,) = tags
        return tag
    except FileNotFoundError:
        assert not os.path.samestat(os.fstat(folder), os.stat(target))
        return None
    finally:
        os.close(folder)


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be swapped")
def test_four_processes_save_to_one_place_and_a_reader_always_finds_one_whole_folder(target):
    writers = [started(WRITER, target, "exchange", writer, 50) for writer in range(4)]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(read_at_once(target))
    assert finished(*writers) == [0] * 4
    assert len(seen) > 10
    assert saved(target) in {f"{writer} 49" for writer in range(4)}
    save(target, "new")
    assert os.listdir(target.parent) == ["model"]


def test_two_processes_save_to_one_place_where_names_cannot_be_swapped(target):
    writers = [started(WRITER, target, "renames", writer, 50) for writer in range(2)]
    assert finished(*writers) == [0] * 2
    assert saved(target) in {"0 49", "1 49"}
    assert os.listdir(target.parent) == ["model"]


ENDLESS = """
generation = 0
while True:
    save(str(generation))
    print(generation, flush=True)
    generation += 1
"""


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be swapped")
def test_a_process_that_is_killed_leaves_a_whole_folder(target):
    rng = random.Random(3)
    for _ in range(30):
        with started(ENDLESS, target, "exchange") as writer:
            writer.stdout.readline()
            time.sleep(rng.random() * 0.03)
            writer.kill()
        assert saved(target).isdigit()
    save(target, "new")
    assert saved(target) == "new"
    assert os.listdir(target.parent) == ["model"]


KILLED = """
came = at_line(int(sys.argv[4]), lambda: os.kill(os.getpid(), signal.SIGKILL), folders)
save("new")
came()
"""


def test_a_process_may_be_killed_at_every_line(target, way):
    line, came = 0, True
    while came:
        line += 1
        save(target, "old")
        came = finished(started(KILLED, target, way, line)) != [0]
        if way == "renames":
            with pytest.raises(RuntimeError), folders.replacing(target):  # which brings the old one back
                raise RuntimeError
        assert saved(target) in ("old", "new")
        assert os.listdir(target.parent) == ["model"] or way == "exchange"
    assert line > 50
    save(target, "new")
    assert os.listdir(target.parent) == ["model"]


INTERRUPTED = """
def interrupt():
    raise KeyboardInterrupt

line, came = 0, True
while came:
    line += 1
    target = Path(sys.argv[2]) / f"model{line}"
    save("old")
    came = at_line(line, interrupt, folders, shutil)
    try:
        save("new")
        lost = True
    except KeyboardInterrupt:
        lost = False
    came = came()
    assert not (came and lost), line
"""


def test_an_interrupt_at_every_line_leaves_a_whole_folder(tmp_path, way):
    assert finished(started(INTERRUPTED, tmp_path, way)) == [0]
    targets = [tmp_path / name for name in os.listdir(tmp_path) if not name.startswith(".")]
    assert len(targets) > 50
    for target in targets:
        assert saved(target) in ("old", "new")
        save(target, "newer")
    assert len(os.listdir(tmp_path)) == len(targets)


def test_only_what_was_left_behind_is_swept(target):
    kept = [".model.backup", ".model.old.x", ".model.x.abcdefgh.paravec-tmp", ".model.abcdefgh.paravec-tmp.x"]
    for name in (*kept, ".model.abcdefgh.paravec-tmp"):
        (target.parent / name).mkdir()
        (target.parent / name / "file").touch()
    (target.parent / ".model.aaaaaaaa.paravec-tmp").touch()
    (target.parent / ".model.bbbbbbbb.paravec-tmp").symlink_to(".model.backup")
    with folders.replacing(target) as other:
        save(target, "new")
        assert other.exists()
    strays = [".model.aaaaaaaa.paravec-tmp", ".model.bbbbbbbb.paravec-tmp"]
    assert sorted(os.listdir(target.parent)) == sorted([*kept, *strays, "model"])
    assert all((target.parent / name / "file").exists() for name in kept)


def test_a_folder_that_is_swept_before_it_is_locked_is_made_again(target, monkeypatch):
    made, mkdtemp = [], tempfile.mkdtemp

    def swept(**how):
        made.append(mkdtemp(**how))
        if len(made) == 1:
            folders._sweep(target)
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", swept)
    save(target, "new")
    assert len(made) == 2
    assert saved(target) == "new"
    assert os.listdir(target.parent) == ["model"]


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="names cannot be swapped")
def test_only_a_system_without_an_exchange_says_so(target, monkeypatch):
    def library(code):
        monkeypatch.setattr(folders.ctypes, "get_errno", lambda: code)
        return SimpleNamespace(renameat2=lambda *_: -1, renamex_np=lambda *_: -1)

    for code in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM):
        monkeypatch.setattr(folders.ctypes, "CDLL", lambda *_, code=code, **__: library(code))
        assert not folders._exchange(target, target)
    monkeypatch.setattr(folders.ctypes, "CDLL", lambda *_, **__: object())
    assert not folders._exchange(target, target)
    monkeypatch.setattr(folders.ctypes, "CDLL", lambda *_, **__: library(errno.EROFS))
    with pytest.raises(OSError, match="Read-only file system"):
        folders._exchange(target, target)
