"""What the engine costs: decide + patch + proof for recorded pods, in microseconds, garbage collector on.

Run: `.venv/bin/python bench/engine.py`. Each figure is the fastest of many rounds, since other work on the machine only
adds. A fixed piece of plain Python is timed beside it, and the ratio to that is what to compare between machines.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from webhook.admission import Hook, respond
from webhook.patch import build, flaw
from webhook.policy.case import Origin
from webhook.policy.checks import CHECKS
from webhook.policy.facts import UNKNOWN
from webhook.policy.judge import judge
from webhook.policy.kinds import BUILT_IN, pods
from webhook.policy.rules import Ruleset
from webhook.policy.settings import Settings

REVIEWS = Path(__file__).parent.parent / "tests" / "reviews"
NAMES = (
    "create-pod-no-gpu",
    "create-pod-vectoradd",
    "create-pod-two-replicas",
    "create-pod-inference-7744579ffb-pndhm",
    "create-pod-notebook-22fqv",
)
ROUNDS = 200
CALLS = 50


def main() -> None:
    ruleset = Ruleset(Settings(), CHECKS, UNKNOWN)
    yardstick = fastest(lambda: sorted(range(200), key=lambda number: -number))
    print(f"yardstick: {yardstick:.1f} µs\n")
    print(f"{'review':42} {'bytes':>6} {'engine µs':>10} {'/ yardstick':>12} {'whole answer µs':>16}")
    for name in NAMES:
        body = (REVIEWS / f"{name}.json").read_bytes()
        body = json.dumps(json.loads(body), separators=(",", ":")).encode()
        pod = json.loads(body)["request"]["object"]
        engine = fastest(decided(pod, ruleset))
        whole = fastest(lambda body=body: respond(body, Hook.MUTATE, ruleset, BUILT_IN).body())  # type: ignore[misc]
        print(f"{name:42} {len(body):6} {engine:10.1f} {engine / yardstick:12.2f} {whole:16.1f}")


def decided(pod: Any, ruleset: Ruleset) -> Callable[[], object]:
    """View, decision, patch and proof of one pod."""

    def call() -> object:
        verdict = judge(pods(BUILT_IN, "", "Pod", pod), Origin("team-a", hostpath=True, groups=()), ruleset)
        return flaw(pod, build(pod, verdict.edits))

    return call


def fastest(call: Callable[[], object]) -> float:
    """Microseconds a call, in the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = perf_counter_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (perf_counter_ns() - started) / CALLS)
    return best / 1000


if __name__ == "__main__":
    main()
