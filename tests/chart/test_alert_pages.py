"""Every alert has a page that leads to its remedy, and every page has an alert."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.chart.render import only
from tests.project.repository import ROOT, is_logged, tracked

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs" / "how-to" / "alerts"
PAGES = sorted(file for file in FOLDER.glob("*.md") if file.name != "README.md")
INDEX = (FOLDER / "README.md").read_text()
SECTIONS = ["Diagnosis", "Remedy"]

FOREIGN = {
    *("context deadline exceeded", "connection reset by peer", "no endpoints available for service"),
    *("failed calling webhook", "exceeded quota", "reviews are in flight", "would come too late"),
    "unable to get local issuer certificate",
}
"""What pages quote from Kubernetes and OpenSSL, and from the webhook's responses, which contain numbers."""


def rules(**values: Any) -> list[dict[str, Any]]:
    """The alerts of the chart."""
    metrics = {"metrics": {"prometheusRule": {"enabled": True, **values}}}
    found: list[dict[str, Any]] = only("PrometheusRule", metrics)["spec"]["groups"][0]["rules"]
    return found


def test_alerts_and_pages_correspond() -> None:
    assert [page.stem for page in PAGES] == sorted(rule["alert"] for rule in rules())


def test_runbook_url_is_path_of_page() -> None:
    for rule in rules():
        assert (ROOT / rule["annotations"]["runbook_url"]).is_file()


@pytest.mark.parametrize("base", ["https://docs.example.com/gpu", "https://docs.example.com/gpu/"])
def test_runbook_url_begins_with_value(base: str) -> None:
    for rule in rules(runbookUrl=base):
        assert rule["annotations"]["runbook_url"] == f"https://docs.example.com/gpu/{rule['alert']}.md"


def test_index_lists_every_alert_by_severity() -> None:
    parts = re.findall(r"^\*\*(Critical|Warning):\*\*\n(.+?)\.$\n\n", INDEX, re.MULTILINE | re.DOTALL)
    listed = [(alert, severity.lower()) for severity, part in parts for alert in re.findall(r"\((\w+)\.md\)", part)]
    assert sorted(listed) == sorted((rule["alert"], rule["labels"]["severity"]) for rule in rules())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_has_title_sections_and_commands(page: Any) -> None:
    text = page.read_text()
    assert text.startswith(f"# {page.stem}\n\n")
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    diagnosis = text.partition("## Diagnosis")[2].partition("## Remedy")[0]
    assert re.search(r"```sh\nkubectl |\(README\.md#first-steps\)|\(GpushareWebhook\w+\.md#diagnosis\)", diagnosis)


def test_index_has_commands_that_pages_refer_to() -> None:
    first = INDEX.partition("## First steps")[2].partition("\n## ")[0]
    for command in ("get deployment,pods", "describe pods", "logs", "describe networkpolicy"):
        assert f"\nkubectl {command} --namespace gpushare-webhook" in first


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_quotes_log_events_that_exist(page: Any) -> None:
    source = "".join(file.read_text() for file in tracked("webhook/*.py"))
    quoted = re.findall(r"`(?!helm|kubectl|cmctl)([a-z]+(?:\s[a-z]+)+)`", page.read_text())
    events = {" ".join(phrase.split()) for phrase in quoted} - FOREIGN
    assert [event for event in sorted(events) if not is_logged(event, source)] == []


def test_failed_closed_leads_from_error_to_cause_and_remedy() -> None:
    text = (FOLDER / "GpushareWebhookFailedClosed.md").read_text()
    causes = {
        "x509: certificate signed by unknown authority": "a-wrong-cabundle",
        "context deadline exceeded": "something-blocks-the-api-server",
        "connect: connection refused": "no-replica-is-ready",
    }
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    remedy = text.partition("## Remedy")[2].lower()
    for error, cause in causes.items():
        (row,) = [row for row in rows if f"`{error}`" in row]
        assert f"(#{cause})" in row
        assert f"**{cause.replace('-', ' ')}.**" in remedy
