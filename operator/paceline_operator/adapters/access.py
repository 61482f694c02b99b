"""The way into a cluster: a pod's service account, or a kubeconfig.

The client library reads a service account's token at most once a minute. We look at the file's date before every
request (2 µs), so a token that was replaced because it leaked is gone at once.
"""

import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kubernetes.aio import config as kubernetes_config
from kubernetes.aio.client import Configuration
from kubernetes.aio.config import ConfigException

from paceline_operator.ports.errors import NoAccessError

log = logging.getLogger(__name__)

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN = "BearerToken"  # noqa: S105 -- the name of a setting, not a secret

_load_kubeconfig: Callable[..., Any] = kubernetes_config.load_kube_config


class Access(Protocol):
    """Where the API server is, and how we prove who we are."""

    async def open(self) -> Configuration:
        """Read it; NoAccessError says what is missing."""
        ...

    def authorization(self) -> str | None:
        """The header that proves it now; None if a client certificate does."""
        ...

    async def renew(self, refused: str | None) -> bool:
        """Look for others, because these were not accepted; False if there are none."""
        ...


class ServiceAccount:
    """A pod's own service account."""

    def __init__(self, folder: Path = SERVICE_ACCOUNT, environ: Mapping[str, str] = os.environ) -> None:
        """Use the token and the CA in `folder`."""
        self._folder = folder
        self._environ = environ
        self._seen: tuple[int, int] | None = None
        self._header = ""

    async def open(self) -> Configuration:
        """The address is in the environment of every pod."""
        host = self._environ.get("KUBERNETES_SERVICE_HOST", "")
        port = self._environ.get("KUBERNETES_SERVICE_PORT", "")
        authority = self._folder / "ca.crt"
        if not host or not port:
            raise NoAccessError(
                "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: "
                "run the operator in a pod, or set KUBECONFIG"
            )
        self.authorization()
        if not authority.is_file():
            raise NoAccessError(f"{authority} is missing: set automountServiceAccountToken on the operator's pod")
        address = f"[{host}]" if ":" in host else host
        return Configuration(host=f"https://{address}:{port}", ssl_ca_cert=str(authority))

    def authorization(self) -> str | None:
        """The token in the file as it is now: the kubelet replaces the file long before the token runs out."""
        path = self._folder / "token"
        try:
            found = path.stat()
            if (seen := (found.st_mtime_ns, found.st_ino)) != self._seen:
                self._header = f"Bearer {path.read_text().strip()}"
                self._seen = seen
        except OSError as error:
            # while the kubelet swaps the files, the token that we have is still good
            if not self._header:
                raise NoAccessError(
                    f"{path} cannot be read ({error.strerror}): set automountServiceAccountToken on the operator's pod"
                ) from None
        return self._header

    async def renew(self, refused: str | None) -> bool:
        """The file may have changed while the request was under way."""
        return self.authorization() != refused


class Kubeconfig:
    """A kubeconfig, with everything that kubectl understands in it: tokens, certificates, plugins."""

    def __init__(self, path: str, context: str | None = None) -> None:
        """`path` may be several, with colons between them, as in KUBECONFIG."""
        self._path = path
        self._context = context
        self._configuration = Configuration()

    async def open(self) -> Configuration:
        """Read it, and run the plugin that it may name."""
        if not _is_there(self._path):
            raise NoAccessError(f"the kubeconfig {self._path} cannot be used: there is no such file")
        try:
            await _load_kubeconfig(
                config_file=self._path,
                context=self._context,
                client_configuration=self._configuration,
                persist_config=False,
            )
        except (ConfigException, OSError) as error:
            raise NoAccessError(f"the kubeconfig {self._path} cannot be used: {error}") from None
        except Exception as error:
            # whatever the library stumbles over; its words are not passed on, YAML errors quote the file's secrets
            raise NoAccessError(
                f"the kubeconfig {self._path} cannot be used: it is not one ({type(error).__name__})"
            ) from None
        return self._configuration

    def authorization(self) -> str | None:
        """The token as of the last reading."""
        return self._configuration.api_key.get(TOKEN)

    async def renew(self, refused: str | None) -> bool:
        """Read the file again, which also asks a plugin again, unless another request has just done that."""
        if self.authorization() == refused:
            try:
                await self.open()
            except NoAccessError as error:
                log.warning("%s; going on with what was read before", error)
        return self.authorization() != refused


def _is_there(path: str) -> bool:
    """Whether one of the files is; the library complains on stderr, and then finds that a context is missing."""
    return any(Path(each).expanduser().is_file() for each in path.split(os.pathsep))


def find_access(
    kubeconfig: str | None = None, context: str | None = None, environ: Mapping[str, str] = os.environ
) -> Access:
    """The kubeconfig that was named, else KUBECONFIG, else the pod's service account, else ~/.kube/config."""
    named = kubeconfig or environ.get("KUBECONFIG")
    if not named and not context and environ.get("KUBERNETES_SERVICE_HOST"):
        return ServiceAccount(environ=environ)
    if not named:
        home = Path(environ.get("HOME", "~")).expanduser() / ".kube" / "config"
        if not home.is_file():
            raise NoAccessError
        named = str(home)
    return Kubeconfig(named, context)
