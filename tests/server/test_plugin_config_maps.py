"""A ConfigMap of the device plugin, over TLS: warnings by default, a denial with `severities`, and the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apiserver import receive
from tests.server.certificates import Certificates
from tests.server.client import Client
from tests.server.process import Serve, serve
from tests.server.reviews import Json, review

REFUSED = "version: v1\nsharing:\n  mps:\n    resources:\n    - name: nvidia.com/gpu\n      replicas: 1\n"
MESSAGE = 'GPS030 "mps", sharing.mps.resources[0].replicas: the device plugin refuses this: must be at least 2, not 1'


def config_map(*texts: str) -> Json:
    data = dict(zip(("mps", "other"), texts, strict=False))
    metadata = {"namespace": "nvidia-device-plugin", "name": "plugin-configs"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def answer(client: Client, asked: Json) -> Json:
    """The answer to a review, after the checks that the API server makes."""
    replied = client.review("/validate", asked)
    assert replied.status == 200
    receive(replied.body, asked["request"], mutating=False)
    answered: Json = replied.json()["response"]
    return answered


def test_refused_configuration_is_warned_about(served: Serve) -> None:
    asked = review(config_map(REFUSED), namespace="nvidia-device-plugin")
    answered = answer(served.client, asked)
    assert (answered["allowed"], answered["warnings"]) == (True, [MESSAGE])
    line = served.log.event("review", uid=asked["request"]["uid"])
    assert (line["kind"], line["name"], line["codes"]) == ("ConfigMap", "plugin-configs", ["GPS030"])


def test_update_of_another_key_is_not_warned_about(client: Client) -> None:
    before, after = config_map(REFUSED), config_map(REFUSED, REFUSED.replace(": 1", ": 4"))
    answered = answer(client, review(after, "UPDATE", oldObject=before, namespace="nvidia-device-plugin"))
    assert "warnings" not in answered


def test_refused_configuration_is_denied_with_severities(certificates: Certificates, tmp_path: Path) -> None:
    settings = tmp_path / "settings.yaml"
    settings.write_text(
        "apiVersion: gpushare-webhook/v1\nkind: Settings\nseverities: {GPS030: deny}\nserver: {shutdownDelay: 0s}\n"
    )
    with serve(certificates, "--config", str(settings)) as server:
        answered = answer(server.client, review(config_map(REFUSED), namespace="nvidia-device-plugin"))
    assert answered["allowed"] is False
    assert answered["status"]["message"].startswith(f"{MESSAGE}; ")


@pytest.mark.parametrize("data", [[], {"mps": 1}], ids=["list", "number"])
def test_malformed_data_is_no_crash(client: Client, data: object) -> None:
    replied = client.review("/validate", review({**config_map(), "data": data}))
    assert replied.status == (400 if data == [] else 200)
