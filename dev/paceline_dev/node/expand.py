"""`$(NAME)` in commands and values, as the kubelet expands it (third_party/forked/golang/expansion)."""

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace what is known; an unknown reference stays as it is, and `$$` becomes `$`."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, found[0])

    return _REFERENCE.sub(value, text)
