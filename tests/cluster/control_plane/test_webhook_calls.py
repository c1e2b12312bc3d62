"""How the API server handles the answers of webhooks, which the webhook's own answers rely on."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.manifests import PODS, labelled, pod
from tests.cluster.harness.standin import Answer, StandIn, allow, registered, stand_in
from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cluster.harness.cluster import ControlPlaneOnly

LATER = {"Retry-After": "1", "Connection": "close"}


@contextmanager
def _called(running: ControlPlaneOnly, answer: Callable[[dict[str, Any]], Answer], policy: str) -> Iterator[StandIn]:
    """A stand-in that the API server calls, in force in the block."""
    with (
        stand_in(running.place, answer) as webhook,
        registered(running, webhook, "stand-in", failurePolicy=policy, timeoutSeconds=5),
    ):
        yield webhook


def _create(running: ControlPlaneOnly, webhook: StandIn) -> dict[str, Any]:
    """Create a pod once the API server has learned of the configuration, which it does a moment after it is stored."""

    def called() -> dict[str, Any] | None:
        made = running.api.create(f"{PODS}?dryRun=All", labelled(pod("one"), called="yes"))
        return made if webhook.reviews else None

    return wait_for("the webhook to be called", called)


def test_overload_with_retry_after_is_retried(running: ControlPlaneOnly) -> None:
    answers = iter([Answer(503, b"later", LATER), Answer(503, b"later", LATER)])
    with _called(running, lambda review: next(answers, allow(review)), "Fail") as webhook:
        _create(running, webhook)
        uids = {review["request"]["uid"] for review in webhook.reviews}
        assert (len(webhook.reviews), len(uids)) == (3, 1)


def test_overload_without_retry_after_is_not_retried(running: ControlPlaneOnly) -> None:
    with _called(running, lambda _: Answer(503, b"later"), "Ignore") as webhook:
        assert _create(running, webhook)["metadata"]["name"] == "one"
        assert len(webhook.reviews) == 1


def test_review_of_pod_create_is_recorded(running: ControlPlaneOnly) -> None:
    with _called(running, allow, "Fail") as webhook:
        _create(running, webhook)
        (review,) = webhook.reviews
        assert (review["apiVersion"], review["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
        request = review["request"]
        assert (request["operation"], request["oldObject"], request["dryRun"]) == ("CREATE", None, True)
        assert request["object"]["metadata"]["managedFields"], "the field managers travel along"
        limits = request["object"]["spec"]["containers"][0]["resources"]
        assert limits["requests"] == limits["limits"], "requests are defaulted before"
