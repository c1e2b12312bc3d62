"""What the commands about a live cluster read is what their rights allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from charts.rights import READ, rules
from tests.cli.cluster import running
from tests.cli.run import run
from tests.diagnose.doctor.healthy import TEAM, healthy

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v[^/]+(?:/namespaces/[^/]+(?=/))?/(?P<plural>[^/]+)"
    r"(?P<single>/[^/]+(?P<of_pod>/\w+)?.*)?"
)
"""The path of a list or of an object, without the documents of discovery."""

QUESTIONS = {
    "why": ("why", "pod/train", "-n", TEAM, "--logs"),
    "top": ("top", "--by", "owner", "-A"),
    "audit": ("audit", "-A"),
    "plan": ("plan", "-A", "--enforce"),
    "doctor": ("doctor",),
}

BY_NAME_OR_TOO_MUCH = {("", "configmaps", "get"), ("", "pods/proxy", "get")}
"""The settings, which the chart's role allows by name, and what the role leaves to the administrator."""


def allowed(name: str) -> set[tuple[str, str, str]]:
    """The API group, the resource and the verb of everything that the role of a command allows."""
    return {
        (rule["apiGroups"][0], plural, verb)
        for rule in rules(READ[name])
        for plural in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("name", READ)
def test_command_reads_nothing_beyond_its_rights(name: str, here: Path) -> None:
    cluster = healthy()
    with running(cluster, here) as file:
        assert run(*QUESTIONS[name], "--kubeconfig", str(file)).code == 0
    found = [match for match in map(_PATH.fullmatch, cluster.asked) if match is not None]
    assert found
    asked = {
        (one["group"] or "", one["plural"] + (one["of_pod"] or ""), "get" if one["single"] else "list") for one in found
    }
    assert asked <= allowed(name) | BY_NAME_OR_TOO_MUCH


@pytest.mark.parametrize("name", READ)
def test_role_cannot_list_config_maps_or_secrets(name: str) -> None:
    listed = {plural for _, plural, verb in allowed(name) if verb == "list"}
    assert listed.isdisjoint({"configmaps", "secrets", "pods/log", "*"})
