"""Writes a bill of materials as CycloneDX: a script for an environment of its own, requirements/sbom.txt.

It reads a description (see `sbom.py`) as JSON on stdin, and writes the bill to stdout once the schema has nothing to
say against it. The same description gives the same bytes.
"""

import json
import sys
from datetime import UTC, datetime
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL


def bill(told: dict[str, Any]) -> str:
    """The document."""
    bom = Bom(serial_number=uuid5(NAMESPACE_URL, json.dumps(told, sort_keys=True)))
    bom.metadata.timestamp = datetime.fromtimestamp(told["epoch"], UTC)
    bom.metadata.properties.update(Property(name=name, value=value) for name, value in told["properties"].items())
    main = component(told["main"])
    main.licenses.add(LicenseExpression(told["license"]))
    bom.metadata.component = main
    parts = {each["id"]: component(each) for each in told["parts"]}
    bom.components.update(parts.values())
    known = {told["main"]["id"]: main, **parts}
    for each in [told["main"], *told["parts"]]:
        bom.register_dependency(known[each["id"]], [known[needed] for needed in each["needs"]])
    document: str = JsonV1Dot6(bom).output_as_string(indent=1)
    return document + "\n"


def component(told: dict[str, Any]) -> Component:
    """A package, or an image."""
    form, namespace, qualifiers = told["form"], told.get("namespace"), told.get("qualifiers")
    url = PackageURL(form, namespace, told["name"], told["version"], qualifiers)
    made = Component(
        type=ComponentType(told["type"]), name=told["name"], version=told["version"], purl=url, bom_ref=told["id"]
    )
    if hashes := [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in told["hashes"]]:
        # of each file that may be installed for it: a component has one hash of a kind, a place to get it from has many
        kind = ExternalReferenceType.DISTRIBUTION
        made.external_references.add(ExternalReference(type=kind, url=XsUri(url.to_string()), hashes=hashes))
    return made


def main() -> None:
    """Read, write, and look at what was written as a stranger's tool would."""
    document = bill(json.load(sys.stdin))
    if fault := JsonStrictValidator(SchemaVersion.V1_6).validate_str(document):
        sys.exit(f"the bill does not fit CycloneDX 1.6: {fault}")
    sys.stdout.write(document)


if __name__ == "__main__":
    main()
