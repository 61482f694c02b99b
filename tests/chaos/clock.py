"""A wall clock that can be made to jump, for programs that are started with it; the machine's own never does."""

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


class Clock:
    """Compiled where there is a compiler; else nothing is changed, and `missing` says why."""

    def __init__(self, folder: Path) -> None:
        self._file, library = folder / "clock", folder / "clock.so"
        self._file.write_bytes(bytes(8))
        self.env: dict[str, str] = {}
        self.missing = ""
        compiler = shutil.which("cc")
        if compiler is None:
            self.missing = "there is no C compiler (cc)"
            return
        done = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", library, SOURCE, "-ldl"], capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if done.returncode != 0:
            self.missing = f"the library could not be compiled: {done.stderr[-200:]}"
        else:
            self.env = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self._file)}

    def jump(self, seconds: int) -> None:
        """Be off by so many seconds from now on."""
        file = os.open(self._file, os.O_WRONLY)
        try:
            os.pwrite(file, seconds.to_bytes(8, "little", signed=True), 0)
        finally:
            os.close(file)
