"""`doctor`: the findings of all checks, ordered by what to do first, and which checks ran."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from webhook.live.doctor import cluster, daemons, installation, nodes, plugin, workloads
from webhook.live.doctor.finding import Check, Finding
from webhook.live.doctor.seen import Seen
from webhook.policy.messages import printable
from webhook.report.lines import hanging, wrapped

CHECKS: tuple[Check, ...] = (
    *plugin.CHECKS,
    *daemons.CHECKS,
    *nodes.CHECKS,
    *cluster.CHECKS,
    *workloads.CHECKS,
    *installation.CHECKS,
)
"""All checks, in the order in which the answer names them."""

_ORDER = (
    # What stops all pods of the cluster.
    *("no-endpoints", "certificate", "ca-bundle-empty", "configuration-missing"),
    # The device plugin, before what depends on it.
    *("runtime-class-missing", "runtime-handler-missing", "GPS030", "config-label-unknown", "GPS033", "two-plugins"),
    *("plugin-missing", "taint-not-tolerated", "plugin-not-ready"),
    # The MPS control daemon, before the nodes that offer nothing without it.
    *("daemon-missing", "label-without-discovery", "daemon-wants-no-pods", "daemon-not-ready", "allocatable-differs"),
    # Pods, and what counts their replicas.
    *("pipe-joins-all", "pods-failed", "pod-security-mount", "template-counts-cards", "quota-counts-nothing"),
    *("GPS031", "replicas-not-ready", "selector-skips", "mode-capped", "version-skew", "setting-without-effect"),
    "webhook-not-installed",
)
"""The findings of one severity in the order in which to act on them: a cause before what follows from it."""


@dataclass(frozen=True, slots=True)
class Doctor:
    """The answer. `checked` has the titles of the checks that ran, and `unchecked` why others did not."""

    kind: ClassVar[str] = "DoctorReport"

    findings: tuple[Finding, ...]
    checked: tuple[str, ...]
    sound: tuple[str, ...]
    unchecked: tuple[tuple[str, str], ...]

    @property
    def has_errors(self) -> bool:
        return any(one.severity == "error" for one in self.findings)

    def as_data(self) -> dict[str, Any]:
        return {
            "findings": [one.as_data() for one in self.findings],
            "checked": list(self.checked),
            "notChecked": [{"what": what, "why": printable(why)} for what, why in self.unchecked],
        }

    def lines(self, width: int | None) -> Iterator[str]:
        for number, finding in enumerate(self.findings, 1):
            yield from _lines(number, finding, width)
        if not self.findings:
            yield "nothing wrong found"
        if self.sound:
            yield from wrapped(f"checked, and found well: {', '.join(self.sound)}", width, "", 1)
        for what, why in self.unchecked:
            yield from hanging(f"not checked: {what}:", printable(why), width, "  ")


def _lines(number: int, finding: Finding, width: int | None) -> Iterator[str]:
    shown = finding.as_data()
    indent = " " * (len(str(number)) + 1)
    yield from hanging(f"{number} {shown['subject']} ", shown["cause"], width, indent)
    yield f"{indent}{finding.severity}: {finding.finding}"
    for one in shown["evidence"]:
        yield from wrapped(one, width, indent)
    yield from hanging(f"{indent}do:", shown["remedy"], width, indent + "  ")


def examine(seen: Seen) -> Doctor:
    """Run the checks for which enough of the cluster could be read."""
    found: list[Finding] = []
    checked, sound, unchecked = [], [], []
    for check in CHECKS:
        lacking = [part for part in check.needs if part in seen.lacking]
        if lacking:
            unchecked.append((check.title, "; ".join(dict.fromkeys(seen.lacking[part] for part in lacking))))
            continue
        own = list(check.run(seen))
        checked.append(check.title)
        sound += [] if own else [check.title]
        found += own
    found.sort(key=lambda one: (one.severity != "error", _ORDER.index(one.finding)))
    return Doctor(tuple(found), tuple(checked), tuple(sound), tuple(unchecked))
