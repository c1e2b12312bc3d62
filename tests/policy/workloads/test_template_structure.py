"""The structure of a pod template, in the fields that only the injections read."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy.context import RequestContext
from webhook.policy.injections.pipe_mount import SAFE_TO_EVICT
from webhook.policy.pods.reading import MalformedError
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Path

EVALUATOR = OfflineEvaluator.of(Settings())
CONTAINER = {"name": "c", "resources": {"limits": {"nvidia.com/gpu": 1}}}
TEMPLATE: Path = ("spec", "template")


@pytest.mark.parametrize(
    "origin", [RequestContext("team-a"), RequestContext("team-a", is_final_hook=True, hostpath=True, groups=())]
)
@pytest.mark.parametrize(
    ("metadata", "spec", "path"),
    [
        ({}, {"tolerations": [{"key": "nvidia.com/gpu", "value": 1}]}, ("spec", "tolerations", 0, "value")),
        ({}, {"volumes": [{"name": 1}]}, ("spec", "volumes", 0, "name")),
        ({"annotations": {SAFE_TO_EVICT: 1}}, {}, ("metadata", "annotations", SAFE_TO_EVICT)),
    ],
)
def test_template_with_a_number_for_text_is_malformed(
    metadata: dict[str, Any], spec: dict[str, Any], path: Path, origin: RequestContext
) -> None:
    template = {"metadata": metadata, "spec": {"containers": [CONTAINER], **spec}}
    with pytest.raises(MalformedError, match="expected text, found a number") as malformed:
        EVALUATOR.evaluate({"spec": {"template": template}}, "apps", "Deployment", origin)
    assert malformed.value.path == (*TEMPLATE, *path)
