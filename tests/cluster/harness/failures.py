"""Failed webhook calls, as the API server itself counts and logs them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.cluster.harness.health import total

if TYPE_CHECKING:
    from tests.cluster.harness.controlplane import ControlPlane

_COUNTS = "apiserver_admission_webhook_"
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
    log = control.processes["api-server"].log.read_text(errors="replace")
    rejected = total(text.decode(), f"{_COUNTS}rejection_count", error_type="calling_webhook_error")
    return Failures(
        failed_open=int(total(text.decode(), f"{_COUNTS}fail_open_count")),
        rejected=int(rejected),
        logged=tuple(_LOGGED.findall(log)),
    )
