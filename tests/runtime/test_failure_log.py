"""Failures are logged when they begin, when they change, and when they end."""

from __future__ import annotations

from typing import Any

from webhook.runtime.retry import FailureLog


class Logged(list[tuple[str, str, dict[str, Any]]]):
    """All events."""

    def __call__(self, level: str, event: str, /, **fields: Any) -> None:
        self.append((level, event, fields))


def test_error_is_printable_and_short() -> None:
    logged = Logged()
    FailureLog(logged, "it fails", "it works").report("\x1b[31m\n" + "w" * 10**6)
    ((_, _, fields),) = logged
    assert fields["error"].startswith("?[31m?www")
    assert len(fields["error"]) == 600


def test_each_error_and_recovery_is_logged_once() -> None:
    logged = Logged()
    failure = FailureLog(logged, "it fails", "it works")
    failure.recover()
    assert (bool(failure), logged) == (False, [])
    for error in ("an error", "an error", OSError("another error"), "an error"):
        failure.report(error)
    assert failure
    failure.recover()
    failure.recover()
    assert not failure
    assert logged == [
        ("warning", "it fails", {"error": "an error"}),
        ("warning", "it fails", {"error": "another error"}),
        ("warning", "it fails", {"error": "an error"}),
        ("info", "it works", {}),
    ]


def test_debug_failure_recovers_at_debug() -> None:
    logged = Logged()
    failure = FailureLog(logged, "it fails", "it works", "debug")
    failure.report("an error")
    failure.recover()
    assert [level for level, _, _ in logged] == ["debug", "debug"]
