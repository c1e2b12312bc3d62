"""The programs that a container launches: by its command line or script, or by its variables.

At most 16 KiB of `command` and `args` are read; what the limit cuts does not count. A value that the shell, Kubernetes
or a template fills in is unknown, and an unknown program launches nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from webhook.policy.launchers.words import CommandLine, Launch, is_shell
from webhook.policy.pods.pod import MULTI_RANK, SHARDS, Container
from webhook.policy.pods.reading import Members, texts
from webhook.policy.verdict import Path

if TYPE_CHECKING:
    from webhook.policy.launchers.memory import MemoryUse
    from webhook.policy.launchers.programs import Run

LIMIT = 16 * 1024
"""Characters of arguments that are read of one container."""

_MARKS = ("parallel", "-tp", "-pp", "-dp", "world", "num", "nproc", "nnodes", "mpi", "horovod", "_perf")
"""Every launch that counts has one of these in its words."""

_MEMORY_MARKS = ("memory", "mem-fraction", "mem_fraction", "vllm", "trtllm-serve", "text-generation-launcher")
"""Every program whose use of memory counts has one of these in its words."""

_RAY = ("ray start", "ray_", "RAY_ADDRESS")
"""Marks of arguments that set up or join a Ray cluster."""

_HIDDEN = "CUDA_VISIBLE_DEVICES="

_SCRIPTS = ("source", "script")
"""Fields that hold a script: `source` of Argo's templates (argoproj/argo-workflows pkg/apis/workflow/v1alpha1), which
`command` runs, and `script` of Tekton's steps (tektoncd/pipeline docs/tasks.md), a shell's unless it says otherwise."""


def of_container(container: Container) -> Sequence[Launch]:
    """The launches of a container, by its command line or script, else by its variables. Raises MalformedError."""
    found = [launch for run in _runs(container, _MARKS) if (launch := run.launch()) is not None]
    if found or SHARDS not in container.variables:
        return found
    from webhook.policy.launchers import servers  # as in `_search`

    launch = servers.tgi_of_environment(container)
    return () if launch is None else (launch,)


def memory_uses(container: Container) -> Iterator[MemoryUse]:
    """The parts of a card's memory that the programs of a container take. Raises MalformedError."""
    from webhook.policy.launchers import memory  # as in `_search`

    words, _, is_complete = arguments(container.raw, container.path)
    found = [use for run in _runs(container, _MEMORY_MARKS) if (use := run.memory()) is not None]
    if not found and is_complete:
        found = [use for use in (memory.of_image(container, words), memory.of_xla(container)) if use is not None]
    for use in found:
        if (set_by_variable := memory.with_variables(container, use, words)) is not None:
            yield set_by_variable


def launches(container: Members, path: Path) -> Iterable[Launch]:
    """The launches of the command line of the container at a path. Raises MalformedError."""
    return [launch for run in _of_command(container, path, _MARKS) if (launch := run.launch()) is not None]


def _runs(container: Container, marks: Sequence[str]) -> Iterator[Run]:
    """The programs that a container starts, of those that have one of the marks in their words."""
    raw = container.raw
    if "command" in raw or "args" in raw:
        yield from _of_command(raw, container.path, marks)
    for field in _SCRIPTS:
        if field in raw:
            yield from _of_script(raw, field, marks)


def _of_command(container: Members, path: Path, marks: Sequence[str]) -> Iterable[Run]:
    words, commands, is_complete = arguments(container, path)
    return _search(words, commands, marks, is_complete=is_complete)


def _search(
    words: list[str], commands: int, marks: Sequence[str], script: Path | None = None, *, is_complete: bool = True
) -> Iterable[Run]:
    text = "\n".join(words)
    if not _may_launch(text, marks):
        return ()
    from webhook.policy.launchers import programs  # most containers launch nothing, and need no parser

    line = CommandLine(words, commands, script=script, joins_ray=any(mark in text for mark in _RAY))
    return programs.ProgramSearch().of_line(line, is_complete=is_complete)


def arguments(container: Members, path: Path) -> tuple[list[str], int, bool]:
    """The words of `command` and `args`, how many of them are of `command`, and whether they are all within LIMIT.

    Raises MalformedError.
    """
    command = texts(container, "command", path)
    words = [*command, *texts(container, "args", path)]
    if sum(map(len, words)) + len(words) <= LIMIT:
        return words, len(command), True
    return list(_within_limit(words)), len(command), False


def _of_script(container: Members, field: str, marks: Sequence[str]) -> Iterable[Run]:
    """The programs of the script in a field, if a shell runs it: as the command says, else as its first line does."""
    script, command = container[field], container.get("command")
    if not isinstance(script, str):
        return ()
    text = script if len(script) <= LIMIT else next(_within_limit((script,)))
    if not _may_launch(text, marks):
        return ()
    first = command[0][:LIMIT] if command else text.partition("\n")[0]
    words = first.removeprefix("#!").split() if command or first.startswith("#!") else ["sh"]
    return _search(["sh", "-c", text], 0, marks, (field,)) if any(map(is_shell, words)) else ()


def _may_launch(text: str, marks: Sequence[str]) -> bool:
    """Whether words contain a mark, and no assignment that leaves it without a GPU."""
    for mark in marks:  # faster than any() with a generator, for every container
        if mark in text:
            return not (_HIDDEN in text and _hides_gpus(text))
    return False


def _within_limit(words: Iterable[str]) -> Iterator[str]:
    """The words up to the limit. Of the last word, only complete lines: a command that is cut could mean another."""
    left = LIMIT
    for word in words:
        if len(word) > left:
            yield word[: max(left, 0)].rpartition("\n")[0]
            return
        yield word
        left -= len(word) + 1


def _hides_gpus(text: str) -> bool:
    for after in text.split(_HIDDEN)[1:]:
        value = after[:3].strip("\"'")
        if not value or value[0] in " \n;-":
            return True
    return False


_SHARING = ("gloo", f"{MULTI_RANK}=1")


def may_share_gpu(container: Container) -> bool:
    """Whether a container lets ranks of NCCL share a GPU, or does without NCCL. Raises MalformedError.

    `NCCL_MULTI_RANK_GPU_ENABLE=1` lets several ranks of a communicator use one GPU, since 2.30; it is experimental
    (NVIDIA/nccl docs/userguide/source/env.rst and src/init.cc, 2.30.7). With the backend `gloo`, PyTorch's ranks
    communicate without NCCL.
    """
    entry = container.variable(MULTI_RANK)
    if entry is not None and entry.get("value") == "1":
        return True
    words, _, _ = arguments(container.raw, container.path)
    return any(mark in word for word in words for mark in _SHARING)
