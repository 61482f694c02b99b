"""The file that a report is: a .tar.gz that only its owner can read, with a manifest that says what is in it."""

import io
import json
import os
import tarfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from paceline.errors import InvalidInputError

OWNERS_OWN: Final = 0o600


class Bundle:
    """Collects files; `with` writes them, and nothing stays behind of one that failed."""

    def __init__(self, path: Path) -> None:
        """Everything is below a folder of the file's own name."""
        self.path = path
        self._root = path.name.removesuffix(".tar.gz")
        self._half = path.with_name(f".{path.name}.half")
        self.files: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        if self.path.exists():
            raise InvalidInputError(f"{self.path} is there already: choose another name with --file, or remove it")
        try:
            held = os.open(self._half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWNERS_OWN)
        except OSError as error:
            raise InvalidInputError(
                f"{self.path} cannot be written: {error.strerror} (choose another --file)"
            ) from None
        self._stream = os.fdopen(held, "wb")
        self._archive = tarfile.open(fileobj=self._stream, mode="w:gz")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._archive.close()
        self._stream.close()
        if kind is None:
            self._half.rename(self.path)
        else:
            self._half.unlink(missing_ok=True)

    def add(self, name: str, data: bytes | str) -> None:
        """One file."""
        whole = data.encode() if isinstance(data, str) else data
        info = tarfile.TarInfo(f"{self._root}/{name}")
        info.size, info.mtime, info.mode = len(whole), int(time.time()), OWNERS_OWN
        self._archive.addfile(info, io.BytesIO(whole))
        self.files.append({"name": name, "bytes": len(whole)})

    def add_json(self, name: str, value: object) -> None:
        """One file of JSON."""
        self.add(name, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")
