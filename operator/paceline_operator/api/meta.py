"""The parts of Kubernetes' own object model that an operator reads and writes: metadata and conditions."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, Field

from paceline_operator.api.schema import ApiModel


def _whole_seconds(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(microsecond=0)


Timestamp = Annotated[AwareDatetime, AfterValidator(_whole_seconds)]
"""UTC in whole seconds, as Kubernetes writes it: what is read back equals what was written."""


class OwnerReference(ApiModel):
    """An object that this one belongs to."""

    api_version: str
    """Group and version of the owner."""

    kind: str
    """Kind of the owner."""

    name: str
    """Name of the owner, in the same namespace."""

    uid: str
    """UID of the owner: an object of the same name that came later is another one."""

    controller: bool = False
    """Whether the owner is the one that manages this object."""


class ObjectMeta(ApiModel):
    """What the operator needs of an object's metadata; the CRDs leave it to the API server."""

    name: str
    """Name of the object, unique in its namespace."""

    namespace: str = ""
    """Namespace of the object; empty only in a manifest that was not applied yet."""

    uid: str = ""
    """Given by the API server, never reused."""

    resource_version: str = ""
    """Changes with every write; opaque."""

    generation: int = 0
    """Changes with every change of the spec."""

    labels: dict[str, str] = Field(default_factory=dict)
    """Labels, for selectors."""

    annotations: dict[str, str] = Field(default_factory=dict)
    """Annotations: the user's levers are here."""

    finalizers: tuple[str, ...] = ()
    """Who must agree before the object goes."""

    owner_references: tuple[OwnerReference, ...] = ()
    """The objects that this one belongs to."""

    creation_timestamp: Timestamp | None = None
    """When the object was created."""

    deletion_timestamp: Timestamp | None = None
    """When its deletion was asked for; unset while it is to stay."""


class Condition(ApiModel):
    """One thing that is true, false or unknown about the object, since when and why."""

    type: str = Field(
        max_length=316,
        pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
    )
    """What the condition is about, for example Ready."""

    status: Literal["True", "False", "Unknown"]
    """True, False or Unknown."""

    observed_generation: int | None = Field(default=None, ge=0)
    """The metadata.generation that was looked at. If it is older than the object, the condition is out of
    date."""

    last_transition_time: Timestamp
    """When the status last changed from one value to another."""

    reason: str = Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")
    """One word for programs: why the condition has this status. The reasons are documented and stable."""

    message: str = Field(max_length=32768)
    """A sentence for people: what was found, and what to do about it. May be empty."""
