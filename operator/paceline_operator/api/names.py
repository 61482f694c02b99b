"""What names may look like, and how long they may be."""

from typing import Annotated

from paceline_operator.api.schema import JsonDict, rule, shaped

# A pod is called <runner>-<boot number>, and its name must fit into a label of 63 characters. A runner adds a
# dash and five characters to the name of its group; ten are left for the dash and the boot number.
LONGEST_GROUP_NAME = 47
LONGEST_RUNNER_NAME = 53

PoolName = Annotated[
    str,
    shaped(
        "^([a-z0-9]([-a-z0-9_.]*[a-z0-9])?)?$",
        "spec.pool must begin and end with a lower-case letter or digit: "
        "use lower-case letters, digits, '-', '_' and '.', or leave it empty to use metadata.name",
        max_length=63,
    ),
]

Tag = Annotated[
    str,
    shaped(
        "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
        "spec.tags[] must begin and end with a letter or digit: use letters, digits, '-', '_' and '.'",
        max_length=63,
    ),
]

SecretName = Annotated[
    str,
    shaped(
        "^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
        "secretRef.name and runnerSecretRef.name must be the name of a Secret: "
        "use lower-case letters, digits, '-' and '.', with a letter or digit at both ends",
        max_length=253,
    ),
]


def name_rules(kind: str, longest: int) -> tuple[JsonDict, ...]:
    """Rules on metadata.name, which the API server itself only checks to be a DNS subdomain."""
    return (
        rule(
            f"self.metadata.name.size() <= {longest}",
            f"metadata.name of a {kind} must be at most {longest} characters: "
            "choose a shorter name, because the names of its pods begin with it",
            field=".metadata.name",
        ),
        rule(
            "!self.metadata.name.contains('.')",
            f"metadata.name of a {kind} must be a DNS label: "
            "use lower-case letters, digits and '-', no dots, because the names of its pods begin with it",
            field=".metadata.name",
        ),
    )
