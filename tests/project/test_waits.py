"""Code waits for an event or a condition with a deadline. It neither sleeps nor looks again and again.

A wait for a fixed time is a poll or a race. Where nothing announces a change (another process, the kernel, a file
system), `JUSTIFIED` names the function that may poll, with the reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from tests.project.repository import modules

JUSTIFIED = {
    # A schedule or a retry: the time is the point.
    "webhook/runtime/retry.py: delay": "sleeps for the functions below, after a failure or between writes",
    "webhook/runtime/retry.py: Backoff.wait": "waits after a failure",
    "webhook/runtime/supervisor.py: Supervisor._keep": "waits before it restarts a task that failed",
    "webhook/cluster/live_facts.py: LiveFacts._run": "gathers changes, and waits until facts are too old",
    "webhook/pki/keeper.py: Keeper.run": "waits until the next certificate is due, and gathers changes",
    "webhook/pki/keeper.py: Keeper._reconcile": "waits for the limit on writes",
    # Nothing announces the change.
    "webhook/server/reload.py: Reload.watch": "Python has no notification of a changed file",
    "webhook/server/observe/log.py: EventLog._write": "a disk does not announce that it has space again",
    "webhook/server/observe/watchdog.py: LoopWatchdog._await_recovery": "a stalled loop cannot announce anything",
    "webhook/server/http/load_shedder.py: LoadShedder.enter": "lets the loop read from other connections",
    "tests/cluster/harness/waiting.py: wait_for": "looks at other processes, with a deadline",
    "tests/server/lines.py: until": "looks at another process, with a deadline",
    # The length of time is what the test is about.
    "bench/attacks.py: _probed.probe": "probes at a steady rate",
    "tests/admission/test_structure.py: test_float_decoding_yields_to_threads.turn": "measures how a thread waits",
    "tests/cluster/test_rotation.py: test_three_replicas_rotate_without_lost_creates": "creates at a steady rate",
    "tests/cluster/test_webhook_overload.py: _halt": "suspends a process",
    "tests/runtime/test_retry.py: test_wait_for_event_ends_early": "tests the delay itself, in virtual time",
    "tests/server/test_cluster_doubts.py: test_nodes_that_come_and_go_are_named_once_in_ten_minutes": "in virtual time",
    "tests/server/test_watchdog.py: test_suspended_process_logs_stall_and_sheds_late_review": "suspends a process",
}


def called(node: ast.AST) -> str:
    """The last part of the name of the function that a node calls; empty for everything else."""
    match node:
        case ast.Call(func=ast.Name(id=function) | ast.Attribute(attr=function)):
            return function
    return ""


def durations(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call that can say how long it takes."""
    return [*call.args, *(one.value for one in call.keywords if one.arg == "timeout")]


def constants(tree: ast.Module) -> set[str]:
    """The names of the module's numbers."""
    found: set[str] = set()
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=constant)], value=ast.Constant(value=int() | float())):
                found.add(constant)
    return found


def events_never_set(tree: ast.Module) -> set[str]:
    """The names of the events that are made, waited for and used in no other way."""
    made: set[str] = set()
    waited: set[ast.expr] = set()
    uses: list[ast.expr] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if called(value) == "Event":
                made.add(ast.unparse(target))
            case ast.Attribute(value=event, attr="wait" | "is_set"):
                waited.add(event)
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            uses.append(node)
    return made - {ast.unparse(use) for use in uses if use not in waited}


@dataclass(frozen=True, slots=True)
class Scope:
    """What stands around a node: the function, and whether a loop or a limit in time is between the two."""

    function: str = ""
    loop: bool = False
    limit: bool = False

    def enter(self, node: ast.AST) -> Scope:
        """The scope of what is inside a node."""
        match node:
            case ast.FunctionDef(name=inner) | ast.AsyncFunctionDef(name=inner) | ast.ClassDef(name=inner):
                return Scope(f"{self.function}.{inner}".lstrip("."))
            case ast.While() | ast.For() | ast.AsyncFor() | ast.ListComp() | ast.GeneratorExp():
                return replace(self, loop=True)
            case ast.AsyncWith(items=items) if any(called(item.context_expr) == "timeout" for item in items):
                return replace(self, limit=True)
            case ast.Call() if called(node) == "wait_for":
                return replace(self, limit=True)
        return self


class Waits:
    """The calls of a module that wait for a length of time."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._constants = constants(tree)
        self._never_set = events_never_set(tree)

    def __iter__(self) -> Iterator[tuple[str, ast.Call]]:
        """Each call, after the qualified name of the function that holds it."""
        return self._inside(self._tree, Scope())

    def _inside(self, node: ast.AST, scope: Scope) -> Iterator[tuple[str, ast.Call]]:
        if isinstance(node, ast.Call) and self._waits(node, scope):
            yield scope.function, node
        for child in ast.iter_child_nodes(node):
            yield from self._inside(child, scope.enter(node))

    def _waits(self, call: ast.Call, scope: Scope) -> bool:
        match called(call):
            case "sleep":
                return scope.loop or [ast.unparse(argument) for argument in call.args] != ["0"]
            case "delay":
                return True
            case "wait_for_event":
                return scope.loop
            case "wait" if isinstance(call.func, ast.Attribute) and self._is_throw_away(call.func.value):
                return scope.limit or bool(durations(call))
            case "wait" if isinstance(call.func, ast.Name):
                return False  # that of tests in virtual time, or one for futures
            case "wait" | "wait_for" | "timeout" | "join":
                return scope.loop and any(map(self._is_fixed, durations(call)))
        return False

    def _is_throw_away(self, event: ast.expr) -> bool:
        return called(event) == "Event" or ast.unparse(event) in self._never_set

    def _is_fixed(self, duration: ast.expr) -> bool:
        match duration:
            case ast.Constant(value=int() | float()):
                return True
            case ast.Name(id=constant):
                return constant in self._constants
        return False


@pytest.mark.parametrize(
    "source",
    [
        "time.sleep(0.1)",
        "await asyncio.sleep(delay)",
        "while not ready(): await asyncio.sleep(0)",
        "threading.Event().wait(0.01)",
        "await asyncio.wait_for(asyncio.Event().wait(), 0.01)",
        "async with asyncio.timeout(seconds): await asyncio.Event().wait()",
        "rest = threading.Event()\nwhile not ready(): rest.wait(interval)",
        "self._rest = threading.Event()\nwhile not ready(): self._rest.wait(interval)",
        "await delay(1)",
        "while not ready(): await wait_for_event(stopping, interval)",
        "LOOK = 0.05\nwhile not ready(): stopping.wait(LOOK)",
        "while not ready(): await asyncio.wait(tasks, timeout=0.05)",
        "for _ in range(10): process.wait_for(changed, 0.05)",
        "while not ready():\n    async with asyncio.timeout(0.05): await changed.wait()",
    ],
)
def test_poll_is_found(source: str) -> None:
    assert len(list(Waits(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "await asyncio.sleep(0)",
        "await wait_for_event(stopping, grace)",
        "await asyncio.Event().wait()",
        "ended = asyncio.Event()\nended.set()\nawait asyncio.wait_for(ended.wait(), 20)",
        "ended = threading.Event()\nstart(ended)\nended.wait(20)",
        "while not ready(): condition.wait(deadline - time.monotonic())",
        "wait_for('the pod', ready, seconds=30)",
        "while True:\n    def ask(): done.wait(20)",
        "for thread in threads: thread.join()",
    ],
)
def test_wait_for_event_or_deadline_is_accepted(source: str) -> None:
    assert list(Waits(ast.parse(source))) == []


def test_nothing_waits_for_a_length_of_time() -> None:
    found = [
        (f"{module}: {place}", f"line {call.lineno}: {ast.unparse(call)}")
        for module, tree in modules().items()
        for place, call in Waits(tree)
    ]
    extra = [f"{place}: {call}" for place, call in found if place not in JUSTIFIED]
    assert not extra, "\n".join(extra)
    gone = JUSTIFIED.keys() - {place for place, _ in found}
    assert not gone, f"these no longer wait, remove them from the list: {sorted(gone)}"
