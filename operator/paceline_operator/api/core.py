"""The parts of Kubernetes' own objects that the operator reads: pods and nodes.

Only what a decision needs is named here; the rest of each object is skipped.
"""

from pydantic import Field

from paceline_operator.api.meta import ObjectMeta, Timestamp
from paceline_operator.api.schema import ApiModel


class CoreCondition(ApiModel):
    """A condition of a pod or a node; older writers leave out what newer ones require."""

    type: str
    status: str = "Unknown"
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None


class Waiting(ApiModel):
    """Why a container has not started."""

    reason: str = ""
    message: str = ""


class Terminated(ApiModel):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(ApiModel):
    """One of these is set; none while nothing is known."""

    waiting: Waiting | None = None
    terminated: Terminated | None = None


class ContainerStatus(ApiModel):
    """What the kubelet last saw of a container."""

    name: str
    state: ContainerState = ContainerState()


class PodSpec(ApiModel):
    """Where a pod runs."""

    node_name: str = ""


class PodStatus(ApiModel):
    """What the kubelet last saw of a pod."""

    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    conditions: tuple[CoreCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(ApiModel):
    """A pod."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = Field(default_factory=PodStatus)


class NodeSpec(ApiModel):
    """Whether a node takes new pods."""

    unschedulable: bool = False


class NodeStatus(ApiModel):
    """How a node is."""

    conditions: tuple[CoreCondition, ...] = ()


class Node(ApiModel):
    """A node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = Field(default_factory=NodeStatus)
