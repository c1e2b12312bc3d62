"""The registries of checks and injections, and the policies of namespaces that are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.policy import checks, injections
from webhook.policy.checks import CHECKS
from webhook.policy.checks.check import Check
from webhook.policy.injections import ALL, STEERING
from webhook.policy.injections.injection import Injection
from webhook.policy.settings.elements import NamespaceRule
from webhook.policy.settings.settings import Settings
from webhook.policy.verdict import Severity

CONTRACT = {
    **dict.fromkeys(("GPS001", "GPS002", "GPS003", "GPS004", "GPS010", "GPS017", "GPS018"), Severity.DENY),
    **dict.fromkeys(("GPS006", "GPS007", "GPS008", "GPS009", "GPS011", "GPS012"), Severity.WARN),
    "GPS005": Severity.AUDIT,
    **dict.fromkeys(("GPS013", "GPS014", "GPS019", "GPS023"), Severity.WARN),
}
"""Codes that are released, with their default severity. They never change; new codes need no entry."""


def modules_in(package: str, pattern: str) -> set[str]:
    """The modules of a package's folder."""
    return {file.stem for file in Path(package).parent.glob(pattern)}


def modules_of(registered: Sequence[Check[Any] | Injection]) -> set[str]:
    """The modules that define what is registered."""
    return {_function(one).__module__.rpartition(".")[2] for one in registered}


def _function(one: Check[Any] | Injection) -> Callable[..., object]:
    return one.run if isinstance(one, Check) else one.edits


def test_check_registry_matches_folder() -> None:
    assert modules_of(CHECKS) == modules_in(checks.__file__, "gps*.py")
    assert len(CHECKS) == len(modules_of(CHECKS))


def test_injection_registry_matches_folder() -> None:
    assert modules_of(ALL) == modules_in(injections.__file__, "*.py") - {"__init__", "injection"}
    assert len(ALL) == len(modules_of(ALL))


def test_check_codes_are_ordered_and_name_their_module() -> None:
    codes = [check.code for check in CHECKS]
    assert codes == sorted(set(codes))
    for check in CHECKS:
        assert re.fullmatch(r"GPS\d{3}", check.code)
        assert check.run.__module__.rpartition(".")[2].startswith(f"{check.code.lower()}_")


def test_injection_names_are_unique_and_steering_is_first() -> None:
    assert len({injection.name for injection in ALL}) == len(ALL)
    assert ALL[0] is STEERING


def test_released_codes_keep_their_default_severity() -> None:
    assert CONTRACT.items() <= {check.code: check.severity for check in CHECKS}.items()


def test_unknown_code_of_tests_is_unknown() -> None:
    assert "GPS999" not in {check.code for check in CHECKS}


def test_namespace_policies_in_the_cache_are_bounded() -> None:
    snapshot = OfflineEvaluator.of(Settings(namespaces=(NamespaceRule(names=("a",), mode="audit"),))).snapshot
    first = snapshot.of("a")
    for number in range(5000):
        snapshot.of(f"namespace-{number}")
    again = snapshot.of("a")
    assert again is not first
    assert again.severities == first.severities
    assert first.severities["GPS001"] is Severity.AUDIT
