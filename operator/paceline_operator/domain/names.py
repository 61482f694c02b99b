"""Names and labels of what belongs to a group. None is drawn by lot: whoever makes one twice makes the same one."""

import hashlib
from typing import Final

from paceline_operator.api.v1alpha1 import GROUP

CLEANUP: Final = f"{GROUP}/cleanup"
"""The finalizer of a RunnerGroup. kopf's own must have another name, or kopf would take ours away."""

LABEL_GROUP: Final = f"{GROUP}/group"
LABEL_RUNNER: Final = f"{GROUP}/runner"
LABEL_REVISION: Final = f"{GROUP}/revision"
LABEL_LEADER: Final = f"{GROUP}/leader"
"""On the pod that leads its group."""

PAUSED: Final = f"{GROUP}/paused"
TAINTS: Final = f"{GROUP}/taints"
DRAIN: Final = f"{GROUP}/drain"
RESTARTED_AT: Final = f"{GROUP}/restartedAt"
"""On a group: all its runners are restarted when it changes; on a Runner: that one."""
ROLLOUT_PAUSED: Final = f"{GROUP}/rollout-paused"
WATCHED_SINCE: Final = f"{GROUP}/watched-since"
"""On a ControllerRevision: when its canary had come to work."""

RUNNER_CONTAINER: Final = "runner"
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""No vowels: no words by chance. What Kubernetes' own generated names are made of."""
_SUFFIX: Final = 5
_STEP: Final = 8_837_509
"""No multiple of 3, as 27 to the fifth is: counting by it meets every suffix once."""


def selector(group: str) -> str:
    """The label selector of what belongs to a group."""
    return f"{LABEL_GROUP}={group}"


def runner_name(group: str, uid: str, number: int) -> str:
    """The name of a group's nth Runner. Its letters look random, and the first 14 million of a group all differ."""
    offset = int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8])
    rest, letters = (number * _STEP + offset) % len(_ALPHABET) ** _SUFFIX, ""
    for _ in range(_SUFFIX):
        rest, letter = divmod(rest, len(_ALPHABET))
        letters += _ALPHABET[letter]
    return f"{group}-{letters}"


def pod_name(runner: str, boot: int) -> str:
    """A pod is its Runner's nth: a restart never meets the name of its predecessor."""
    return f"{runner}-{boot}"


def boot_of(pod: str, runner: str) -> int:
    """The number in a pod's name; 0 for a name that is not ours."""
    number = pod.removeprefix(f"{runner}-")
    return int(number) if number.isdecimal() and number.isascii() else 0


def budget_name(group: str) -> str:
    """The PodDisruptionBudget of a group."""
    return group


def revision_name(group: str, revision: str) -> str:
    """The ControllerRevision that keeps a revision of a group."""
    return f"{group}-{revision}"
