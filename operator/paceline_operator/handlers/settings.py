"""How an operator is set up."""

from dataclasses import dataclass

from paceline.errors import InvalidInputError
from paceline_operator.adapters.access import SERVICE_ACCOUNT
from paceline_operator.adapters.webhooks import Letter

DEFAULT_INSTALL = "paceline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What whoever starts an operator says."""

    install: str = DEFAULT_INSTALL
    """Its name in the databases; two clusters that share one need different names."""
    namespaces: tuple[str, ...] = ()
    """The ones it looks after; none means all."""
    kubeconfig: str | None = None
    context: str | None = None
    host: str = "0.0.0.0"  # noqa: S104 -- probes come from outside the pod
    port: int = 8081
    lease_namespace: str = "default"
    """Where the Lease is by which several operators agree on who acts."""
    pod_ip: str = ""
    """Where other operators and their callers reach this one, if that is not the host that it listens on."""
    external_metrics: tuple[str, int] | None = None
    """Where to serve external.metrics.k8s.io; None: nowhere."""
    external_metrics_tls: str | None = None
    """A folder with tls.crt and tls.key for it; None: a certificate that nobody has signed."""
    watch_nodes: bool = True
    """Whether it may read nodes: for that it needs rights in the whole cluster."""
    webhooks: Letter | None = None
    """Who is told of alerts; None: nobody."""

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if not self.install or len(self.install) > 63:
            raise InvalidInputError(f'install "{self.install}" must have 1 to 63 characters')

    @property
    def address(self) -> str:
        """HOST:PORT for others."""
        host = self.pod_ip or self.host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"


def own_namespace() -> str:
    """The namespace of the pod that we are in; `default` if we are in none."""
    file = SERVICE_ACCOUNT / "namespace"
    return file.read_text().strip() if file.is_file() else "default"
