"""The chart as Helm renders it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from tests.chart import tools
from tests.chart.program import KEPT, Program
from tests.project.repository import ROOT
from webhook.cluster.installations import RENDER

CHART = ROOT / "charts" / "gpushare-webhook"
NAMESPACE = "gpus"
RELEASE = "shared"
FULLNAME = "shared-gpushare-webhook"
REGISTRY = "registry.example.com"
MODES = sorted(file.name.removesuffix("-values.yaml") for file in (CHART / "ci").glob("*-values.yaml"))
"""The values under `ci/`, one file a mode."""
WEBHOOK_MODES = [mode for mode in MODES if mode != "guard-only"]
"""Those that install the webhook."""

Object = dict[str, Any]
Values = Mapping[str, Any]
Refused = dict[str, tuple[Values, str]]
"""Values that Helm refuses, with what the message says, by what is wrong."""

RENDERER = Program(tools.renderer)


def cases(name: str) -> Object:
    """The content of a file in `cases`."""
    found: Object = yaml.safe_load((Path(__file__).parent / "cases" / f"{name}.yaml").read_text())
    return found


def refused(name: str) -> Refused:
    """The table of a file in `cases`."""
    return {label: (case["values"], case["message"]) for label, case in cases(name).items()}


class RefusedError(Exception):
    """Helm would not render; the message is Helm's."""


def helm(*arguments: str, values: str | Values = "") -> str:
    """What Helm prints, without any configuration of its user. Raises RefusedError.

    `values` names a mode, or gives values, to which a registry of the image is added.
    """
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "values.yaml"
        file.write_text(_written(values))
        done = subprocess.run(
            [tools.helm(), *arguments, "--values", str(file)],
            env=KEPT | {"HOME": home, "KUBECONFIG": os.devnull},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    if done.returncode:
        raise RefusedError(done.stderr)
    return done.stdout


def _written(values: str | Values) -> str:
    if not isinstance(values, str):
        image = values.get("image", {})
        return json.dumps({**values, "image": {"registry": REGISTRY} | image if image is not None else None})
    return (CHART / "ci" / f"{values}-values.yaml").read_text() if values else ""


@dataclass(frozen=True)
class Rendered:
    """A rendered chart: the manifests as text and as objects, which several tests read, and the notes."""

    text: str
    objects: tuple[Object, ...]
    notes: str


@lru_cache(maxsize=100)
def _rendered(request: str) -> Rendered:
    answer = RENDERER.answer(json.loads(request))
    if answer["refused"]:
        raise RefusedError(answer["refused"])
    return Rendered(answer["text"], tuple(answer["objects"]), answer["notes"].strip() + "\n")


def render(
    values: str | Values,
    *,
    chart: Path = CHART,
    release: str = RELEASE,
    namespace: str = NAMESPACE,
    kubernetes: str = "1.36.0",
    apis: Sequence[str] = (),
) -> Rendered:
    """Render the chart, for an API server that serves `apis` besides the usual ones. Raises RefusedError.

    A mapping that has a key twice is refused too.
    """
    settings = {"release": release, "namespace": namespace, "kubernetes": kubernetes, "apis": list(apis)}
    return _rendered(json.dumps({"chart": str(chart), "values": _written(values), **settings}))


def rendered(values: str | Values, **options: Any) -> str:
    """The manifests as text. Raises RefusedError."""
    return render(values, **options).text


def objects(values: str | Values, **options: Any) -> tuple[Object, ...]:
    """The manifests as objects. Raises RefusedError."""
    return render(values, **options).objects


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


def undigested(text: str) -> str:
    """Manifests without the digests of their render, which every value changes."""
    return re.sub(rf"(?<={RENDER}: )(\S+@)\w+", r"\1DIGEST", text)


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
