"""The shipped rights for an operator of another name: its Lease is called after it, and it may write no other."""

from typing import Final

from paceline_dev import REPOSITORY
from paceline_dev.errors import DevError

RBAC: Final = REPOSITORY / "manifests" / "base" / "rbac.yaml"
NAMED: Final = "resourceNames: [paceline-operator]"


def rights_of(install: str) -> str:
    """Roles and service account, for `kubectl apply -f -`."""
    text = RBAC.read_text()
    if text.count(NAMED) != 1:
        raise DevError(f"{RBAC.relative_to(REPOSITORY)} does not say once: {NAMED}")
    return text.replace(NAMED, f"resourceNames: [{install}-operator]")
