"""The log: one line per decision, and never the object."""

from __future__ import annotations

import json
from datetime import datetime

from tests.server.certificates import Certificates
from tests.server.process import Serve
from tests.server.reviews import pod, review
from tests.server.within import running
from webhook.policy.verdict import MOST_EDITS

SECRET = "hunter2-the-marker"  # noqa: S105 - a marker, to be found where it must not be
QUOTED = "the-quoted-marker"
A_ASKS_FOR_TWO = 'container "train" asks for 2 of "nvidia.com/gpu"; the limit is 1 where it is shared through MPS'


def test_review_is_one_line_with_all_fields(served: Serve) -> None:
    served.client.review("/mutate", review(pod(2), uid="one-line"))
    event = served.log.event("review", uid="one-line")
    assert event.pop("microseconds") > 0
    assert datetime.fromisoformat(event.pop("time")).tzinfo is not None
    assert event == {
        "level": "info",
        "event": "review",
        "hook": "mutate",
        "uid": "one-line",
        "namespace": "team-a",
        "name": "train",
        "kind": "Pod",
        "operation": "CREATE",
        "user": "someone",
        "dryRun": False,
        "decision": "denied",
        "allowed": False,
        "codes": ["GPS001"],
        "findings": 1,
        "message": f"GPS001 {A_ASKS_FOR_TWO}",
        "injections": [],
        "reported": [],
        "edits": 0,
    }


def test_dry_run_and_unknown_user_are_logged(served: Serve) -> None:
    served.client.review("/mutate", review(pod(), uid="rehearsed", dryRun=True, userInfo={}))
    event = served.log.event("review", uid="rehearsed")
    assert (event["dryRun"], event["user"], event["message"]) == (True, "", "")


def test_mutated_pod_is_logged_with_number_of_edits(served: Serve) -> None:
    served.client.review("/mutate/without-hostpath", review(pod(), uid="completed"))
    event = served.log.event("review", uid="completed")
    assert (event["decision"], event["codes"], event["edits"]) == ("allowed", [], 4)


def test_patch_that_is_not_built_is_a_warning_and_another_is_none(served: Serve) -> None:
    limits = {"limits": {"nvidia.com/gpu": 1}}
    many = [{"name": f"c{number}", "resources": limits} for number in range(MOST_EDITS)]
    served.client.review("/mutate", review(pod(), uid="built"))
    served.client.review("/mutate", review(pod(initContainers=many), uid="not built"))
    warning = served.log.event("patch not built", uid="not built")
    assert (warning["level"], str(MOST_EDITS) in warning["reason"]) == ("warning", True)
    events = [json.loads(line) for line in served.log.so_far()]
    assert {event["level"] for event in events if event.get("uid") == "built"} <= {"info", "debug"}


def test_only_values_that_denial_quotes_are_logged(served: Serve) -> None:
    marked = pod(2, hostname=SECRET)
    container = marked["spec"]["containers"][0]
    container["env"] = [
        {"name": "TOKEN", "value": SECRET},
        {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": f"/{QUOTED}"},
        {"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": SECRET},
    ]
    marked["metadata"]["annotations"] = {"gpushare-webhook/active-thread-percentage": QUOTED, "note": SECRET}
    for path in ("/mutate", "/validate"):
        refused = served.client.review(path, review(marked, uid=f"marked{path}"))
        assert refused.json()["response"]["allowed"] is False
        event = served.log.event("review", uid=f"marked{path}")
        assert event.pop("message").count(QUOTED) == 2
        assert QUOTED not in str(event)
    broken = json.dumps(review({**marked, "spec": {"containers": SECRET}})).encode()
    assert served.client.post("/mutate", broken).status == 400
    assert served.client.post("/mutate", broken[:-3]).status == 400
    served.client.review("/mutate", review(pod(), uid="after the marked"))
    served.log.event("review", uid="after the marked")
    assert SECRET not in "".join(served.log.so_far())


async def test_text_format_is_one_line(certificates: Certificates) -> None:
    async with running(certificates, "log: {format: text}") as server:
        await server.ask(server.client.review, "/mutate", review(pod(2, name="a\nb"), uid="text"))
        line = await server.ask(server.log.wait_for, lambda line: "uid=text" in line)
    time, level, event, *fields = line.split()
    assert datetime.fromisoformat(time).tzinfo is not None
    assert (level, event) == ("info", "review")
    assert {"hook=mutate", "namespace=team-a", "kind=Pod", "decision=denied", 'codes=["GPS001"]'} <= set(fields)


async def test_debug_log_names_what_is_not_injected(certificates: Certificates) -> None:
    known = "runtimeClasses: [{name: nvidia}, {name: nvidia-legacy}]"
    async with running(certificates, known=known) as server:
        await server.ask(server.client.review, "/mutate", review(pod(), uid="cdi"))
        event = await server.ask(lambda: server.log.event("not injected", uid="cdi", injection="runtimeClass"))
    assert (event["level"], "CDI" in event["reason"]) == ("debug", True)
