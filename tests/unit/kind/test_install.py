"""What is installed is what the install page applies, with a mark that rolls the operators when their image changes."""

import json
import os
from pathlib import Path

import pytest

from paceline_dev import REPOSITORY
from paceline_dev.kind.install import install
from paceline_dev.kubectl import Kubectl

KUBECTL = """#!/bin/sh
here=$(dirname "$0")
[ "$1" != apply ] || { cat "$3/kustomization.yaml" > "$here/applied"; echo "$3" > "$here/folder"; }
"""


def test_the_manifests_are_ours_and_name_the_build_of_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, script in (("kubectl", KUBECTL), ("docker", "#!/bin/sh\necho sha256:c0ffee\n")):
        (tmp_path / name).write_text(script)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    install(Kubectl(tmp_path / "kubectl", tmp_path / "kubeconfig"))
    applied = json.loads((tmp_path / "applied").read_text())
    (where,) = applied["resources"]
    folder = (tmp_path / "folder").read_text().strip()
    assert os.path.normpath(f"{folder}/{where}") == str(REPOSITORY / "manifests" / "cluster-wide")
    (patch,) = applied["patches"]
    (mark,) = json.loads(patch["patch"])
    assert mark["path"] == "/spec/template/metadata/annotations"
    assert list(mark["value"].values()) == ["sha256:c0ffee"]
