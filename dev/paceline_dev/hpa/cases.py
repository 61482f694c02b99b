"""Asks the HPA of the pinned Kubernetes what it makes of random cases.

Its functions are not exported, so the package is copied from Go's module cache, and `golden.go` is put beside them.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from paceline_dev.gobuild import KUBERNETES, GoBuild, Program
from paceline_dev.golang import find_go
from paceline_dev.progress import Reporter

PACKAGE: Final = "pkg/controller/podautoscaler"
MAIN: Final = """package main

import (
	"os"

	"paceline.dev/pins/kubernetes/hpa"
)

func main() {
	if err := podautoscaler.WriteGolden(os.Stdout); err != nil {
		panic(err)
	}
}
"""


def write_golden(file: Path, report: Reporter) -> None:
    """Write the cases with their answers, one on each line."""
    with tempfile.TemporaryDirectory() as folder:
        build = GoBuild(find_go(report), Path(folder) / "work", Path(folder) / "logs")
        module = Path(folder) / "work" / "pins" / KUBERNETES.name
        _lay_out(module, build.module_folder(KUBERNETES) / PACKAGE)
        program = Path(folder) / "golden"
        build.build(Program(program.name, KUBERNETES, "paceline.dev/pins/kubernetes/golden"), program, report.line)
        file.write_bytes(subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout)


def _lay_out(module: Path, source: Path) -> None:
    (module / "hpa").mkdir()
    for each in source.glob("*.go"):
        if not each.name.endswith("_test.go"):
            shutil.copyfile(each, module / "hpa" / each.name)
    shutil.copyfile(Path(__file__).parent / "golden.go", module / "hpa" / "golden.go")
    (module / "golden").mkdir()
    (module / "golden" / "main.go").write_text(MAIN)
