"""Debian packages without an installation: fetched by a private apt, unpacked into the cache.

The system's apt is only asked where its mirror is. Its lists, its state and its packages stay as they are.
"""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from paceline_dev.errors import DevError
from paceline_dev.kind.folders import made_once
from paceline_dev.kind.places import Places
from paceline_dev.progress import Reporter

SUITES = ("bookworm", "trixie")

# bookworm's own dockerd (20.10) cannot run privileged containers on current kernels, trixie's runc needs a newer libc.
PACKAGES = (
    "docker.io/trixie",
    "docker-cli/trixie",
    "containerd/trixie",
    "runc/bookworm",
    "debootstrap/bookworm",
    "iptables/bookworm",
    "libip4tc2/bookworm",
    "libip6tc2/bookworm",
    "libxtables12/bookworm",
    "libnftnl11/bookworm",
    "libnfnetlink0/bookworm",
    "libnetfilter-conntrack3/bookworm",
)
SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
ORIGINS = "$(REPO_URI) $(ORIGIN) $(LABEL)"


def packages_key(names: Sequence[str] | None = None) -> str:
    """The same list has the same key; a mirror's point releases do not matter to what is already unpacked."""
    return hashlib.sha256("\n".join(names or PACKAGES).encode()).hexdigest()[:12]


def unpacked(places: Places, report: Reporter) -> Path:
    """A folder with the files of all packages, laid out as on a root file system."""
    return fetched(packages_folder(places), PACKAGES, "the engine", report, _link_tools)


def fetched(
    place: Path, names: Sequence[str], purpose: str, report: Reporter, finish: Callable[[Path], None] | None = None
) -> Path:
    """`place` with the files of these packages (each `name/suite`), unpacked there once; `finish` has the last word."""

    def make(folder: Path) -> None:
        mirror = find_mirror()
        apt = folder / "apt"
        with report.task(f"fetching {len(names)} Debian packages for {purpose}") as task:
            environment = _private_apt(apt, mirror)
            _run(["apt-get", "update", "-qq"], environment, apt)
            task.advance("downloading")
            debs = apt / "debs"
            debs.mkdir()
            _run(["apt-get", "download", "-qq", *names], environment, debs)
            for deb in sorted(debs.glob("*.deb")):
                task.advance(deb.name.split("_")[0])
                _run(["dpkg", "-x", str(deb), str(folder)], environment, debs)
        (folder / "packages.txt").write_text("".join(f"{deb.name}\n" for deb in sorted(debs.glob("*.deb"))))
        shutil.rmtree(apt)
        if finish:
            finish(folder)

    return made_once(place, report, make)


def packages_folder(places: Places) -> Path:
    """Where they are, or will be."""
    return places.cache / "packages" / packages_key()


def _link_tools(folder: Path) -> None:
    """`bin/`: what a person puts on PATH, and the names under which dockerd looks for iptables."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "docker").symlink_to("../usr/bin/docker")
    for table in ("iptables", "ip6tables"):
        for action in ("", "-save", "-restore"):
            (tools / f"{table}{action}").symlink_to(f"../usr/sbin/{table}-nft{action}")


def tool_environment(packages: Path) -> dict[str, str]:
    """The environment in which the unpacked programs find each other, their libraries and no proxy of the user's."""
    libraries = sorted(packages.glob("usr/lib/*-linux-gnu*"))
    folders = [packages / "bin", packages / "usr/sbin", packages / "usr/bin", *map(Path, SYSTEM_PATH)]
    return {
        "PATH": os.pathsep.join(map(str, folders)),
        "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        "XTABLES_LIBDIR": os.pathsep.join(str(folder / "xtables") for folder in libraries),
        "HOME": os.environ.get("HOME", "/root"),
        "LC_ALL": "C",
    }


def find_mirror() -> str:
    """The address of the Debian mirror that this machine's own apt uses."""
    environment = {key: value for key, value in os.environ.items() if key != "APT_CONFIG"}
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", ORIGINS], env=environment, capture_output=True, text=True, check=False
    )
    mirror = choose_mirror(asked.stdout)
    if mirror is None:
        raise DevError(
            "apt on this machine knows no Debian mirror: add one to /etc/apt/sources.list.d and run apt-get update, "
            "or start a Docker engine and run this again"
        )
    if not KEYRING.is_file():
        raise DevError(f"{KEYRING} is missing: install the package debian-archive-keyring")
    return mirror


def choose_mirror(targets: str) -> str | None:
    """The first repository that says it is Debian's main archive; security and third parties are others."""
    for line in sorted(set(targets.splitlines())):
        address, *origin = line.split(" ")
        if origin == ["Debian", "Debian"] or (_unknown(origin) and address.rstrip("/").endswith("/debian")):
            return address.rstrip("/")
    return None


def _unknown(origin: Sequence[str]) -> bool:
    """Before the first `apt-get update` apt leaves the fields of the release as they are in the format."""
    return all(field.startswith("$(") for field in origin)


def _private_apt(folder: Path, mirror: str) -> Mapping[str, str]:
    """The environment of an apt that sees only this folder."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text("".join(f"deb [signed-by={KEYRING}] {mirror} {s} main\n" for s in SUITES))
    settings = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "APT::Sandbox::User": "root",  # the folder may be root's alone
    }
    (folder / "apt.conf").write_text("".join(f'{name} "{value}";\n' for name, value in settings.items()))
    return {**os.environ, "APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}


def _run(command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DevError(f"{' '.join(command[:2])} failed ({_reason(done.stderr)}): check apt's mirror and the network")


def _reason(said: str) -> str:
    errors = [line.removeprefix("E: ") for line in said.splitlines() if line.startswith("E: ")]
    return errors[0] if errors else (said.strip().splitlines() or ["it said nothing"])[-1]
