"""The documents are true: their commands exist, their examples give what they show, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from docs.generate import REFERENCE
from docs.generate import pages as generated
from tests.cases import every_case
from tests.cluster import pod_storm
from tests.project.pages import pages
from tests.project.repository import ROOT, blocks, dry_run, is_logged, name, project, tracked
from webhook.cli import cli
from webhook.cluster.objects import NODE, Rule
from webhook.policy.placement.selector import is_lifecycle
from webhook.server.metrics import Metrics

PAGES = pages()
PROGRAM = "gpushare-webhook"


def commands(page: Path) -> list[str]:
    """The lines of a page's shell blocks, without prompts, comments and continuations."""
    shell = "".join(content for language, content in blocks(page) if language in ("sh", "console"))
    lines = [line.removeprefix("$ ") for line in shell.replace("\\\n", " ").splitlines()]
    return [re.sub(r"\s+#.*$", "", line) for line in lines]


def called(page: Path, program: str) -> list[str]:
    """How a page calls a program: in blocks, and in running text between backticks."""
    inline = re.findall(rf"`({program} [^`]+)`", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S))
    pieces = [piece.strip() for line in commands(page) for piece in line.split(" | ")]
    return [*inline, *(piece for piece in pieces if piece.startswith(f"{program} "))]


def calls(program: str) -> list[tuple[str, str]]:
    return sorted({(name(page), call) for page in PAGES for call in called(page, program)})


@pytest.mark.parametrize("target", sorted({call.split()[1] for _, call in calls("make")}))
def test_every_target_of_make_exists(target: str) -> None:
    assert dry_run(target)


@every_case(calls(PROGRAM))
def test_every_command_and_option_exists(case: tuple[str, str]) -> None:
    words = shlex.split(case[1])[1:]
    command: click.Command = cli
    while isinstance(command, click.Group) and words and words[0] not in ("COMMAND", "CODE"):
        found = command.get_command(click.Context(command, **command.context_settings), words.pop(0))
        assert found is not None
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in words if re.match("--?[a-z]", word, re.IGNORECASE) and word not in known] == []


def test_there_are_commands_to_look_at() -> None:
    assert {"README.md"} <= {page for page, _ in calls(PROGRAM)}
    assert {"demo", "test"} <= {call.split()[1] for _, call in calls("make")}


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub derives them."""
    headings = re.findall(r"^#+ +(.+)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


LINKS = [
    (name(page), link)
    for page in PAGES
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text())
    if "://" not in link and "docs/prose/" not in name(page)  # a part of a reference page, which has its links
]


@every_case(LINKS)
def test_links_lead_somewhere(case: tuple[str, str]) -> None:
    page, link = case
    path, _, anchor = link.partition("#")
    target = (ROOT / page).parent.joinpath(path) if path else ROOT / page
    assert target.exists()
    assert not anchor or anchor in anchors(target)


@pytest.mark.parametrize("page", [name(page) for page in PAGES if page.name != "CHANGELOG.md"])
def test_named_files_exist(page: str) -> None:
    named = re.findall(r"`((?:webhook|tests|docs|charts|bench|examples|certs)/[\w./-]+)`", (ROOT / page).read_text())
    assert [path for path in named if not (ROOT / path).exists() and EXAMPLE not in path.lower()] == []


EXAMPLE = "gps900"
"""The check that the guide adds, and that therefore does not exist."""


@pytest.mark.parametrize("picture", ["review-path.svg", "what-the-webhook-knows.svg"])
def test_picture_names_existing_modules(picture: str) -> None:
    drawing = (ROOT / "docs/explanation" / picture).read_text()
    modules = re.findall(r'class="module">([^<]+)<', drawing)
    assert len(modules) > 5
    assert [module for module in modules if not (ROOT / "webhook" / module).exists()] == []


def test_walks_name_existing_modules_in_twelve_rooms_at_most() -> None:
    page = (ROOT / "docs/explanation/architecture.md").read_text()
    walks = [re.findall(r'\["([\w/.]+): ', walk) for walk in re.findall(r"^```mermaid$(.*?)^```$", page, re.M | re.S)]
    assert len(walks) == 3
    assert [module for walk in walks for module in walk if not (ROOT / "webhook" / module).exists()] == []
    assert max(map(len, walks)) <= 12


def test_page_quotes_missing_rule() -> None:
    rule = Rule(NODE, ("list", "watch"))
    assert f"`{rule.missing('list')}`" in (ROOT / "docs/how-to/mixed-clusters.md").read_text()


def test_taints_of_page_are_never_tolerated() -> None:
    page = (ROOT / "docs/explanation/what-the-webhook-knows.md").read_text()
    section = page.partition("### Taints that are never tolerated")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    keys = [key for row in rows for key in re.findall("`([^`]+)`", row)]
    assert len(keys) > 10
    assert [key for key in keys if not is_lifecycle(key)] == []


def test_architecture_shows_enforced_layers() -> None:
    (contract,) = [one for one in project()["tool"]["importlinter"]["contracts"] if one["type"] == "layers"]
    layers = "\n".join(contract["layers"]).replace("webhook.", "")
    assert f"```\n{layers}\n```" in (ROOT / "docs/explanation/architecture.md").read_text()


def quoted(page: str, pattern: str) -> set[str]:
    """What a page has between backticks and matches, without tables' labels such as `{reason="late"}`."""
    return {
        found
        for found in re.findall(r"`([^`\n{]+)(?:\{[^`]*)?`", (ROOT / page).read_text())
        if re.fullmatch(pattern, found)
    }


@pytest.mark.parametrize("page", ["docs/explanation/what-happens-when.md", "docs/how-to/certificates.md"])
def test_quoted_log_events_exist(page: str) -> None:
    source = "".join(file.read_text() for file in tracked("webhook/*.py"))
    events = quoted(page, "[a-z]+( [a-z]+)+")
    assert events
    assert {event for event in events if not is_logged(event, source)} == set()


@pytest.mark.parametrize("page", [name(page) for page in PAGES if page.name != "CHANGELOG.md"])
def test_named_metrics_exist(page: str) -> None:
    metrics = Metrics()
    exported = {*re.findall(r"^\w+", metrics.text().decode(), re.MULTILINE), *(one.name for one in metrics.families)}
    known = {name.removeprefix("gpushare_webhook_") for name in exported}
    named = {metric.removeprefix("gpushare_webhook_") for metric in quoted(page, r"\w+_(total|seconds|bytes)")}
    assert named - known == set()


def test_generated_pages_are_current() -> None:
    made = generated()
    assert {page: page.read_text() for page in made} == made


def test_page_of_workloads_says_how_the_pods_of_groups_are_counted() -> None:
    lines = [line for line in generated()[REFERENCE / "workloads.md"].splitlines() if "; group `" in line]
    assert len(lines) > 20
    assert [line for line in lines if not re.search(r"; group `[a-z]+`(?: with `[^`]+`)?: \S", line)] == []


def storm() -> pod_storm.Storm:
    """The recorded run that the README's picture shows."""
    return pod_storm.from_json((ROOT / "docs" / "pod-storm.json").read_text())


def test_picture_of_pod_storm_is_current() -> None:
    assert pod_storm.from_json(pod_storm.to_json(storm())) == storm()
    assert (ROOT / "docs" / "pod-storm.svg").read_text() == pod_storm.draw(storm())


def test_readme_states_recorded_pod_storm() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"about {round(storm().failed, -1)} failed pods in {pod_storm.SECONDS} seconds" in readme
    assert storm().failed_with_webhook == 0


def test_readme_has_what_a_newcomer_needs() -> None:
    readme = (ROOT / "README.md").read_text()
    for needed in ("docs/pod-storm.svg", "make demo", "helm install", "Exit codes: 0", "**It does not**"):
        assert needed in readme
