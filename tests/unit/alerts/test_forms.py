"""What receivers are sent: Alertmanager's own JSON, or a text for Slack."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from paceline_cli.options import WebhookForm
from paceline_operator.domain.alerts.notice import Form, Notice, write

STARTS = datetime(2026, 11, 17, 12, tzinfo=UTC)
NOTICE = Notice(
    name="PacelineGroupStuck",
    labels={"alertname": "PacelineGroupStuck", "group": "builds", "namespace": "ci", "severity": "warning"},
    summary="ci/builds does not get the runners that it shall have",
    description="2 of them have not been ready for 15 minutes.",
    starts_at=STARTS,
)
OTHER = replace(
    NOTICE, labels={**NOTICE.labels, "group": "tests"}, summary="ci/tests does not get the runners that it shall have",
    ends_at=STARTS.replace(hour=13),
)  # fmt: skip


def alertmanager(*notices: Notice, runbooks: str = "") -> dict[str, Any]:
    return write(Form.ALERTMANAGER, notices, "here", runbooks)


def test_one_alert_is_what_alertmanager_would_post() -> None:
    labels = {"alertname": "PacelineGroupStuck", "group": "builds", "namespace": "ci", "severity": "warning"}
    annotations = {
        "summary": "ci/builds does not get the runners that it shall have",
        "description": "2 of them have not been ready for 15 minutes.",
        "runbook_url": "docs/runbooks/PacelineGroupStuck.md",
    }
    assert alertmanager(NOTICE) == {
        "version": "4",
        "groupKey": '{}:{alertname="PacelineGroupStuck"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "here",
        "groupLabels": {"alertname": "PacelineGroupStuck"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": annotations,
                "startsAt": "2026-11-17T12:00:00Z",
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": "",
                "fingerprint": NOTICE.fingerprint,
            }
        ],
    }


def test_the_fingerprint_is_the_one_that_prometheus_gives_to_these_labels() -> None:
    """The numbers are those of the tests of prometheus/common."""
    known = {"name": "garland, briggs", "fear": "love is not enough"}
    assert replace(NOTICE, labels={}).fingerprint == f"{14695981039346656037:016x}"
    assert replace(NOTICE, labels=known).fingerprint == f"{5799056148416392346:016x}"
    assert replace(NOTICE, labels={"a": "1b"}).fingerprint != replace(NOTICE, labels={"a": "1", "b": ""}).fingerprint
    assert NOTICE.fingerprint != OTHER.fingerprint
    assert NOTICE.fingerprint == replace(NOTICE, description="3 of them", ends_at=STARTS).fingerprint


def test_several_groups_are_one_request_which_fires_as_long_as_one_does() -> None:
    body = alertmanager(OTHER, NOTICE)
    assert body["status"] == "firing"
    assert body["commonLabels"] == {"alertname": "PacelineGroupStuck", "namespace": "ci", "severity": "warning"}
    assert "summary" not in body["commonAnnotations"]
    assert [(each["status"], each["endsAt"]) for each in body["alerts"]] == [
        ("resolved", "2026-11-17T13:00:00Z"),
        ("firing", "0001-01-01T00:00:00Z"),
    ]
    assert alertmanager(OTHER)["status"] == "resolved"


def test_a_runbook_becomes_a_link() -> None:
    body = alertmanager(NOTICE, runbooks="https://wiki.example.com/paceline/")
    link = "https://wiki.example.com/paceline/docs/runbooks/PacelineGroupStuck.md"
    assert body["alerts"][0]["annotations"]["runbook_url"] == link
    text = write(Form.SLACK, [NOTICE], "here", "https://wiki.example.com/paceline/")["text"]
    assert str(text).endswith(f"\n{link}")


def test_slack_gets_a_text() -> None:
    assert write(Form.SLACK, [NOTICE, OTHER], "here") == {
        "text": "*Warning: ci/builds does not get the runners that it shall have*\n"
        "2 of them have not been ready for 15 minutes.\n"
        "*Over: ci/tests does not get the runners that it shall have*\n"
        "since 2026-11-17T12:00:00Z\n"
        "docs/runbooks/PacelineGroupStuck.md"
    }


def test_slack_is_told_no_links_or_names_by_what_somebody_wrote() -> None:
    text = str(write(Form.SLACK, [replace(NOTICE, description="<!channel> & <https://x|y>")], "here")["text"])
    assert "&lt;!channel&gt; &amp; &lt;https://x|y&gt;" in text


def test_the_command_knows_every_form() -> None:
    assert [each.value for each in WebhookForm] == [each.value for each in Form]
