"""The steps of a review, one after the other, between marks that callgrind counts from.

`bench.callgrind` runs it as a program: `python -m bench.steps COUNT`. It prints what each pair of marks holds.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webhook.admission import Hook, Outcome, respond
from webhook.admission.review import Request, read
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.patch import build, verify
from webhook.policy.context import RequestContext
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Verdict

REVIEWS = Path(__file__).parents[1] / "tests" / "reviews"
EVALUATOR = OfflineEvaluator.of(Settings())

WARM_UP = 20
"""Reviews before those that count: they fill the bounded caches, as the first reviews of a server do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A recorded review, the hook that it is sent to, and how many more containers it gets."""

    title: str
    file: str
    hook: Hook = Hook.MUTATE
    more_containers: int = 0


SUBJECTS = (
    Subject("no GPU", "create-pod-no-gpu"),
    Subject("one replica", "create-pod-vectoradd"),
    Subject("two replicas, denied", "create-pod-two-replicas", Hook.VALIDATE),
    Subject("notebook", "create-pod-notebook-22fqv"),
    Subject("notebook and 32 more containers", "create-pod-notebook-22fqv", more_containers=32),
)


def bodies(subject: Subject, count: int) -> list[bytes]:
    """Reviews as the API server sends them: without spaces, each of a pod with another name, uid and environment."""
    review = json.loads((REVIEWS / f"{subject.file}.json").read_text())
    spec = review["request"]["object"]["spec"]
    last = spec["containers"][-1]
    for number in range(subject.more_containers):
        env = [{"name": f"SETTING_{entry}", "value": f"value {entry} of {number}"} for entry in range(12)]
        spec["containers"].append({**last, "name": f"more-{number}", "env": env})
    return [_numbered(review, number) for number in range(count)]


def _numbered(review: dict[str, Any], number: int) -> bytes:
    request = review["request"]
    request["uid"] = f"{number:08x}-3d4c-47d8-a4a2-5faaf7a0dde8"
    request["name"] = request["object"]["metadata"]["name"] = f"pod-{number:08}"
    for container in request["object"]["spec"]["containers"]:
        # An entry of its own first: the recorded pods have none, some, or refer to a field.
        kept = [entry for entry in container.get("env", ()) if entry["name"] != "RUN"]
        container["env"] = [{"name": "RUN", "value": f"run {number:08}"}, *kept]
    return json.dumps(review, separators=(",", ":")).encode()


def decide(request: Request, hook: Hook) -> Verdict:
    """The verdict for the pod of a request that creates it."""
    origin = RequestContext(request.namespace, is_final_hook=hook is Hook.VALIDATE, hostpath=hook.hostpath, groups=())
    return EVALUATOR.evaluate(request.object, "", "Pod", origin)  # type: ignore[arg-type]


def answer(body: bytes, hook: Hook) -> Outcome:
    """The outcome for a review under default settings, without knowledge of a cluster."""
    return respond(body, hook, EVALUATOR)


def steps(subject: Subject, count: int) -> Iterator[tuple[str, Callable[[Any], object], Sequence[Any]]]:
    """Each step by its name, and what it is given for each of `count` reviews.

    Every step gets objects that no step has seen before, so that nothing is remembered of an earlier call.
    """
    hook, sent = subject.hook, bodies(subject, count)
    yield "decode", read, sent
    yield "decide", lambda request: decide(request, hook), [read(body) for body in sent]
    edited = [(request.object, decide(request, hook).edits) for request in map(read, sent)]
    yield "patch", lambda pair: build(*pair), edited
    yield "proof", lambda pair: verify(*pair), [(pod, build(pod, edits)) for pod, edits in edited]
    yield "encode", Outcome.body, [answer(body, hook) for body in sent]
    yield "all", lambda body: answer(body, hook).body(), sent


def mark() -> None:
    """Where callgrind writes down what it has counted: the call of a C function that nothing else here calls."""
    os.getppid()


def main() -> None:
    """Perform each step for COUNT and for twice as many reviews, each time between two marks."""
    once = int(sys.argv[1])
    for subject in SUBJECTS:
        for _, step, given in steps(subject, WARM_UP):
            perform(step, given)
    for subject in SUBJECTS:
        for count in (once, 2 * once):
            for name, step, given in steps(subject, count):
                # The garbage collector skips older objects: a full collection that happens in one step
                # would cost more than the step.
                gc.collect()
                gc.freeze()
                mark()
                perform(step, given)
                mark()
                print(json.dumps([subject.title, name, count]), flush=True)


def perform(step: Callable[[Any], object], given: Sequence[Any]) -> None:
    """Perform a step for each of what it is given."""
    for one in given:
        step(one)


if __name__ == "__main__":
    main()
