"""Who asked what of the API server, from its own audit log: the honest count of an operator's writes and rights."""

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})

POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: None, nonResourceURLs: ["/*"]}
  - {level: Metadata, verbs: [create, update, patch, delete, deletecollection]}
  - {level: None, userGroups: ["system:serviceaccounts:kube-system"]}
  - {level: Metadata, userGroups: ["system:serviceaccounts"]}
  - {level: None}
"""
"""All writes; of reads only those of service accounts: four watching controllers and a node would drown them."""


@dataclass(frozen=True, slots=True)
class Write:
    """One request that the API server has answered; mostly a write."""

    user: str
    verb: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int
    dry_run: bool = False
    """It was checked like any other, and nothing was stored."""
    group: str = ""

    @property
    def rights(self) -> set[tuple[str, str, str]]:
        """What it takes to be allowed: verb, API group and resource. An apply that creates needs two."""
        verbs = {self.verb, "create"} if (self.verb, self.code) == ("patch", 201) else {self.verb}
        resource = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        return {(verb, self.group, resource) for verb in verbs}


class AuditLog:
    """The requests so far; each call reads the file anew, so it sees everything that has been answered."""

    def __init__(self, path: Path) -> None:
        """Read `path`, which the API server appends to before it answers."""
        self._path = path

    def writes(self, *, user: str | None = None, namespace: str | None = None) -> list[Write]:
        """All writes, or only those of one user or in one namespace, in the order of their answers."""
        found = (_parse(line) for line in self._lines())
        return [
            write
            for write in found
            if write.verb in WRITES
            and (user is None or write.user == user)
            and (namespace is None or write.namespace == namespace)
        ]

    def requests(self, account: str) -> list[Write]:
        """What a service account has asked for, reads too; a watch counts when it begins and when it ends."""
        return [each for each in map(_parse, self._lines()) if each.user == account]

    def _lines(self) -> list[str]:
        # the last piece is not whole while the server writes it
        return self._path.read_text().split("\n")[:-1] if self._path.exists() else []


def _parse(line: str) -> Write:
    event = json.loads(line)
    target = event.get("objectRef") or {}
    return Write(
        user=event["user"].get("username", ""),
        verb=event["verb"],
        resource=target.get("resource", ""),
        subresource=target.get("subresource", ""),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=(event.get("responseStatus") or {}).get("code", 0),
        dry_run="dryRun" in parse_qs(urlsplit(event.get("requestURI", "")).query),
        group=target.get("apiGroup", ""),
    )
