"""What the restricted pod security standard asks for, filled in where the template says nothing.

What it does say stays, also what the standard forbids: whether that may run is for the namespace to decide. Nothing is
filled in that the API server would refuse beside it, nor what would keep a container from starting that was asked to
run as root.
"""

from typing import Final, cast

from paceline_operator.api.schema import JsonDict

CONTEXT: Final = "securityContext"
NEED_ESCALATION: Final = {"SYS_ADMIN", "CAP_SYS_ADMIN"}
"""Capabilities that the API server refuses beside `allowPrivilegeEscalation: false`."""


def restrict_pod(spec: JsonDict) -> None:
    """What holds for all containers; sidecars have to say the rest themselves."""
    if (context := _context(spec)) is not None:
        spec[CONTEXT] = {"seccompProfile": {"type": "RuntimeDefault"}, **context}


def restrict_runner(container: JsonDict, spec: JsonDict) -> None:
    """What holds for the runner. Its own word counts before its pod's."""
    context = _context(container)
    if context is None:
        return
    filled: JsonDict = {}
    said = {**(_context(spec) or {}), **context}
    if "runAsNonRoot" not in said and said.get("runAsUser") != 0:
        filled["runAsNonRoot"] = True
    if not _is_privileged(context):
        filled |= {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container[CONTEXT] = {**filled, **context}


def _context(of: JsonDict) -> JsonDict | None:
    """What the template says; None if that is no object, which is left for the API server to refuse."""
    found = of.get(CONTEXT)
    if found is None:
        return {}
    return found if isinstance(found, dict) else None


def _is_privileged(context: JsonDict) -> bool:
    capabilities = context.get("capabilities")
    added = capabilities.get("add") if isinstance(capabilities, dict) else None
    return context.get("privileged") is True or not NEED_ESCALATION.isdisjoint(cast(list[str], added or []))
