"""The cap on the mode that an administrator sets on a running installation."""

from __future__ import annotations

from typing import Final

from webhook.policy.messages import printable
from webhook.policy.rules import MODES, Cap
from webhook.server.observe.log import EventLog
from webhook.server.observe.metrics import Metrics

_HIGHEST: Final = MODES[-1]
"""The mode that caps nothing."""


class ModeCap:
    """The cap in force. Changes are logged and exported as metrics; an unknown mode changes nothing.

    `of`: what it caps, `everything` or `policies` alone, which obey an annotation of their own.
    """

    def __init__(self, log: EventLog, metrics: Metrics, of: str = "everything") -> None:
        self._of = of
        self.value: Cap = _HIGHEST
        self._unknown: str | None = None
        self._log = log
        self._metrics = metrics
        self._export()

    @property
    def description(self) -> str:
        """The cap in words; empty if there is none."""
        return "" if self.value == _HIGHEST else f"mode capped to {self.value}"

    def take(self, mode: str | None) -> None:
        """Take the mode of the annotation; None if there is no annotation."""
        wanted = _HIGHEST if mode is None else mode
        if wanted in MODES:
            self._unknown = None
            self._hold(wanted)
        else:
            self._ignore(wanted)

    def take_as_policies(self, mode: str | None) -> None:
        """Take the mode as policies do: an unknown one caps nothing (`webhook.inprocess.installation.uncapped`)."""
        if mode is not None and mode not in MODES:
            self._hold(_HIGHEST)
        self.take(mode)

    def _hold(self, mode: Cap) -> None:
        before, self.value = self.value, mode
        if self.value != before:
            self._export()
            if self.value == _HIGHEST:
                self._log.event("info", "mode no longer capped", of=self._of, before=before)
            else:
                self._log.event("warning", "mode capped", of=self._of, cap=self.value, before=before)

    def _ignore(self, mode: str) -> None:
        """Log an unknown mode once."""
        if mode != self._unknown:
            self._unknown = mode
            allowed = ", ".join(MODES[:-1])
            fields = {"of": self._of, "mode": printable(mode), "allowed": allowed, "cap": self.value}
            self._log.event("error", "unknown mode cap ignored", **fields)

    def _export(self) -> None:
        for mode in MODES[:-1]:
            self._metrics.mode_cap.labels(mode, self._of).set(mode == self.value)
