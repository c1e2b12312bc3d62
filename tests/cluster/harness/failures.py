"""Failed webhook calls, as the API server itself counts and logs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.cluster.harness.controlplane import ControlPlane

_OPEN = "apiserver_admission_webhook_fail_open_count{"
_REJECTED = "apiserver_admission_webhook_rejection_count{"
_CALL_FAILED = 'error_type="calling_webhook_error"'
# client-go's words are the API server's own; what precedes them is the name of the hook.
_LOGGED = re.compile(r"Failed calling webhook, failing open (.*)")


@dataclass(frozen=True, slots=True)
class Failures:
    """Failed calls: those that were ignored, with their log messages, and those that rejected an object."""

    failed_open: int
    rejected: int
    logged: tuple[str, ...]

    def since(self, before: Failures) -> Failures:
        """The failures since `before`."""
        return Failures(
            self.failed_open - before.failed_open,
            self.rejected - before.rejected,
            self.logged[len(before.logged) :],
        )


NONE = Failures(0, 0, ())


def failures(control: ControlPlane) -> Failures:
    """The failures since the API server started."""
    _, _, text = control.api.request("GET", "/metrics")
    lines = text.decode().splitlines()
    log = control.processes["api-server"].log.read_text(errors="replace")
    return Failures(
        failed_open=_sum(line for line in lines if line.startswith(_OPEN)),
        rejected=_sum(line for line in lines if line.startswith(_REJECTED) and _CALL_FAILED in line),
        logged=tuple(_LOGGED.findall(log)),
    )


def _sum(lines: Iterable[str]) -> int:
    return sum(int(float(line.rpartition(" ")[2])) for line in lines)
