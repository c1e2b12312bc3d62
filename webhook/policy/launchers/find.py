"""The programs that a container launches: by its command line or script.

A container with more than 16 KiB of `command` and `args`, or of script, launches nothing that is known. A value that
the shell, Kubernetes or a template fills in is unknown, and an unknown program launches nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from webhook.policy.launchers.words import CommandLine, Launch, is_shell
from webhook.policy.pods.pod import MULTI_RANK, Container
from webhook.policy.pods.reading import Members, texts

if TYPE_CHECKING:
    from webhook.policy.launchers.programs import MemoryUse, Program

LIMIT = 16 * 1024
"""Characters of arguments that are read of one container."""

_MARKS = ("parallel", "-tp", "-pp", "-dp", "nproc", "nnodes", "mpi")
"""Every launch that counts has one of these in its words."""

_MEMORY_MARKS = ("memory", "mem-fraction", "mem_fraction", "vllm")
"""Every program whose use of memory counts has one of these in its words."""

_RAY = ("ray start", "ray_", "RAY_ADDRESS")
"""Marks of arguments that set up or join a Ray cluster."""

_HIDDEN = "CUDA_VISIBLE_DEVICES="

_SCRIPTS = ("source", "script")
"""Fields that hold a script: `source` of Argo's templates (argoproj/argo-workflows pkg/apis/workflow/v1alpha1), which
`command` runs, and `script` of Tekton's steps (tektoncd/pipeline docs/tasks.md), a shell's unless it says otherwise."""


def of_container(container: Container) -> Sequence[Launch]:
    """The launches of a container, by its command line or script. Raises MalformedError."""
    return [
        launch
        for program, line, start in _programs(container, _MARKS)
        if (launch := program.launch(line, start)) is not None
    ]


def memory_uses(container: Container) -> Sequence[MemoryUse]:
    """The parts of a card's memory that the programs of a container take. Raises MalformedError."""
    uses = [
        use
        for program, line, start in _programs(container, _MEMORY_MARKS)
        if program.memory is not None and (use := program.memory(line, start)) is not None
    ]
    image = container.raw.get("image")
    if uses or not isinstance(image, str) or container.raw.get("command"):
        return uses
    # The entrypoint of the image `vllm-openai` starts vLLM with the arguments.
    name = image[:_LONGEST_NAME].partition("@")[0].rpartition("/")[2].partition(":")[0]
    line = _line(container) if name == "vllm-openai" else None
    if line is None:
        return uses
    from webhook.policy.launchers.programs import vllm_memory  # as in `_find`

    use = vllm_memory(line, 0)
    return uses if use is None else [use]


_LONGEST_NAME = 512
"""Characters of the name of an image that are read."""


def _programs(container: Container, marks: Sequence[str]) -> Iterator[tuple[Program, CommandLine, int]]:
    """The programs that a container starts, as `find_program` has them, if one of the marks is in their words."""
    raw = container.raw
    lines = [_line(container)] if "command" in raw or "args" in raw else []
    lines += [_line_of_script(raw, field) for field in _SCRIPTS if field in raw]
    for line in lines:
        if line is not None and (found := _find(line, marks)) is not None:
            yield found


def _find(line: CommandLine, marks: Sequence[str]) -> tuple[Program, CommandLine, int] | None:
    text = "\n".join(line.words)
    for mark in marks:  # faster than any() with a generator, for every container
        if mark in text:
            break
    else:
        return None
    for after in text.split(_HIDDEN)[1:] if _HIDDEN in text else ():
        value = after[:3].strip("\"'")
        if not value or value[0] in " \n;-":  # the program sees no GPU
            return None
    from webhook.policy.launchers import programs  # most containers launch nothing, and need no parser

    line.joins_ray = any(mark in text for mark in _RAY)
    return programs.find_program(line)


def _line(container: Container) -> CommandLine | None:
    """The command line of a container; None beyond the limit. Raises MalformedError."""
    command = texts(container.raw, "command", container.path)
    words = [*command, *texts(container.raw, "args", container.path)]
    return CommandLine(words, len(command)) if sum(map(len, words)) + len(words) <= LIMIT else None


def _line_of_script(container: Members, field: str) -> CommandLine | None:
    """The script in a field, if a shell runs it: as the command says, else as its first line does."""
    text, command = container[field], container.get("command")
    if not isinstance(text, str) or len(text) > LIMIT:
        return None
    first = command[0][:LIMIT] if command else text.partition("\n")[0]
    words = first.removeprefix("#!").split() if command or first.startswith("#!") else ["sh"]
    return CommandLine(["sh", "-c", text], 0, script=(field,)) if any(map(is_shell, words)) else None


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
    line = _line(container)
    return line is not None and any(mark in word for word in line.words for mark in _SHARING)
