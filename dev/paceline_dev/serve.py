"""A control plane for the hands: `python -m paceline_dev control-plane` runs one until Ctrl-C."""

import signal
import sys

from paceline_dev.binaries import find_binaries
from paceline_dev.cache import cache_root, locked
from paceline_dev.control_plane import ControlPlane
from paceline_dev.errors import DevError
from paceline_dev.progress import stderr_reporter


def serve(port: int | None) -> None:
    """Run one control plane; a second one on this cache is refused by name."""
    report = stderr_reporter()
    binaries = find_binaries(report)
    folder = cache_root() / "control-plane"
    kubeconfig = folder / "kubeconfig"

    def refuse(line: str) -> None:
        raise DevError(f"a control plane runs already ({line}): use it with KUBECONFIG={kubeconfig}, or stop it")

    with locked(folder.with_suffix(".lock"), refuse):
        for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job would ignore Ctrl-C otherwise
            signal.signal(number, lambda *_: sys.exit(0))
        with report.task("starting etcd, API server, controller manager and scheduler"):
            plane = ControlPlane.start(binaries, folder=folder, port=port)
        with plane:
            sys.stdout.write(f"export KUBECONFIG={kubeconfig}\nexport PATH={binaries.folder}:$PATH\n")
            sys.stdout.flush()
            report.line(f"{plane.url} is ready; Ctrl-C ends it")
            signal.pause()
