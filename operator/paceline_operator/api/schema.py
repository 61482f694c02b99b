"""What every API model shares: how it is read, and the words of Kubernetes that JSON Schema does not have.

The operator reads objects through these models, and the CRDs are generated from them. What only the API
server understands (CEL rules, list types, printer columns) is written beside the field that it belongs to.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

VALIDATIONS = "x-kubernetes-validations"
PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"

JsonDict = dict[str, JsonValue]

FreeForm = Annotated[JsonDict, WithJsonSchema({"type": "object", PRESERVE_UNKNOWN: True})]
"""An object that stays as it was written: the API server neither prunes nor checks what is inside."""


class ApiModel(BaseModel):
    """Reads camelCase, cannot be changed, and skips what a newer version has added."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        frozen=True,
        use_attribute_docstrings=True,
    )


def rule(cel: str, message: str, *, field: str = "") -> JsonDict:
    """One check by the API server; `field` is where the error shall point, seen from the rule's place."""
    entry: JsonDict = {"rule": cel, "message": message}
    if field:
        entry["fieldPath"] = field
    return entry


def checked(*rules: JsonDict) -> JsonDict:
    """Rules in the form that `json_schema_extra` takes, for a field or for a whole model."""
    return {VALIDATIONS: [*rules]}


def shaped(pattern: str, message: str, *, max_length: int) -> FieldInfo:
    """A string with a regular expression, which the API server explains in words.

    A plain `pattern` is refused with "should match '^([a-z0-9]…", which shows nobody the way out; so the CRD
    gets a rule with a message in its place. Python still checks the pattern.
    """

    def explain(schema: JsonDict) -> None:
        del schema["pattern"]
        schema.update(checked(rule(f"self.matches('{pattern}')", message)))

    field: FieldInfo = Field(pattern=pattern, max_length=max_length, json_schema_extra=explain)
    return field


def list_map(*keys: str) -> JsonDict:
    """A list whose items are told apart by these fields, so that each writer can own its items."""
    return {LIST_TYPE: "map", LIST_MAP_KEYS: [*keys]}


def list_set() -> JsonDict:
    """A list that holds each value once."""
    return {LIST_TYPE: "set"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`."""

    name: str
    path: str
    description: str
    type: Literal["string", "integer", "number", "boolean", "date"] = "string"
    wide: bool = False
    """Only shown by `-o wide`."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Where the scale subresource reads and writes, so that `kubectl scale`, an HPA and KEDA work."""

    spec_replicas: str
    status_replicas: str
    selector: str


@dataclass(frozen=True, slots=True)
class Resource:
    """How the API server serves one kind: its names, and what kubectl can do with it."""

    model: type[ApiModel]
    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    columns: tuple[Column, ...]
    scale: Scale | None = None
    selectable: tuple[str, ...] = ()
    """Paths that `kubectl get --field-selector` understands."""

    @property
    def name(self) -> str:
        """The full name, which is also the name of the CRD."""
        return f"{self.plural}.{self.group}"
