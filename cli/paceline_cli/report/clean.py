"""Takes secrets out of what a report shows. Rather too much than too little: what was taken is written down.

A Secret keeps its keys, an env variable its name, a DSN its host, a token its id: enough to see which one is meant.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

REMOVED: Final = "(removed)"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""A whole copy of the object, with its env, as text."""
SECRET_NAME: Final = re.compile(
    r"pass(word|wd|phrase)?$|pwd|secret|token|credential|private.?key|api.?key|access.?key|auth|dsn|cookie|signature"
    r"|_(url|uri)$|^(database|redis|amqp|broker|mongo).*(url|uri)",
    re.IGNORECASE,
)
"""Of an env variable or a field. A URL of a database mostly has a password in it."""
PLAIN_FIELDS: Final = frozenset({
    "secretName", "secretRef", "runnerSecretRef", "secretKeyRef", "tokenPath", "authority", "resourceVersion",
    "automountServiceAccountToken", "serviceAccountToken", "imagePullSecrets", "author",
})  # fmt: skip
"""Fields of the API whose names sound like it, and which hold a name."""
TEXTS: Final = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), REMOVED),
    (re.compile(r"\b((?:rk|pk|ak)_[0-9a-z]{12})_[0-9A-Za-z_-]{8,}"), rf"\1_{REMOVED}"),
    (re.compile(r"(://[^\s/@:\"']*:)[^\s@\"']+@"), rf"\1{REMOVED}@"),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), REMOVED),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {REMOVED}"),
    (
        re.compile(
            r"((?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)"
            r"[\w.-]{0,40}[\"']?\s*[=:]\s*[\"']?)([^\s\"',;&(){}\[\]]+)",
            re.IGNORECASE,
        ),
        rf"\1{REMOVED}",
    ),
    (re.compile(r"\b(?:gh[pousr]_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|sk-[\w-]{20,})"), REMOVED),
)  # fmt: skip
"""In any text: keys, tokens, DSNs, headers, `password=...`, and what well-known services give out."""
RANDOM: Final = re.compile(r"(?=\S*[0-9])(?=\S*[a-z])(?=\S*[A-Z])[\w+/=~-]{24,}")
"""A value that nobody has thought up: of env variables it goes, whatever their name."""
LONG: Final = 1024
"""Characters of a value that are looked at for that."""
OPTION: Final = re.compile(r"--?[\w.-]+")
USERS_OWN: Final = ("payload", "result", "progress", "output")
"""What handlers and producers wrote: it may hold anything."""


@dataclass(frozen=True, slots=True)
class Removed:
    """What is not in the report, and why."""

    file: str
    where: str
    why: str


@dataclass(slots=True)
class Cleaner:
    """Cleans one thing after the other, and remembers what it took."""

    payloads: bool = False
    removed: list[Removed] = field(default_factory=list)

    def text(self, file: str, text: str, where: str = "text") -> str:
        """A log, a message, a value: without what is recognized as a secret."""
        for pattern, instead in TEXTS:
            text, many = pattern.subn(instead, text)
            if many:
                self._note(file, where, f"{many} that looked like a secret")
        return text

    def thing(self, file: str, value: Any) -> Any:
        """An object of the API, or of the queue."""
        if isinstance(value, dict) and value.get("kind") == "Secret":
            return self._secret(file, value)
        return self._walk(file, value, "")

    def _secret(self, file: str, secret: dict[str, Any]) -> dict[str, Any]:
        """Which keys it has is all that helps."""
        meta = secret.get("metadata") or {}
        keys = sorted({*(secret.get("data") or {}), *(secret.get("stringData") or {})})
        for key in keys:
            self._note(file, f"data.{key}", "the data of a Secret")
        return {
            "apiVersion": secret.get("apiVersion"), "kind": "Secret", "type": secret.get("type"),
            "metadata": {key: meta.get(key) for key in ("name", "namespace", "uid", "creationTimestamp")},
            "data": dict.fromkeys(keys, REMOVED),
        }  # fmt: skip

    def _walk(self, file: str, value: Any, where: str) -> Any:
        if isinstance(value, dict):
            return {key: self._field(file, key, each, f"{where}.{key}".lstrip(".")) for key, each in value.items()
                    if not self._is_left_out(file, key, f"{where}.{key}".lstrip("."))}  # fmt: skip
        if isinstance(value, list | tuple):
            return self._list(file, list(value), where)
        return self.text(file, value, where) if isinstance(value, str) else value

    def _list(self, file: str, values: list[Any], where: str) -> list[Any]:
        """Of a command line also the word that comes after --password."""
        found = []
        for place, each in enumerate(values):
            before = values[place - 1] if place else None
            if (
                isinstance(each, str)
                and isinstance(before, str)
                and OPTION.fullmatch(before)
                and SECRET_NAME.search(before)
            ):
                self._note(file, f"{where}[{place}]", "what comes after an option with the name of a secret")
                found.append(REMOVED)
            else:
                found.append(self._walk(file, each, f"{where}[{place}]"))
        return found

    def _field(self, file: str, key: str, value: Any, where: str) -> Any:
        if key == "env" and isinstance(value, list):
            return [self._variable(file, each, f"{where}[{place}]") for place, each in enumerate(value)]
        if key in USERS_OWN and not self.payloads and value is not None:
            self._note(file, where, "a handler's or a producer's own data (--payloads keeps it)")
            return REMOVED
        if isinstance(value, str) and value and key not in PLAIN_FIELDS and SECRET_NAME.search(key):
            self._note(file, where, "a field with the name of a secret")
            return REMOVED
        return self._walk(file, value, where)

    def _variable(self, file: str, variable: Any, where: str) -> Any:
        """An env variable with a value of its own; one that refers to a Secret shows where it comes from."""
        if not isinstance(variable, dict) or not isinstance(variable.get("value"), str) or not variable["value"]:
            return self._walk(file, variable, where)
        name, value = str(variable.get("name", "")), variable["value"]
        if SECRET_NAME.search(name) or RANDOM.search(value[:LONG]) or self.text(file, value, where) != value:
            self._note(file, f"{where} {name}", "an env value that looks like a secret")
            return {**variable, "value": REMOVED}
        return variable

    def _is_left_out(self, file: str, key: str, where: str) -> bool:
        if key == LAST_APPLIED:
            self._note(file, where, "a copy of the whole object, with its env")
            return True
        return key == "managedFields"

    def _note(self, file: str, where: str, why: str) -> None:
        self.removed.append(Removed(file, where, why))
