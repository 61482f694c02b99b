"""`paceline webhook`: who is told of alerts, tried before there is one."""

from pathlib import Path
from typing import Annotated

import typer

from paceline_cli.operator import NOT_INSTALLED
from paceline_cli.options import WebhookForm, WebhookFormOption, WebhookRunbooksOption, WebhookUrlFileOption

app = typer.Typer(no_args_is_help=True, help="Receivers of alerts: send them one to see that it arrives.")


@app.callback()
def webhook() -> None:
    """Receivers of alerts: send them one to see that it arrives."""


@app.command("test")
def send_test(
    webhook_url_file: WebhookUrlFileOption = None,
    webhook_form: WebhookFormOption = WebhookForm.ALERTMANAGER,
    webhook_runbooks: WebhookRunbooksOption = "",
    group: Annotated[
        str, typer.Option(metavar="NAMESPACE/NAME", help="The group that it is about, for receivers that choose by it.")
    ] = "default/test",
) -> None:
    """Tell every receiver that an alert fires, and that it is over.

    In the cluster: `kubectl exec -n paceline-system deployment/paceline-operator -- paceline webhook test`
    """
    from paceline.errors import InvalidInputError, PacelineError

    try:
        if webhook_url_file is None:
            raise InvalidInputError(
                "no receiver is named: use --webhook-url-file, or set PACELINE_WEBHOOK_URL_FILE, to a file of URLs"
            )
        troubles = _tried(webhook_url_file, webhook_form, webhook_runbooks, group)
    except PacelineError as error:
        typer.secho(f"error: {' '.join(str(error).split())}", err=True, fg=typer.colors.RED)
        raise typer.Exit(1) from None
    for number, trouble in enumerate(troubles, 1):
        typer.echo(f"webhook {number}: {f'did not take it ({trouble})' if trouble else 'took it'}")
    if any(troubles):
        raise typer.Exit(1)


def _tried(file: Path, form: WebhookForm, runbooks: str, group: str) -> list[str]:
    """What each receiver had against it; empty: nothing."""
    import asyncio

    from paceline.errors import InvalidInputError

    try:
        from paceline_operator.adapters.webhooks import Letter, try_all
        from paceline_operator.domain.alerts.notice import Form
    except ModuleNotFoundError as error:
        raise InvalidInputError(f"{NOT_INSTALLED} (there is no {error.name})") from None
    namespace, _, name = group.rpartition("/")
    letter = Letter(file=file, form=Form(form.value), runbooks=runbooks)
    return asyncio.run(try_all(letter, namespace or "default", name))
