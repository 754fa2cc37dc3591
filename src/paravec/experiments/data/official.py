"""What all loaders share: where a data set is published, and what is said when it is not there."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from paravec.errors import SourceError


@dataclass(frozen=True)
class Official:
    """A data set: its name, the files that are expected, and where they are published."""

    name: str
    files: str
    url: str

    @property
    def told(self) -> str:
        """In a sentence about what is expected."""
        return f"expected {self.files} of the {self.name}, published at {self.url}"

    def there(self, path: Path) -> Path:
        """The path, if there is anything."""
        if not path.exists():
            raise SourceError(f"there is nothing at {path}; {self.told}")
        return path

    def refuse(self, path: Path, what: str) -> SourceError:
        """What is said of files that are others, or not whole."""
        return SourceError(f"{path} {what}; {self.told}")

    @contextmanager
    def reading(self, path: Path) -> Iterator[None]:
        """Says what is damaged, whoever finds it."""
        try:
            yield
        except (tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError) as error:
            raise self.refuse(path, f"is damaged, or no archive ({' '.join(str(error).split()):.120})") from error
        except UnicodeDecodeError as error:
            raise self.refuse(path, f"is not UTF-8 ({error.reason} at byte {error.start})") from error
        except OSError as error:
            raise self.refuse(path, f"cannot be read ({error})") from error
