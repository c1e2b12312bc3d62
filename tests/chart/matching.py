"""The entries of the chart's webhook configurations that a request is sent to, by the API server's own code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.chart import tools
from tests.chart.program import Program
from tests.chart.render import Object, Values, entries

MATCHER = Program(tools.matcher)
_SUFFIX = ".gpushare-webhook.io"


def called(values: str | Values, requests: Sequence[Object]) -> list[set[str] | None]:
    """The entries, by their short names, that are called for each request; None where it could not be read."""
    (found,) = called_by([(values, requests)])
    return found


def called_by(groups: Sequence[tuple[str | Values, Sequence[Object]]]) -> list[list[set[str] | None]]:
    """The same for several installations at once."""
    listed = [{"entries": entries(values), "requests": list(requests)} for values, requests in groups]
    return [
        [
            None if verdicts is None else _called(group["entries"], request, verdicts)
            for request, verdicts in zip(group["requests"], one, strict=True)
        ]
        for group, one in zip(listed, MATCHER.answer(listed), strict=True)
    ]


def _called(held: list[Object], request: Object, verdicts: list[str]) -> set[str]:
    names = set()
    for entry, verdict in zip(held, verdicts, strict=True):
        if not any(_covers(rule, request) for rule in entry["rules"]):
            continue
        assert not verdict.startswith("error"), f"{entry['name']}: {verdict}"
        # An entry with the policy `Ignore` names no condition if it cannot evaluate them, as when they cost too much.
        assert verdict != "skipped: ", f"{entry['name']}: no condition failed"
        if verdict == "called":
            names.add(entry["name"].removesuffix(_SUFFIX))
    return names


def _covers(rule: Object, request: Object) -> bool:
    resource, subresource = request["resource"], request.get("subResource")
    wanted = (
        ("apiGroups", resource["group"]),
        ("resources", f"{resource['resource']}/{subresource}" if subresource else resource["resource"]),
        ("operations", request["operation"]),
    )
    scope = "Namespaced" if request["namespace"] else "Cluster"
    # The version does not count: the API server converts objects to a version of the rule (`matchPolicy: Equivalent`).
    return rule["scope"] == scope and all(value in rule[key] for key, value in wanted)


def selects(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a selector takes an object with these labels."""
    equal = all(labels.get(key) == value for key, value in selector.get("matchLabels", {}).items())
    return equal and all(_holds(one, labels) for one in selector.get("matchExpressions", ()))


def _holds(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key = expression["key"]
    match expression["operator"]:
        case "In":
            return labels.get(key) in expression["values"]
        case "NotIn":
            return labels.get(key) not in expression["values"]
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise ValueError(expression["operator"])


def request(
    manifest: Object,
    *,
    before: Object | None = None,
    groups: Sequence[str] = (),
    subresource: str = "",
    namespace: str = "team",
    resource: str = "",
) -> Object:
    """The AdmissionRequest for a new object, or for an update when `before` is given.

    An object without a namespace is cluster-scoped. By default, a resource is named after its kind.
    """
    group, _, version = manifest["apiVersion"].rpartition("/")
    return {
        "uid": "1",
        "kind": {"group": group, "version": version, "kind": manifest["kind"]},
        "resource": {"group": group, "version": version, "resource": resource or f"{manifest['kind'].lower()}s"},
        "subResource": subresource,
        "namespace": namespace,
        "operation": "CREATE" if before is None else "UPDATE",
        "userInfo": {"username": "someone", "groups": list(groups)},
        "object": manifest,
        "oldObject": before,
    }
