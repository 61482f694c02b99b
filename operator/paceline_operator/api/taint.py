"""Taints: marks that keep work, leadership or all use away from a runner."""

from typing import Annotated, Literal

from paceline_operator.api.schema import ApiModel, shaped

TaintEffect = Literal["NoClaim", "PreferNoClaim", "NoLead", "Drain"]

TaintKey = Annotated[
    str,
    shaped(
        "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$",
        "taints[].key must be a name like gpu or example.com/gpu: use 1 to 63 letters, digits, '-', '_' "
        "and '.', with a letter or digit at both ends, after an optional DNS prefix and '/'",
        max_length=317,
    ),
]

TaintValue = Annotated[
    str,
    shaped(
        "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
        "taints[].value must be empty or begin and end with a letter or digit: use letters, digits, '-', '_' and '.'",
        max_length=63,
    ),
]


class Taint(ApiModel):
    """A mark on a runner, written key=value:Effect where it is one string."""

    key: TaintKey
    """Name of the taint, for example gpu or example.com/gpu. A key may appear once with each effect."""

    value: TaintValue = ""
    """Value of the taint, compared with a job's toleration. Default: empty."""

    effect: TaintEffect
    """What the taint does. NoClaim: the runner claims only jobs that tolerate it. PreferNoClaim: it leaves
    other jobs to other runners until they are 5 seconds old. NoLead: it is never elected leader. Drain: it
    finishes its jobs, gives up its pod and is replaced; removing the taint brings it back."""
