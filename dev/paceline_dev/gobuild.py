"""Runs `go` on the pinned modules: the same flags for everybody, progress by line, a failure as one line."""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from paceline_dev.errors import DevError

PINS = Path(__file__).parent / "pins"
KUBERNETES_VERSION = "v1.36.4"


@dataclass(frozen=True, slots=True)
class Module:
    """A folder of `pins`, and the module in Go's cache that tells whether its dependencies are there."""

    name: str
    root: str
    download: int
    """Bytes that its modules take in GOMODCACHE: archives and unpacked, measured from empty."""
    pins: Path = PINS
    """The folder that holds it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A program, and the package that it is built from."""

    name: str
    module: Module
    package: str


ETCD = Module("etcd", "go.etcd.io/etcd/server/v3@v3.6.8", 250 * 2**20)
KUBERNETES = Module("kubernetes", f"k8s.io/kubernetes@{KUBERNETES_VERSION}", 600 * 2**20)


def _kubernetes(*names: str) -> tuple[Program, ...]:
    return tuple(Program(name, KUBERNETES, f"k8s.io/kubernetes/cmd/{name}") for name in names)


(KUBECTL,) = _kubernetes("kubectl")
PROGRAMS = (
    Program("etcd", ETCD, "paceline.dev/pins/etcd"),
    *_kubernetes("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
    KUBECTL,
)
"""Those of a control plane."""
NODE_PROGRAMS = _kubernetes("kubeadm", "kubelet", "kube-proxy")
"""What a real node needs beside them, of the same version because from the same module."""

# Measured for the five from empty caches: 2,960 packages left 3,171 MiB in GOCACHE, and while kube-apiserver was
# built its 1,802 packages took 2,034 MiB in go's temporary folder as well.
BYTES_PER_PACKAGE = 1_200_000
# The largest, kube-apiserver, has 105 MB.
BYTES_PER_PROGRAM = 110 * 2**20

_MAJOR, _MINOR, _ = KUBERNETES_VERSION.removeprefix("v").split(".")
_STAMPS = {
    "gitVersion": KUBERNETES_VERSION,
    "gitMajor": _MAJOR,
    "gitMinor": _MINOR,
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",  # fixed: the same pins give the same bytes
}
_LDFLAGS = " ".join(["-s -w", *(f"-X k8s.io/component-base/version.{k}={v}" for k, v in _STAMPS.items())])
COMPILE_FLAGS = ("-mod=readonly", "-trimpath")
LINK_FLAGS = (f"-ldflags={_LDFLAGS}",)

# What the user may have set for his own builds and must not leak into this one. GOROOT: go finds its own.
_DROPPED = {"GOROOT", "GOEXPERIMENT", "GOFIPS140"}
_HARMLESS_GOFLAGS = re.compile(r"-modcacherw|-p=\d+")
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def build_settings() -> dict[str, str]:
    """Environment that decides what comes out of the build."""
    machine = platform.machine().lower()
    return {
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GO111MODULE": "on",
        "GOWORK": "off",
        "GOOS": platform.system().lower(),
        "GOARCH": _ARCHITECTURES.get(machine, machine),
        "GOAMD64": "v1",
        "GOARM64": "v8.0",
    }


def build_key(pins: Path | None = None) -> str:
    """The same pins, flags and platform have the same key; anything else another."""
    pins = pins or PINS
    digest = hashlib.sha256()
    for file in sorted(pins.rglob("*")):
        if file.is_file():
            digest.update(f"{file.relative_to(pins)}\0".encode() + file.read_bytes() + b"\0")
    digest.update(repr((COMPILE_FLAGS, LINK_FLAGS, sorted(build_settings().items()))).encode())
    return digest.hexdigest()[:16]


class GoBuild:
    """One go, at work in a private folder with a copy of the pins and go's own temporary files."""

    def __init__(self, go: Path, work: Path, logs: Path, pins: Path | None = None) -> None:
        self._go = go
        self._way_out = "" if pins else ASSETS_WAY_OUT
        self._work = work
        self._logs = logs
        # A build that was killed left its temporary files (up to 2 GB) here; its go may still be dying in it.
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(pins or PINS, work / "pins", dirs_exist_ok=True)
        (work / "tmp").mkdir(exist_ok=True)
        logs.mkdir(exist_ok=True)

    def caches(self) -> tuple[Path, Path]:
        """GOCACHE and GOMODCACHE, as go sees them."""
        lines: list[str] = []
        self._run(["env", "GOCACHE", "GOMODCACHE"], "", "env", lines.append)
        objects, modules = (Path(line) for line in lines if not line.startswith("go: "))  # a warning
        return objects, modules

    def stale_packages(self, programs: Iterable[Program], downloading: Callable[[str], None] = lambda _: None) -> int:
        """How many packages `go build -v` will name, after a download of the modules that are missing.

        Staleness costs 0.3 s more than a bare list, and makes the count exact when Go's cache is half full.
        """
        wanted = list(programs)
        stale = 0

        def count(line: str) -> None:
            nonlocal stale
            if line.startswith("go: downloading "):
                downloading(line.removeprefix("go: downloading "))
            elif line and not line.startswith("go: "):
                stale += 1

        module = wanted[0].module
        flags = ["-deps", *COMPILE_FLAGS, "-f", "{{if .Stale}}{{.ImportPath}}{{end}}"]
        packages = [program.package for program in wanted]
        self._run(["list", *flags, *packages], module.name, f"{module.name}-modules", count)
        return stale

    def build(self, program: Program, output: Path, compiling: Callable[[str], None]) -> None:
        """Compile and link to `output`."""

        def show(line: str) -> None:
            compiling("linking" if line == program.package else line)

        flags = ["-v", *COMPILE_FLAGS, *LINK_FLAGS, "-o", str(output)]
        self._run(["build", *flags, program.package], program.module.name, program.name, show)

    def module_folder(self, module: Module) -> Path:
        """Where the module itself is unpacked in Go's cache, downloaded first if it is not."""
        lines: list[str] = []
        path = module.root.partition("@")[0]
        self._run(["mod", "download", "-json", path], module.name, f"{module.name}-module", lines.append)
        found = json.loads("\n".join(line for line in lines if not line.startswith("go: ")))
        return Path(found["Dir"])

    def close(self) -> None:
        """Remove the work folder."""
        shutil.rmtree(self._work, ignore_errors=True)

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in _DROPPED}
        flags = [flag for flag in kept.get("GOFLAGS", "").split() if _HARMLESS_GOFLAGS.fullmatch(flag)]
        return {
            **kept,
            **build_settings(),
            "GOFLAGS": " ".join(["-buildvcs=false", *flags]),
            "GOTMPDIR": str(self._work / "tmp"),
        }

    def _run(self, arguments: list[str], module: str, log_name: str, seen: Callable[[str], None]) -> None:
        """Run go and hand over each line that it writes, which also goes to a log.

        Should this process be killed, go dies of SIGPIPE at its next line: nobody reads it any more.
        """
        log = self._logs / f"{log_name}.log"
        with (
            log.open("w") as written,
            subprocess.Popen(
                [self._go, *arguments],
                cwd=self._work / "pins" / module,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    written.write(line)
                    seen(line.rstrip())
            except BaseException:
                process.kill()
                raise
        if process.returncode != 0:
            raise explain_failure(f"go {arguments[0]}", process.returncode, log, self._way_out)


_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_NETWORK = re.compile(
    r"dial tcp|dial udp|no such host|i/o timeout|TLS handshake timeout|connection (?:refused|reset)"
    r"|proxyconnect|network is unreachable|context deadline exceeded|Client\.Timeout|unexpected EOF|x509:"
    r"|module lookup disabled by GOPROXY=off|(?<=: )(?:403|407|429|5\d\d) [A-Z]"
)
_MODULE = re.compile(r"([\w.~-]+(?:/[\w.~-]+)+@v[\w.+-]+)")
_DOWNLOADING = re.compile(r"^go: downloading (\S+) (\S+)$", re.MULTILINE)
ASSETS_WAY_OUT = f", or set KUBEBUILDER_ASSETS to a folder with {', '.join(program.name for program in PROGRAMS)}"
_NOISE = re.compile(r"\S*|go: downloading .*|# \S+|note: .*|.*too many errors")


def explain_failure(command: str, status: int, log: Path, way_out: str = ASSETS_WAY_OUT) -> DevError:
    """One line for a go that failed: what was missing, and what to do."""
    output = log.read_text()
    if _FULL.search(output):
        return DevError(
            f"{command} failed, no space left on the device: free some space, or point PACELINE_CACHE, "
            f"GOCACHE and GOMODCACHE at a larger disk (full log: {log})"
        )
    for line in output.splitlines():
        if match := _NETWORK.search(line):
            return DevError(
                f"the Go module proxy could not be reached for {_module_in(line, output)} "
                f"({line[match.start() :][:120]}): check the network or GOPROXY{way_out}"
            )
    if status < 0:
        return DevError(f"{command} was killed by signal {-status}, memory may be short (full log: {log})")
    said = [line.strip() for line in output.splitlines() if not _NOISE.fullmatch(line)]
    return DevError(f"{command} failed: {said[-1] if said else f'exit status {status}'} (full log: {log})")


def _module_in(line: str, output: str) -> str:
    """The module that a failed download was for."""
    if match := _MODULE.search(line):
        return match[1]
    started = _DOWNLOADING.findall(output)
    return "@".join(started[-1]) if started else "a module"
