"""From a pydantic model to a structural schema, the part of OpenAPI that a CRD may use.

JSON Schema says more than the API server accepts, and some of it in other words. What can be said in its
words is translated; everything else stops the generator, so that nothing is lost without a sound.
"""

from pydantic import BaseModel, JsonValue
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from paceline_dev.errors import DevError
from paceline_operator.api.schema import LIST_MAP_KEYS, LIST_TYPE, PRESERVE_UNKNOWN, VALIDATIONS, JsonDict

INT_OR_STRING = "x-kubernetes-int-or-string"

# All that we use of a structural schema, in the order in which it is written.
ALLOWED = (
    "description",
    "type",
    INT_OR_STRING,
    "format",
    "default",
    "enum",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    LIST_TYPE,
    LIST_MAP_KEYS,
    "items",
    "minProperties",
    "maxProperties",
    "additionalProperties",
    PRESERVE_UNKNOWN,
    "properties",
    "required",
    VALIDATIONS,
)
NOISE = ("title", "examples")
RULE = ("rule", "message", "fieldPath")


class CrdSchema(GenerateJsonSchema):
    """Pydantic's generator, with the places overridden where a CRD wants another shape."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """An optional field may be left out; null is no value of it."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """A default of None means that there is none."""
        found = super().default_schema(schema)
        if found.get("default", ...) is None:
            del found["default"]
        return found

    def encode_default(self, dft: object) -> object:
        """A model's default is written out: the API server tries rules on it before it fills in a bare `{}`."""
        if isinstance(dft, BaseModel):
            return dft.model_dump(mode="json", by_alias=True, exclude_none=True)
        return super().encode_default(dft)

    def literal_schema(self, schema: core_schema.LiteralSchema) -> JsonSchemaValue:
        """A Literal of one value is an enum of one: a CRD has no `const`."""
        found = super().literal_schema(schema)
        if "const" in found:
            found["enum"] = [found.pop("const")]
        return found

    def union_schema(self, schema: core_schema.UnionSchema) -> JsonSchemaValue:
        """`int | str` is Kubernetes' int-or-string; no other union can be written in a CRD."""
        found = super().union_schema(schema)
        choices = found.pop("anyOf", [])
        if {choice.get("type") for choice in choices} != {"integer", "string"}:
            raise DevError(f"a CRD cannot say {choices or found}: of all unions only int | str can be used")
        merged = {key: value for choice in choices for key, value in choice.items() if key != "type"}
        return {INT_OR_STRING: True, **merged}


def structural(model: type[BaseModel]) -> JsonDict:
    """The schema of a model, whole and in the words of a CRD."""
    schema: JsonDict = model.model_json_schema(schema_generator=CrdSchema)
    definitions = _object(schema.pop("$defs", {}))
    return _Inliner(definitions).convert(schema, model.__name__, ())


class _Inliner:
    """Puts definitions in the place of references, and translates on the way."""

    def __init__(self, definitions: JsonDict) -> None:
        self._definitions = definitions

    def convert(self, schema: JsonDict, path: str, inside: tuple[str, ...]) -> JsonDict:
        if "$ref" in schema:
            name = str(schema["$ref"]).removeprefix("#/$defs/")
            if name in inside:
                raise DevError(f"{path}: {name} contains itself, which a CRD cannot say")
            here = {key: value for key, value in schema.items() if key != "$ref"}
            return self.convert(_merged(_object(self._definitions[name]), here), path, (*inside, name))
        found = _translated(schema)
        if unknown := set(found) - set(ALLOWED):
            raise DevError(f"{path}: a CRD has no {', '.join(sorted(unknown))}: describe the field in another way")
        if "properties" in found:
            found["properties"] = {
                name: self.convert(_object(child), f"{path}.{name}", inside)
                for name, child in _object(found["properties"]).items()
            }
        for key in ("items", "additionalProperties"):
            if key in found:
                found[key] = self.convert(_object(found[key]), f"{path}[]", inside)
        return _in_order(found, ALLOWED)


def _merged(definition: JsonDict, here: JsonDict) -> JsonDict:
    """What is said at the field wins over what its type says; the rules of both hold."""
    rules = [*_list(definition.get(VALIDATIONS, [])), *_list(here.get(VALIDATIONS, []))]
    return {**definition, **here, **({VALIDATIONS: rules} if rules else {})}


def _translated(schema: JsonDict) -> JsonDict:
    found = {key: value for key, value in schema.items() if key not in NOISE}
    if "description" in found:
        found["description"] = " ".join(str(found["description"]).split())
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if exclusive in found:  # a number in JSON Schema, a flag beside the bound in OpenAPI 3.0
            found[bound], found[exclusive] = found[exclusive], True
    if found.get("additionalProperties") is False:  # the API server prunes unknown fields anyway
        del found["additionalProperties"]
    if found.pop("uniqueItems", False):
        found[LIST_TYPE] = "set"
    if VALIDATIONS in found:  # pydantic sorts keys; people look for the rule first
        found[VALIDATIONS] = [_in_order(_object(each), RULE) for each in _list(found[VALIDATIONS])]
    return found


def _in_order(value: JsonDict, keys: tuple[str, ...]) -> JsonDict:
    return {key: value[key] for key in keys if key in value}


def _object(value: JsonValue) -> JsonDict:
    if not isinstance(value, dict):
        raise DevError(f"{value!r} stands where a CRD needs a schema: name the type of what is inside")
    return value


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else [value]
