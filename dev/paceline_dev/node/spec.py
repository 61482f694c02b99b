"""A pod as the node understands it: frozen values, read once from the API's object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from paceline_dev.node.wire import Json

GRACE_SECONDS = 30


class RestartPolicy(StrEnum):
    """When a container that has ended is started again."""

    ALWAYS = "Always"
    ON_FAILURE = "OnFailure"
    NEVER = "Never"

    def wants(self, code: int) -> bool:
        """Whether a container that ended with that code is started again."""
        return self is RestartPolicy.ALWAYS or (self is RestartPolicy.ON_FAILURE and code != 0)


@dataclass(frozen=True, slots=True)
class HttpGet:
    """A request; no host is the pod itself."""

    port: int
    path: str = "/"
    host: str = ""
    scheme: str = "http"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """A connection; no host is the pod itself."""

    port: int
    host: str = ""


@dataclass(frozen=True, slots=True)
class Exec:
    """A command inside the container."""

    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sleep:
    """A pause, for hooks."""

    seconds: float


Action = HttpGet | TcpSocket | Exec | Sleep


@dataclass(frozen=True, slots=True)
class Probe:
    """How often somebody is asked how they are, and how many answers count."""

    action: Action
    delay: float = 0
    period: float = 10
    timeout: float = 1
    success: int = 1
    failure: int = 3
    grace: float | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """One container; `restart` is its own policy, which for a sidecar differs from its pod's."""

    name: str
    image: str
    restart: RestartPolicy
    init: bool = False
    sidecar: bool = False
    pull_never: bool = False
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    env: tuple[Json, ...] = ()
    env_from: tuple[Json, ...] = ()
    startup: Probe | None = None
    readiness: Probe | None = None
    liveness: Probe | None = None
    pre_stop: Action | None = None
    log_is_message: bool = False
    resources: Json = field(default_factory=dict)
    mounts: tuple[Json, ...] = ()


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod."""

    namespace: str
    name: str
    uid: str
    generation: int
    node: str
    account: str
    hostname: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    restart: RestartPolicy
    grace: float
    deadline: float | None
    init: tuple[Container, ...]
    main: tuple[Container, ...]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def full_name(self) -> str:
        """As the kubelet names it in messages."""
        return f"{self.name}_{self.namespace}({self.uid})"

    @property
    def containers(self) -> tuple[Container, ...]:
        """All of them, in the order of starting."""
        return (*self.init, *self.main)


def parse_pod(pod: Json) -> Pod:
    """Read a pod whose fields are all known."""
    meta, spec = pod["metadata"], pod["spec"]
    policy = RestartPolicy(spec.get("restartPolicy", "Always"))
    return Pod(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        generation=meta.get("generation", 0),
        node=spec.get("nodeName", ""),
        account=spec.get("serviceAccountName", ""),
        hostname=spec.get("hostname") or meta["name"],
        labels=meta.get("labels") or {},
        annotations=meta.get("annotations") or {},
        restart=policy,
        grace=spec.get("terminationGracePeriodSeconds", GRACE_SECONDS),
        deadline=spec.get("activeDeadlineSeconds"),
        init=tuple(_init(each, policy) for each in spec.get("initContainers") or ()),
        main=tuple(_container(each, policy, init=False, sidecar=False) for each in spec["containers"]),
    )


def _init(container: Json, policy: RestartPolicy) -> Container:
    """An init container is done when it has succeeded, so its pod's Always means OnFailure for it."""
    if container.get("restartPolicy") == "Always":
        return _container(container, RestartPolicy.ALWAYS, init=True, sidecar=True)
    own = RestartPolicy.NEVER if policy is RestartPolicy.NEVER else RestartPolicy.ON_FAILURE
    return _container(container, own, init=True, sidecar=False)


def _container(container: Json, policy: RestartPolicy, *, init: bool, sidecar: bool) -> Container:
    ports = {port["name"]: port["containerPort"] for port in container.get("ports") or () if "name" in port}
    hook = (container.get("lifecycle") or {}).get("preStop")
    return Container(
        name=container["name"],
        image=container["image"],
        restart=policy,
        init=init,
        sidecar=sidecar,
        pull_never=container.get("imagePullPolicy") == "Never",
        command=tuple(container.get("command") or ()),
        args=tuple(container.get("args") or ()),
        working_dir=container.get("workingDir", ""),
        env=tuple(container.get("env") or ()),
        env_from=tuple(container.get("envFrom") or ()),
        startup=_probe(container.get("startupProbe"), ports),
        readiness=_probe(container.get("readinessProbe"), ports),
        liveness=_probe(container.get("livenessProbe"), ports),
        pre_stop=_action(hook, ports) if hook else None,
        log_is_message=container.get("terminationMessagePolicy") == "FallbackToLogsOnError",
        resources=container.get("resources") or {},
        mounts=tuple(container.get("volumeMounts") or ()),
    )


def _probe(probe: Json | None, ports: Mapping[str, int]) -> Probe | None:
    if probe is None:
        return None
    return Probe(
        action=_action(probe, ports),
        delay=probe.get("initialDelaySeconds", 0),
        period=probe.get("periodSeconds", 10),
        timeout=probe.get("timeoutSeconds", 1),
        success=probe.get("successThreshold", 1),
        failure=probe.get("failureThreshold", 3),
        grace=probe.get("terminationGracePeriodSeconds"),
    )


def _action(handler: Json, ports: Mapping[str, int]) -> Action:
    if "exec" in handler:
        return Exec(tuple(handler["exec"].get("command") or ()))
    if "sleep" in handler:
        return Sleep(handler["sleep"]["seconds"])
    if "tcpSocket" in handler:
        tcp = handler["tcpSocket"]
        return TcpSocket(_port(tcp["port"], ports), tcp.get("host", ""))
    http = handler["httpGet"]
    headers: Sequence[Json] = http.get("httpHeaders") or ()
    return HttpGet(
        port=_port(http["port"], ports),
        path=http.get("path") or "/",
        host=http.get("host", ""),
        scheme=http.get("scheme", "HTTP").lower(),
        headers=tuple((each["name"], each.get("value", "")) for each in headers),
    )


def _port(port: int | str, ports: Mapping[str, int]) -> int:
    """A port by its number or name; 0, which nobody listens on, for a name that there is not."""
    return port if isinstance(port, int) else ports.get(port, 0)
