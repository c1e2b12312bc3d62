"""What the commands about a live cluster read is what their rights allow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.cluster import running
from tests.cli.run import run
from tests.live.doctor.healthy import TEAM, healthy
from webhook.live.rights import READ

_PATH = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/v[^/]+(?:/namespaces/[^/]+(?=/))?/(?P<plural>[^/]+)(?:/[^/]+(?P<of_pod>/\w+)?.*)?"
)
"""The path of a list or of an object, without the documents of discovery."""

QUESTIONS = {
    "why": ("why", "pod/train", "-n", TEAM, "--logs"),
    "top": ("top", "--by", "owner", "-A"),
    "audit": ("audit", "-A"),
    "plan": ("plan", "-A", "--enforce"),
    "doctor": ("doctor",),
}

BY_NAME_OR_TOO_MUCH = {("", "configmaps"), ("", "pods/proxy"), ("", "secrets")}
"""The settings, which the chart's role allows by name, and what the role leaves to the administrator."""


@pytest.mark.parametrize("name", READ)
def test_command_reads_nothing_beyond_its_rights(name: str, here: Path) -> None:
    cluster = healthy()
    with running(cluster, here) as file:
        assert run(*QUESTIONS[name], "--kubeconfig", str(file)).code == 0
    allowed = {(kind.group, kind.plural) for kind in READ[name]} | BY_NAME_OR_TOO_MUCH
    found = [match for match in map(_PATH.fullmatch, cluster.asked) if match is not None]
    assert found
    asked = {(one["group"] or "", one["plural"] + (one["of_pod"] or "")) for one in found}
    assert asked <= allowed
