"""Files and tables that the tests of sources write and read."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard
from hypothesis import HealthCheck, settings

from paravec.sources import read

PACK = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
TEXTS = ["the first", "", "dritte,\tZeile: äöü", 'two\nlines, "quoted"', "四"]
KEYS = ["a", "b", "c", "ä", "e"]
ROWS = [{"key": key, "text": text, "other": 1.5} for key, text in zip(KEYS, TEXTS, strict=True)]
TOKENS = [["a", "b"], [], ["ä"]]
anew = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def texts_of(source, **options):
    return [text for _, text in read(source, **options)]


def tar_of(files, **kinds):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            member.type = kinds.get(name, tarfile.REGTYPE)
            member.linkname = "elsewhere" if name in kinds else ""
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def zip_of(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def write_files(folder, files):
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return folder


def jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def separated(rows, dialect="excel"):
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), dialect=dialect)
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def parquet(table, **options):
    out = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pylist(table), out, **options)
    return out.getvalue()


def ipc(table, writer=pa.ipc.new_file, **options):
    out = io.BytesIO()
    table = table if isinstance(table, pa.Table) else pa.Table.from_pylist(table)
    with writer(out, table.schema, **options) as file:
        file.write_table(table, max_chunksize=2)
    return out.getvalue()


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
