"""Folders that are no models, or models that someone has made to do harm: each is refused with a sentence."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paravec import ModelFormatError, ParagraphVector, store, tensors

DOCUMENTS = [f"the {a} {b} sat on the {b}" for a in ("cat", "dog", "hen") for b in ("mat", "rug", "log", "bed")]
KINDS = {
    "dbow": {"model": "dbow", "ngrams": 3},
    "dm": {"model": "dm", "output": "hs"},
    "both": {"model": "dm+dbow", "combine": "mean"},
}


def made(folder: Path, seed: int = 0, documents=DOCUMENTS, **settings) -> Path:
    fitted = ParagraphVector(vector_size=4, window=3, epochs=1, min_count=1, random_state=seed, **settings)
    fitted.fit(documents, ids=[f"id {i}" for i in range(len(documents))]).save(folder)
    return folder


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A model of every kind, and others that are as much like them as can be."""
    folder = tmp_path_factory.mktemp("originals")
    for kind, settings in KINDS.items():
        made(folder / kind, **settings)
        made(folder / f"{kind} of another seed", seed=1, **settings)
    return folder


@pytest.fixture
def model(originals, tmp_path):
    return Path(shutil.copytree(originals / "dbow", tmp_path / "model"))


def refused(folder: Path, message: str) -> None:
    with pytest.raises(ModelFormatError, match=message) as caught:
        ParagraphVector.load(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600


def change_settings(model: Path, change) -> None:
    path = model / "settings.json"
    about = json.loads(path.read_text())
    change(about)
    path.write_text(json.dumps(about))


def change_arrays(model: Path, file: str, change) -> None:
    """Changes the arrays of a file, and makes its checksum right again, as an attacker would."""
    arrays, metadata = tensors.read(model / file)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays)
    crc = tensors.write(model / file, arrays, metadata, checksum=True)
    change_settings(model, lambda about: about["crc32"].update({file: f"{crc:08x}"}))


FILES = {
    "dbow": [
        "settings.json",
        "vocabulary.safetensors",
        "model.safetensors",
        "documents.safetensors",
        "ids.safetensors",
    ],
    "both": [
        "dm/model.safetensors",
        "dbow/model.safetensors",
        "dm/documents.safetensors",
        "dbow/documents.safetensors",
    ],
}
EVERY = [(kind, file) for kind, files in FILES.items() for file in files]


@pytest.mark.parametrize(("kind", "file"), EVERY)
def test_a_file_that_is_missing_or_cut_short_at_any_place(originals, tmp_path, kind, file):
    model = Path(shutil.copytree(originals / kind, tmp_path / "model"))
    whole = (model / file).read_bytes()
    chance = random.Random(0)
    for length in {0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(20))}:
        (model / file).write_bytes(whole[:length])
        refused(model, Path(file).name)
    (model / file).write_bytes(whole + b"x")
    refused(model, Path(file).name)
    (model / file).unlink()
    refused(model, rf"{Path(file).name} cannot be read: No such file or directory|it has no settings.json")


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_another_model_of_the_same_shape(originals, tmp_path, kind):
    other = originals / f"{kind} of another seed"
    files = [path.relative_to(other) for path in other.rglob("*.*")]
    assert len(files) >= 5
    for file in files:
        model = Path(shutil.copytree(originals / kind, tmp_path / "model"))
        if (model / file).read_bytes() != (other / file).read_bytes():
            shutil.copy(other / file, model / file)
            refused(model, "checksum|belongs to another model")
        shutil.rmtree(model)


def test_the_halves_of_a_model_swapped(originals, tmp_path):
    model = Path(shutil.copytree(originals / "both", tmp_path / "model"))
    for file in ("model.safetensors", "documents.safetensors"):
        shutil.copy(originals / "both" / "dm" / file, model / "dbow" / file)
        refused(model, "does not belong there|checksum|expected|belongs")
        shutil.copy(originals / "both" / "dbow" / file, model / "dbow" / file)


def test_files_of_the_model_itself_under_each_others_names(model):
    names = FILES["dbow"][1:]
    for name in names:
        for other in names:
            if name != other:
                kept = (model / name).read_bytes()
                shutil.copy(model / other, model / name)
                refused(model, "does not belong there|is missing|its checksum")
                (model / name).write_bytes(kept)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("model.safetensors", lambda a: a.update(words=a.pop("outputs")), "does not belong there|missing"),
        ("model.safetensors", lambda a: a.update(outputs=a["outputs"][:, :3]), r"shape \(\d+, 3\); float32 of shape"),
        ("model.safetensors", lambda a: a.update(outputs=a["outputs"].view(np.int32)), "is int32 of shape"),
        ("model.safetensors", lambda a: a.update(extra=a["outputs"]), "'extra', which does not belong there"),
        ("model.safetensors", lambda a: a["outputs"].__setitem__((3, 2), np.nan), "'outputs' holds NaN or infinity"),
        ("model.safetensors", lambda a: a["outputs"].__setitem__((0, 0), np.inf), "'outputs' holds NaN or infinity"),
        ("vocabulary.safetensors", lambda a: a["counts"].__setitem__(1, 0), "counts that are none"),
        ("vocabulary.safetensors", lambda a: a["counts"].__setitem__(1, -5), "counts that are none"),
        ("vocabulary.safetensors", lambda a: a["counts"].__setitem__(slice(None), 2**62), "counts that are none"),
        ("vocabulary.safetensors", lambda a: a["prefix"].__setitem__(0, -1), "n-grams .* are damaged"),
        ("vocabulary.safetensors", lambda a: a["prefix"].__setitem__(0, 2**31 - 1), "n-grams .* are damaged"),
        ("vocabulary.safetensors", lambda a: a["last"].__setitem__(0, 2**31 - 1), "n-grams .* are damaged"),
        ("vocabulary.safetensors", lambda a: a["prefix"].__setitem__(slice(None), len(a["words_offsets"])), "n-grams"),
        ("vocabulary.safetensors", lambda a: a["words_offsets"].__setitem__(1, 2**62), "offsets"),
        ("vocabulary.safetensors", lambda a: a["words_offsets"].__setitem__(1, -7), "offsets"),
        ("vocabulary.safetensors", lambda a: a["words_offsets"].__setitem__(0, 1), "offsets"),
        ("vocabulary.safetensors", lambda a: a["words"].__setitem__(0, 0xFF), "UTF-8|utf-8"),
        ("vocabulary.safetensors", lambda a: a["words"].__setitem__(slice(None), ord("x")), "of them different"),
        ("vocabulary.safetensors", lambda a: a.pop("last"), "'last' is missing"),
    ],
)  # fmt: skip
def test_arrays_that_lie_behind_a_right_checksum(model, file, change, message):
    change_arrays(model, file, change)
    refused(model, message)


def test_a_byte_changed_anywhere_in_what_is_read_is_seen(model):
    chance = random.Random(1)
    for file in ("model.safetensors", "vocabulary.safetensors"):
        whole = (model / file).read_bytes()
        for _ in range(100):
            at = chance.randrange(len(whole))
            (model / file).write_bytes(whole[:at] + bytes([whole[at] ^ (1 << chance.randrange(8))]) + whole[at + 1 :])
            refused(model, file)
        (model / file).write_bytes(whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.update(version=0), "has format version 0; this version of paravec reads 1 to 2"),
        (lambda a: a.update(version=3, paravec="9.1"), r"version 3; .* written by paravec 9\.1, which is newer"),
        (lambda a: a.update(version=True), "has format version True"),
        (lambda a: a.update(version="1"), "has format version '1'"),
        (lambda a: a.pop("version"), "has format version None"),
        (lambda a: a.update(format="paravec corpus"), "does not describe a paravec model"),
        (lambda a: a["settings"].update(flux=1), "has the setting 'flux', which this version of paravec does not know"),
        (lambda a: a["settings"].update(vector_size=2**31 - 1), "is float32 of shape"),
        (lambda a: a["settings"].update(vector_size=2**80), "is no number that could be meant"),
        (lambda a: a["settings"].update(vector_size=2**40), "vector_size=.* is too large"),
        (lambda a: a["settings"].update(vector_size=-1), "vector_size=-1"),
        (lambda a: a["settings"].update(vector_size=[4]), "vector_size"),
        (lambda a: a["settings"].update(model="dm+dm"), "model='dm[+]dm' is not one of"),
        (lambda a: a["settings"].update(model=["dbow"]), "damaged"),
        (lambda a: a["settings"].update(model="../../etc"), "is not one of"),
        (lambda a: a["settings"].update(tokenizer="os.system"), "tokenizer='os.system' is not one of"),
        (lambda a: a["settings"].update(n_jobs=2**31 - 1), "n_jobs=.* is beyond any use"),
        (lambda a: a.update(settings=[]), "damaged"),
        (lambda a: a.pop("settings"), "damaged"),
        (lambda a: a.update(seed=-1), "seed is -1"),
        (lambda a: a.update(seed=2**64), "seed is 18446744073709551616"),
        (lambda a: a.update(seed="0"), "seed is '0'"),
        (lambda a: a["corpus"].update(n_documents=2**62), "is float32 of shape"),
        (lambda a: a["corpus"].update(n_documents=-1), "n_documents is -1"),
        (lambda a: a["corpus"].update(n_documents=1e300), "n_documents is 1e[+]300"),
        (lambda a: a["corpus"].update(n_documents=0), "n_documents is 0"),
        (lambda a: a.update(corpus=None), "damaged"),
        (lambda a: a.update(corpus=[]), "damaged: it does not tell the corpus"),
        (lambda a: a.update(n_words=2**62), "expected"),
        (lambda a: a.update(n_ngrams=0), "'prefix', which does not belong there|expected"),
        (lambda a: a.update(integer_words=True), "expected"),
        (lambda a: a.update(integer_ids=True), "expected"),
        (lambda a: a.update(documents="yes"), "documents is 'yes'"),
        (lambda a: a.update(first_number=-3), "first_number is -3"),
        (lambda a: a.update(identity="0" * 16), "belongs to another model"),
        (lambda a: a.update(crc32={}), "damaged"),
        (lambda a: a.update(crc32={"../../../../etc/passwd": "00000000"}), "damaged"),
        (lambda a: a.update(loss_history={"dbow": ["x"]}), "history of losses is none"),
        (lambda a: a.update(loss_history={"../dbow": []}), "history of losses is none"),
        (lambda a: a.update(loss_history=7), "damaged"),
        (lambda a: a.update(loss_history={"dbow": [10**400]}), "is no number that could be meant"),
        (lambda a: a.pop("unicode"), "damaged"),
    ],
)  # fmt: skip
def test_a_settings_file_that_lies(model, change, message):
    change_settings(model, change)
    refused(model, message)


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe{}", b'{"format": NaN}', b"[" * 100_000, b'{"a":' * 100_000,
        b'{"format": "paravec model", "version": 1e999}', b'{"format": "paravec model", "version": 1, "seed": 1e999}',
        b'{"format": "paravec model", "version": 1, "seed": ' + b"9" * 5000 + b"}",
        b" " * (1 << 24) + b"{}",
    ],
    ids=lambda text: repr(text[:20]) + str(len(text)),
)  # fmt: skip
def test_a_settings_file_that_is_none(model, text):
    (model / "settings.json").write_bytes(text)
    refused(model, "settings.json|damaged|format version")


HEADERS = {
    "huge length": struct.pack("<Q", 2**64 - 1),
    "length of 4 GB": struct.pack("<Q", 2**32) + b"{}" + b" " * 100,
    "overflowing shape": {"outputs": {"dtype": "F32", "shape": [2**62, 2**62], "data_offsets": [0, 0]}},
    "negative shape": {"outputs": {"dtype": "F32", "shape": [-1, 4], "data_offsets": [0, 0]}},
    "negative offset": {"outputs": {"dtype": "F32", "shape": [1, 4], "data_offsets": [-16, 0]}},
    "offsets turned round": {"outputs": {"dtype": "F32", "shape": [1, 4], "data_offsets": [16, 0]}},
    "beyond the end": {"outputs": {"dtype": "F32", "shape": [2**40, 4], "data_offsets": [0, 2**44]}},
    "a path as a name": {"../../outputs": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}},
    "a pickle as a type": {"outputs": {"dtype": "O", "shape": [0], "data_offsets": [0, 0]}},
    "metadata of lists": {"__metadata__": {"identity": ["x"]}},
}


@pytest.mark.parametrize("file", FILES["dbow"][1:])
@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_lie(model, file, header):
    content = HEADERS[header]
    if isinstance(content, dict):
        text = json.dumps(content).encode()
        content = struct.pack("<Q", len(text)) + text
    (model / file).write_bytes(content)
    refused(model, file)


@pytest.mark.parametrize("file", FILES["dbow"])
def test_symbolic_links_pipes_devices_and_folders_in_place_of_files(originals, model, file):
    path = model / file
    path.unlink()
    path.symlink_to(originals / "dbow" / file)  # even to what would be right
    refused(model, "it is a symbolic link, a folder, a pipe or a device")
    path.unlink()
    path.symlink_to("/dev/zero")
    refused(model, "it is a symbolic link, a folder, a pipe or a device")
    path.unlink()
    os.mkfifo(path)
    refused(model, "it is a symbolic link, a folder, a pipe or a device")
    path.unlink()
    path.mkdir()
    refused(model, "it is a symbolic link, a folder, a pipe or a device")


def test_a_half_that_is_a_link_to_elsewhere(originals, tmp_path):
    model = Path(shutil.copytree(originals / "both", tmp_path / "model"))
    shutil.rmtree(model / "dm")
    (model / "dm").symlink_to(originals / "both" / "dm")
    refused(model, "dm is a symbolic link")


def test_document_vectors_that_are_no_numbers_are_seen_when_they_are_used(model):
    arrays, metadata = tensors.read(model / "documents.safetensors")
    documents = np.array(arrays["documents"])
    documents[5, 1] = np.nan
    tensors.write(model / "documents.safetensors", {"documents": documents}, metadata)
    fitted = ParagraphVector.load(model)
    assert fitted.transform(["the cat sat"]).any()
    with pytest.raises(ModelFormatError, match="the vector of document 5 holds NaN or infinity"):
        fitted.similar("the cat sat")


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a["ids_rows"].__setitem__(slice(None), 10**12),
        lambda a: a["ids_rows"].__setitem__(slice(None), -1),
        lambda a: a["ids_keys"].__setitem__(slice(None), a["ids_keys"][::-1].copy()),
        lambda a: a["ids_offsets"].__setitem__(slice(1, -1), 2**61),
        lambda a: a["ids_offsets"].__setitem__(slice(1, -1), -(2**61)),
        lambda a: a["ids"].__setitem__(slice(None), 0xFF),
    ],
)
def test_ids_and_an_index_that_lie_lead_to_an_error_or_to_no_document(model, change):
    change_arrays_unchecked(model, "ids.safetensors", change)
    try:
        fitted = store.load(model)
    except ModelFormatError:
        return
    documents = fitted.known_documents()
    for work in (lambda: documents.row("id 3"), lambda: fitted.similar("the cat sat", 12), lambda: list(documents.ids)):
        with contextlib.suppress(KeyError, ValueError):
            work()


def change_arrays_unchecked(model: Path, file: str, change) -> None:
    arrays, metadata = tensors.read(model / file)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays)
    tensors.write(model / file, arrays, metadata)


BOMBS = """
import json, resource, struct, sys
from pathlib import Path
from paravec import ModelFormatError, store
store.load(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model, files = Path(sys.argv[1]), {}
for path in model.rglob("*.*"):
    files[path] = path.read_bytes()
bombs = [struct.pack("<Q", n) + b"{" for n in (2**64 - 1, 2**40, 2**33)]
for shape in ([2**40], [2**31, 2**31], [0, 2**62]):
    text = json.dumps({"outputs": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    bombs.append(struct.pack("<Q", len(text)) + text)
sizes = [(["corpus", "n_documents"], 2**62), (["settings", "vector_size"], 2**31 - 1)]
sizes += [(["n_words"], 2**62), (["n_ngrams"], 2**40)]
tried = 0
for path, whole in files.items():
    for bomb in bombs:
        path.write_bytes(bomb)
        try:
            store.load(model)
        except ModelFormatError:
            tried += 1
    path.write_bytes(whole)
settings = model / "settings.json"
for keys, size in sizes:
    about = json.loads(files[settings])
    inner = about
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = size
    settings.write_text(json.dumps(about))
    try:
        store.load(model)
    except ModelFormatError:
        tried += 1
print(tried, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_no_lie_about_sizes_takes_memory(model):
    done = subprocess.run([sys.executable, "-c", BOMBS, model], capture_output=True, text=True, check=True)
    tried, kilobytes = map(int, done.stdout.split())
    assert tried == 5 * 6 + 4
    assert kilobytes < 30_000


def test_random_bytes_anywhere_give_a_model_or_the_error(originals, tmp_path):
    chance = random.Random(2)
    model = Path(shutil.copytree(originals / "both", tmp_path / "model"))
    files = list(model.rglob("*.*"))
    for _ in range(400):
        path = chance.choice(files)
        whole = path.read_bytes()
        changed = bytearray(whole)
        for _ in range(chance.choice((1, 1, 3, 20))):
            at = chance.randrange(min(len(changed), chance.choice((40, 400, len(changed)))))
            kind = chance.randrange(3)
            if kind == 0:
                changed[at] = chance.randrange(256)
            elif kind == 1:
                del changed[at : at + chance.randrange(1, 9)]
            else:
                changed[at:at] = chance.randbytes(chance.randrange(1, 9))
        path.unlink()
        path.write_bytes(changed)
        with contextlib.suppress(ModelFormatError, UserWarning, KeyError):
            store.load(model).similar("the cat sat")
        path.unlink()
        path.write_bytes(whole)
