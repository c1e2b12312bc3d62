"""Profiles of the property tests: `HYPOTHESIS_PROFILE=thorough` and `fuzz` search longer, `ci` always the same."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Callable, Generator, Mapping

import pytest
from hypothesis import HealthCheck, settings

from tests.pki.virtual import VirtualLoop

pytest_plugins = ["tests.exhaustive", "tests.record"]

_SLOW_MACHINES = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True, database=None)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=1000)
settings.register_profile("fuzz", settings.get_profile("default"), max_examples=20_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without the garbage collector. The objects of tests stay, so that it ignores them later."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.enable()
    return result


def pytest_asyncio_loop_factories(item: pytest.Item) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Tests that are marked as `virtual` never wait."""
    return {"loop": VirtualLoop if item.get_closest_marker("virtual") else asyncio.new_event_loop}
