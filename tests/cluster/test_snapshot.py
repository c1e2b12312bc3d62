"""A snapshot of a live cluster: `check` offline gives the verdicts of the webhook that runs there.

Every fixture's object is checked with the fixture's settings and the facts of one live cluster. The settings are those
that the snapshot finds installed.
"""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

import pytest

from tests.cli.run import run
from tests.cluster.harness.hooks import settings_file
from tests.cluster.harness.reviews import Reviewer, reviewer
from tests.cluster.harness.selection import covering, parameters
from tests.cluster.harness.waiting import wait_for
from tests.cluster.sources import SETTINGS, Sources
from tests.contract.answers import Answered, by_check
from tests.contract.offline import DIFFER, OF_CONFIGURATIONS, check, review_of
from tests.fixture import Fixture, load_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.cluster.harness.api import Object

INSTALLED = "installation"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
HEAD = {"apiVersion": "gpushare-webhook/v1", "kind": "Settings"}


def _settings(fixture: Fixture) -> Object:
    """The fixture's settings, with the facts of the live cluster switched on."""
    return HEAD | (fixture.settings or {}) | {"facts": SETTINGS["facts"]}


HERE_TOO = {"steering/final-hook-steered": "the final hook checks the pod as it is, the command line steers"}
"""The fixtures on which hook and command line rightly differ in the live cluster, but not with their own facts."""


def _applies(fixture: Fixture) -> bool:
    """Whether the command line can check what the fixture's hook is asked.

    It checks new objects, and the fixtures of the path for namespaces without hostPath have labels of their own. No
    hook receives configurations as objects, and the version of the plugin is that of the live cluster.
    """
    differs = fixture.name in DIFFER or fixture.name in HERE_TOO or fixture.folder in OF_CONFIGURATIONS
    return fixture.operation == "CREATE" and fixture.hook != "mutate-without-hostpath" and not differs


def _key(fixture: Fixture) -> str:
    return json.dumps(_settings(fixture), sort_keys=True)


GROUPS = [tuple(group) for _, group in groupby(sorted(filter(_applies, load_all()), key=_key), key=_key)]
"""The fixtures by their settings."""


@dataclass(frozen=True, slots=True)
class Installation:
    """A webhook in a live cluster. A file has its settings, and a ConfigMap too, as the chart stores them."""

    found: Sources
    server: Reviewer

    def install(self, settings: Object) -> None:
        """Put settings in force."""
        text = json.dumps(settings)
        api = self.found.running.api
        api.patch(f"{CONFIG_MAPS}/{INSTALLED}", {"data": {"settings.yaml": text}})
        before = len(self._reloads())
        settings_file(self.found.running).write_text(text)
        os.kill(self.server.webhook.process.pid, signal.SIGHUP)
        wait_for("the settings to be reloaded", lambda: len(self._reloads()) > before, every=0.02)
        assert self._reloads()[-1] in ("reloaded", "unchanged")

    def _reloads(self) -> list[str]:
        ends = ("reloaded", "unchanged", "reload rejected")
        return [one["event"] for one in self.server.log() if one["event"] in ends and one["what"] == "settings"]

    def snapshot(self, folder: Path) -> tuple[Object, Object]:
        """The settings and the facts of the cluster, as the command writes them."""
        settings, facts = folder / "settings.yaml", folder / "facts.json"
        ended = run(
            *("snapshot", "--kubeconfig", self.found.running.control.kubeconfigs["admin"]),
            *("--installed-as", f"default/{INSTALLED}", "-o", "json", "--settings", settings, "--facts", facts),
        )
        assert (ended.code, ended.err) == (0, "")
        return json.loads(settings.read_text()), json.loads(facts.read_text())


@pytest.fixture(scope="module")
def installation(fact_sources: Sources) -> Iterator[Installation]:
    running = fact_sources.running
    running.api.create(CONFIG_MAPS, {"metadata": {"name": INSTALLED}, "data": {}})
    with reviewer(running, SETTINGS, fact_sources.kubeconfig) as server:
        yield Installation(fact_sources, server)


def _shows(fixtures: tuple[Fixture, ...]) -> set[str]:
    """The checks and injections that the fixtures are about, and the codes that they expect."""
    codes = {finding["code"] for one in fixtures for finding in one.expect.findings}
    return codes | {one.folder for one in fixtures}


@pytest.mark.parametrize("fixtures", parameters(GROUPS, covering(GROUPS, _shows), lambda fixtures: fixtures[0].name))
def test_offline_check_equals_live_webhook(
    installation: Installation, fixtures: tuple[Fixture, ...], tmp_path: Path
) -> None:
    installation.install(_settings(fixtures[0]))
    settings, facts = installation.snapshot(tmp_path)
    for fixture in fixtures:
        path = _path(fixture)
        live = installation.server.answer(review_of(fixture), path)
        offline = check(tmp_path, fixture.object, fixture.namespace, settings, facts)
        assert _comparable(live, path) == _comparable(offline, path), fixture.name


def _path(fixture: Fixture) -> str:
    """The path that the API server calls. No namespace of a fixture has a Pod Security label in the live cluster."""
    if fixture.hook == "validate" or not fixture.is_pod:
        return "/validate"
    unlabelled = (fixture.settings or {}).get("podSecurity", {}).get("unlabelled", "privileged")
    return "/mutate" if unlabelled == "privileged" else "/mutate/without-hostpath"


def _comparable(answered: Answered, path: str) -> Answered:
    """What both give: only the final hook notices missing edits, and it sends none."""
    return answered.without_patch().without("GPS019") if path == "/validate" else answered


def test_snapshot_is_stable(installation: Installation, tmp_path: Path) -> None:
    installation.install(HEAD | SETTINGS)
    assert installation.snapshot(tmp_path) == installation.snapshot(tmp_path)


@pytest.mark.parametrize("most", [1, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_check_of_live_cluster_equals_offline_check(installation: Installation, tmp_path: Path, most: int) -> None:
    """With this many fixtures of each check and each injection."""
    installation.install(HEAD | SETTINGS)
    settings, facts = installation.snapshot(tmp_path)
    usual = (one for one in load_all() if one.settings is None and _applies(one))
    folders = groupby(sorted(usual, key=lambda one: one.name), key=lambda one: one.folder)
    for fixture in chain.from_iterable(islice(fixtures, most) for _, fixtures in folders):
        offline = check(tmp_path, fixture.object, fixture.namespace, settings, facts)
        live = run(
            *("check", "-o", "json", "-n", fixture.namespace, "-f", tmp_path / "object.json"),
            *("--kubeconfig", installation.found.running.control.kubeconfigs["admin"]),
            *("--installed-as", f"default/{INSTALLED}"),
        )
        assert by_check(live.json()) == offline, fixture.name
