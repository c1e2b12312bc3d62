"""Two kinds of namespaces in one control plane: the policies decide in some, and the webhook in the others.

The product's own code answers the API server in the process of the tests, so that settings change without a restart;
the tests of the webhook check its server.
"""

from __future__ import annotations

import json
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.hooks import MUTATING, VALIDATING, namespace
from tests.cluster.harness.standin import Answer as HttpAnswer
from tests.cluster.harness.standin import allow, stand_in
from webhook.admission import Hook
from webhook.admission.respond import respond
from webhook.inprocess.kinds import COVERED
from webhook.policy.workloads.kinds import group_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.cluster.harness.api import Object
    from tests.cluster.harness.cluster import ControlPlaneOnly
    from webhook.policy.evaluate import Evaluator

POLICED, HOOKED = "policed", "hooked"
STRICT = "-strict"
LEVEL = "pod-security.kubernetes.io/enforce"
_HOOKS = (Hook.MUTATE, Hook.MUTATE_WITHOUT_HOSTPATH, Hook.VALIDATE)
_PODS = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["pods"]}]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the API server. `made` is the object without what differs from one namespace to another."""

    status: int
    message: str
    warnings: tuple[str, ...]
    made: Any

    @property
    def lines(self) -> dict[str, str]:
        """The first line about each code for which the request is denied."""
        said = self.message.partition("denied the request: ")[2] or self.message.partition(" denied request: ")[2]
        return _first_of_codes(said.splitlines())

    @property
    def warned(self) -> dict[str, str]:
        """The first warning about each code."""
        return _first_of_codes([line[line.find("GPS") :] for line in self.warnings if "GPS" in line])


def _first_of_codes(lines: list[str]) -> dict[str, str]:
    return {line[:6]: line for line in reversed(lines) if line.startswith("GPS")}


@dataclass(slots=True)
class Sides:
    """Both kinds of namespaces. `evaluator` answers for the webhook; None lets it allow everything."""

    running: ControlPlaneOnly
    evaluator: Evaluator | None = None

    def collection(self, manifest: Object, space: str) -> str:
        """The path of the collection for an object in a namespace."""
        version = manifest["apiVersion"]
        plural = {one.kind.kind: one.kind.resource for one in COVERED if one.kind.group == group_of(version)}
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        return f"{root}/namespaces/{space}/{plural[manifest['kind']]}"

    def create(self, manifest: Object, space: str, *, dry: bool = True) -> Answer:
        """Create an object in a namespace."""
        return self._send("POST", self.collection(manifest, space) + ("?dryRun=All" if dry else ""), manifest, space)

    def replace(self, manifest: Object, space: str) -> Answer:
        """Replace the stored object of the same name; nothing is stored."""
        path = f"{self.collection(manifest, space)}/{manifest['metadata']['name']}?dryRun=All"
        return self._send("PUT", path, manifest, space)

    def _send(self, method: str, path: str, manifest: Object, space: str) -> Answer:
        here = {**manifest, "metadata": {**(manifest.get("metadata") or {}), "namespace": space}}
        with closing(self.running.api.connection(120)) as connection:
            connection.request(method, path, json.dumps(here), self.running.api.headers())
            response = connection.getresponse()
            content = json.loads(response.read())
            headers = response.headers.get_all("Warning", [])
        warnings = tuple(one.partition('"')[2].removesuffix('"').replace('\\"', '"') for one in headers)
        if response.status > 299:
            return Answer(response.status, str(content.get("message", "")), warnings, None)
        return Answer(response.status, "", warnings, without_space(content))


_OWN = frozenset(
    {"namespace", "uid", "creationTimestamp", "managedFields", "resourceVersion", "controller-uid"}
    | {"batch.kubernetes.io/controller-uid", "lastTransitionTime"}
)
"""Names of fields that the API server fills in: in the metadata, in conditions and in the selector of a Job."""


def without_space(made: Any) -> Any:
    """The object without what the API server gives it in its namespace."""
    if isinstance(made, dict):
        return {key: without_space(value) for key, value in made.items() if key not in _OWN}
    return [without_space(one) for one in made] if isinstance(made, list) else made


@contextmanager
def sides(running: ControlPlaneOnly) -> Iterator[Sides]:
    """Both, with hooks in force that call the product for the objects of `HOOKED` namespaces."""
    both = Sides(running)
    with ExitStack() as stack:
        for name in (POLICED, HOOKED):
            stack.enter_context(namespace(running, name))
            stack.enter_context(namespace(running, name + STRICT, **{LEVEL: "baseline"}))
        configs = {}
        for hook in _HOOKS:
            server = stack.enter_context(stand_in(running.place, lambda review, hook=hook: _answer(both, review, hook)))  # type: ignore[misc]
            configs[hook] = server.client_config()
        _register(running, configs)
        stack.callback(_remove, running)
        both.evaluator = None
        yield both


def _answer(both: Sides, review: Object, hook: Hook) -> HttpAnswer:
    if both.evaluator is None:
        return allow(review)
    body = respond(json.dumps(review).encode(), hook, both.evaluator).body()
    return HttpAnswer(200, body, {"Content-Type": "application/json"})


def _register(running: ControlPlaneOnly, configs: Mapping[Hook, Object]) -> None:
    rules = [{**one.rule(), "operations": ["CREATE", "UPDATE"]} for one in COVERED if one.preset is None]
    mutating = [
        _entry("mutate", configs[Hook.MUTATE], _PODS, HOOKED),
        _entry("strict", configs[Hook.MUTATE_WITHOUT_HOSTPATH], _PODS, HOOKED + STRICT),
    ]
    validating = [_entry("validate", configs[Hook.VALIDATE], rules, HOOKED, HOOKED + STRICT)]
    again = [{**one, "reinvocationPolicy": "IfNeeded"} for one in mutating]
    running.api.create(MUTATING, {"metadata": {"name": HOOKED}, "webhooks": again})
    running.api.create(VALIDATING, {"metadata": {"name": HOOKED}, "webhooks": validating})


def _entry(name: str, config: Object, rules: list[Any], *spaces: str) -> Object:
    named = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(spaces)}
    return {
        "name": f"{name}.example.test",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": config,
        "failurePolicy": "Fail",
        "timeoutSeconds": 30,
        "namespaceSelector": {"matchExpressions": [named]},
        "rules": rules,
    }


def _remove(running: ControlPlaneOnly) -> None:
    for path in (MUTATING, VALIDATING):
        running.api.delete(f"{path}/{HOOKED}")
