"""A test of many cases as one item: pytest and its processes spend more on an item than most cases take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def every_case(
    cases: Iterable[Case], name: Callable[[Case], object] = repr
) -> Callable[[Callable[[Case], None]], Callable[[], None]]:
    """Run a test for every case. Its failure holds the failure of each case, with the name of the case as a note.

    A test of no cases fails: it would prove nothing.
    """

    def decorate(test: Callable[[Case], None]) -> Callable[[], None]:
        def run() -> None:
            failures, every = [], list(cases)
            for case in every:
                try:
                    test(case)
                except Exception as error:
                    error.add_note(f"in the case {name(case)}")
                    failures.append(error)
            assert every, "there are no cases"
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(every)} cases failed", failures)

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorate
