"""A snapshot of a live cluster: `check` offline gives the verdicts of `check` in the cluster.

Fixtures' objects are checked with the settings that the snapshot finds installed, and the facts of one live cluster.
`test_snapshot_facts.py` compares with the webhook that runs there.
"""

from __future__ import annotations

import json
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import run
from tests.cluster.sources import SETTINGS
from tests.contract.answers import by_check
from tests.contract.offline import DIFFER, OF_CONFIGURATIONS, check
from tests.fixture import load_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object
    from tests.cluster.sources import Sources
    from tests.fixture import Fixture

INSTALLED = "default/installation"


@pytest.fixture(scope="module")
def live(fact_sources: Sources) -> Iterator[tuple[str, ...]]:
    """The options for a live cluster whose ConfigMap has the settings, as the chart stores them."""
    text = json.dumps({"apiVersion": "gpushare-webhook/v1", "kind": "Settings", **SETTINGS})
    config_map = {"metadata": {"name": INSTALLED.partition("/")[2]}, "data": {"settings.yaml": text}}
    kubeconfig = str(fact_sources.running.control.kubeconfigs["admin"])
    with fact_sources.running.api.created("/api/v1/namespaces/default/configmaps", config_map):
        yield "--kubeconfig", kubeconfig, "--installed-as", INSTALLED


def _snapshot(live: tuple[str, ...], folder: Path) -> tuple[Object, Object]:
    """The settings and the facts of the cluster, as the command writes them."""
    settings, facts = folder / "settings.yaml", folder / "facts.json"
    ended = run("snapshot", *live, "-o", "json", "--settings", settings, "--facts", facts)
    assert (ended.code, ended.err) == (0, "")
    return json.loads(settings.read_text()), json.loads(facts.read_text())


def _applies(fixture: Fixture) -> bool:
    """Whether the command line can check what the fixture's hook is asked.

    It checks new objects, and the fixtures of the path for namespaces without hostPath have labels of their own. No
    hook receives configurations as objects, and the version of the plugin is that of the live cluster.
    """
    differs = fixture.name in DIFFER or fixture.folder in OF_CONFIGURATIONS
    usual = fixture.settings is None and fixture.operation == "CREATE"
    return usual and fixture.hook != "mutate-without-hostpath" and not differs


def test_snapshot_is_stable(live: tuple[str, ...], tmp_path: Path) -> None:
    assert _snapshot(live, tmp_path) == _snapshot(live, tmp_path)


@pytest.mark.parametrize("most", [1, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_check_of_live_cluster_equals_offline_check(live: tuple[str, ...], tmp_path: Path, most: int) -> None:
    """With this many fixtures of each check and each injection."""
    settings, facts = _snapshot(live, tmp_path)
    usual = sorted(filter(_applies, load_all()), key=lambda one: one.name)
    folders = groupby(usual, key=lambda one: one.folder)
    for fixture in chain.from_iterable(islice(fixtures, most) for _, fixtures in folders):
        offline = check(tmp_path, fixture.object, fixture.namespace, settings, facts)
        asked = run("check", "-o", "json", "-n", fixture.namespace, "-f", tmp_path / "object.json", *live)
        assert by_check(asked.json()) == offline, fixture.name
