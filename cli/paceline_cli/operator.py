"""`paceline operator`: what the operator's pod runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from paceline_cli.early import leave_when_told
from paceline_cli.options import (
    LogForm,
    LogFormatOption,
    LogLevelOption,
    WebhookForm,
    WebhookFormOption,
    WebhookRunbooksOption,
    WebhookUrlFileOption,
    address,
)

if TYPE_CHECKING:
    from paceline_operator.handlers.settings import Settings

NOT_INSTALLED: Final = 'the operator is not installed here: pip install "paceline[operator]"'


def operator(
    install: Annotated[
        str,
        typer.Option(envvar="PACELINE_INSTALL", metavar="NAME",
                     help="The operator's name in the databases; clusters that share one need different names."),
    ] = "paceline",
    namespaces: Annotated[
        str,
        typer.Option(envvar="PACELINE_NAMESPACES", metavar="A,B", help="Look after these namespaces only."),
    ] = "",
    listen: Annotated[
        str,
        typer.Option(envvar="PACELINE_OPERATOR_LISTEN", metavar="HOST:PORT",
                     help="For probes, metrics and demand."),
    ] = "0.0.0.0:8081",
    pod_ip: Annotated[
        str,
        typer.Option(envvar="PACELINE_POD_IP", metavar="ADDRESS", show_default="the host of --listen",
                     help="Where whoever asks a standby for demand is sent while this operator acts."),
    ] = "",
    external_metrics: Annotated[
        str | None,
        typer.Option(envvar="PACELINE_EXTERNAL_METRICS", metavar="HOST:PORT", show_default="nowhere",
                     help="Serve external.metrics.k8s.io here, for HorizontalPodAutoscalers."),
    ] = None,
    external_metrics_tls: Annotated[
        str | None,
        typer.Option(envvar="PACELINE_EXTERNAL_METRICS_TLS", metavar="FOLDER", show_default="a self-signed one",
                     help="Where its certificate is, as tls.crt and tls.key."),
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option(envvar="KUBECONFIG", metavar="FILE", help="How to reach the cluster from outside of it."),
    ] = None,
    context: Annotated[str | None, typer.Option(metavar="NAME", help="Which context of the kubeconfig.")] = None,
    lease_namespace: Annotated[
        str | None,
        typer.Option(envvar="PACELINE_LEASE_NAMESPACE", metavar="NAMESPACE", show_default="the pod's own, or default",
                     help="Where the Lease is by which operators of one name agree on who acts."),
    ] = None,
    watch_nodes: Annotated[
        bool,
        typer.Option("--watch-nodes/--no-watch-nodes", envvar="PACELINE_WATCH_NODES",
                     help="Drain runners of cordoned nodes; wants the right to read nodes."),
    ] = True,
    webhook_url_file: WebhookUrlFileOption = None,
    webhook_form: WebhookFormOption = WebhookForm.ALERTMANAGER,
    webhook_runbooks: WebhookRunbooksOption = "",
    log_format: LogFormatOption = LogForm.AUTO,
    log_level: LogLevelOption = "info",
) -> None:  # fmt: skip
    """Keep RunnerGroups as they are wanted: Runners, their pods, and what the database knows of them."""
    leave_when_told()
    from paceline.errors import PacelineError
    from paceline.logs import set_up

    try:
        settings = _settings(
            install, namespaces, listen, kubeconfig, context, lease_namespace, watch_nodes=watch_nodes, pod_ip=pod_ip,
            external_metrics=external_metrics, external_metrics_tls=external_metrics_tls,
            webhooks=(webhook_url_file, webhook_form, webhook_runbooks),
        )  # fmt: skip
        set_up(log_format.value, log_level)
        _operate(settings)
    except PacelineError as error:
        typer.secho(f"error: {' '.join(str(error).split())}", err=True, fg=typer.colors.RED)
        raise typer.Exit(1) from None


def _settings(
    install: str, namespaces: str, listen: str, kubeconfig: str | None, context: str | None,
    lease_namespace: str | None, *, watch_nodes: bool, pod_ip: str, external_metrics: str | None,
    external_metrics_tls: str | None, webhooks: tuple[Path | None, WebhookForm, str],
) -> "Settings":  # fmt: skip
    from paceline.errors import InvalidInputError

    try:
        from paceline_operator.adapters.webhooks import Letter
        from paceline_operator.domain.alerts.notice import Form
        from paceline_operator.handlers.settings import Settings, own_namespace
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
    host, port = address("--listen", listen, "0.0.0.0:8081")
    metrics = address("--external-metrics", external_metrics, "0.0.0.0:6443") if external_metrics else None
    file, form, runbooks = webhooks
    return Settings(
        install=install,
        namespaces=tuple(each.strip() for each in namespaces.split(",") if each.strip()),
        kubeconfig=kubeconfig,
        context=context,
        host=host,
        port=port,
        pod_ip=pod_ip,
        external_metrics=metrics,
        external_metrics_tls=external_metrics_tls,
        lease_namespace=lease_namespace or own_namespace(),
        watch_nodes=watch_nodes,
        webhooks=None
        if file is None
        else Letter(file=file, form=Form(form.value), receiver=install, runbooks=runbooks),
    )


def _operate(settings: "Settings") -> None:
    import asyncio

    from paceline_operator.handlers.operator import operate

    async def live() -> None:
        await operate(settings, asyncio.Event())

    asyncio.run(live())


def add_to(app: typer.Typer) -> None:
    """Make it a command of the app."""
    app.command("operator", short_help="Operate RunnerGroups; what the operator's pod runs.")(operator)
