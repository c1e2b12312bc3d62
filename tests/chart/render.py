"""The chart as Helm renders it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools
from tests.project.repository import ROOT

CHART = ROOT / "charts" / "gpushare-webhook"
NAMESPACE = "gpus"
RELEASE = "shared"
FULLNAME = "shared-gpushare-webhook"
MODES = sorted(file.name.removesuffix("-values.yaml") for file in (CHART / "ci").glob("*-values.yaml"))
"""The values under `ci/`, one file a mode."""
WEBHOOK_MODES = [mode for mode in MODES if mode != "policies-only"]
"""Those that install the webhook."""

Object = dict[str, Any]
Values = Mapping[str, Any]

_KEPT = {name: os.environ[name] for name in ("PATH", "GOGC") if name in os.environ}


class RefusedError(Exception):
    """Helm would not render; the message is Helm's."""


def helm(*arguments: str, values: str | Values = "") -> str:
    """What Helm prints, without any configuration of its user. Raises RefusedError.

    `values` names a mode, or gives values.
    """
    given = (CHART / "ci" / f"{values}-values.yaml").read_text() if isinstance(values, str) and values else values
    text = given if isinstance(given, str) else json.dumps(given)
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "values.yaml"
        file.write_text(text)
        done = subprocess.run(
            [tools.helm(), *arguments, "--values", str(file)],
            env=_KEPT | {"HOME": home, "KUBECONFIG": os.devnull},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


@cache
def _text(values: str, kubernetes: str, namespace: str) -> str:
    return helm(
        *("template", RELEASE, str(CHART), "--namespace", namespace, "--kube-version", kubernetes),
        values=values if values in MODES else json.loads(values),
    )


def rendered(values: str | Values, *, kubernetes: str = "1.36.0", namespace: str = NAMESPACE) -> str:
    """The manifests as text. Raises RefusedError."""
    return _text(values if isinstance(values, str) else json.dumps(values), kubernetes, namespace)


class _Strict(yaml.CSafeLoader):
    """Refuses a mapping that has a key twice, as Flux and others do (fluxcd/flux2#1556)."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key) for key, _ in node.value]
        twice = sorted({key for key in keys if keys.count(key) > 1})
        if twice:
            raise yaml.constructor.ConstructorError(None, None, f"{twice} twice in a mapping", node.start_mark)
        return super().construct_mapping(node, deep)


@cache
def _objects(text: str) -> tuple[Object, ...]:
    return tuple(one for one in yaml.load_all(text, _Strict) if one is not None)


def objects(values: str | Values, *, kubernetes: str = "1.36.0", namespace: str = NAMESPACE) -> tuple[Object, ...]:
    """The manifests as objects, which several tests read. Raises RefusedError."""
    return _objects(rendered(values, kubernetes=kubernetes, namespace=namespace))


def of_kind(kind: str, values: str | Values, **options: str) -> list[Object]:
    """The manifests of one kind."""
    return [one for one in objects(values, **options) if one["kind"] == kind]


def only(kind: str, values: str | Values, **options: str) -> Object:
    """The manifest of a kind that is there once, tests of Helm apart."""
    (found,) = [one for one in of_kind(kind, values, **options) if not is_test(one)]
    return found


def service(values: str | Values, part: str = "", **options: str) -> Object:
    """The Service for reviews, or that for `-metrics`."""
    (found,) = [one for one in of_kind("Service", values, **options) if one["metadata"]["name"] == FULLNAME + part]
    return found


def is_test(manifest: Object) -> bool:
    """Whether an object lives only while `helm test` runs."""
    return "helm.sh/hook" in manifest["metadata"].get("annotations", {})


def pod_spec(values: str | Values, **options: str) -> Object:
    """The spec of the webhook's pods."""
    spec: Object = only("Deployment", values, **options)["spec"]["template"]["spec"]
    return spec


def container(values: str | Values, **options: str) -> Object:
    """The webhook's container."""
    (one,) = pod_spec(values, **options)["containers"]
    found: Object = one
    return found


def entries(values: str | Values, **options: str) -> list[Object]:
    """The entries of both webhook configurations."""
    kinds = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    return [entry for kind in kinds for entry in only(kind, values, **options)["webhooks"]]


def entry(short: str, values: str | Values, **options: str) -> Object:
    """The entry of a name such as `pods.mutate`."""
    (found,) = [one for one in entries(values, **options) if one["name"] == f"{short}.gpushare-webhook.io"]
    return found
