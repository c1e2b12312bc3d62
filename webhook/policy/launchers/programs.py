"""The programs that launch processes on GPUs: which of the words of a line start one, directly or through a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from webhook.policy.launchers import memory, mpi, servers, shell, training
from webhook.policy.launchers.words import CommandLine, Launch, is_shell

_MOST_PROGRAMS = 64
"""Known programs and shells of one container whose words are read."""

Parser: TypeAlias = Callable[[CommandLine, int], Launch | None]
"""Reads the words of a line from an index on."""


class Program(NamedTuple):
    """A program, and the readers of its words: for the GPUs that it takes, and for their memory where it sets that.

    A program with a `subcommand` takes GPUs with that one alone.
    """

    launch: Parser
    memory: memory.Parser | None = None
    subcommand: str = ""


_VLLM = Program(servers.vllm, memory.vllm)
_VLLM_IMAGE = Program(servers.vllm_image, memory.vllm_image)
_SGLANG = Program(servers.sglang, memory.sglang)
_TGI = Program(servers.tgi, memory.tgi)
_TORCHRUN, _DEEPSPEED, _MPIRUN = Program(training.torchrun), Program(training.deepspeed), Program(mpi.mpirun)
_TGI_IMAGE = Program(servers.tgi)
_NCCL_TEST = Program(mpi.nccl_test)

_PROGRAMS: Mapping[str, Program] = {
    "torchrun": _TORCHRUN,
    "accelerate": Program(training.accelerate, subcommand="launch"),
    "accelerate-launch": Program(training.accelerate),
    "deepspeed": _DEEPSPEED,
    "mpirun": _MPIRUN,
    "mpiexec": _MPIRUN,
    "mpiexec.hydra": _MPIRUN,
    "horovodrun": Program(mpi.horovodrun),
    "vllm": _VLLM._replace(subcommand="serve"),
    "sglang": _SGLANG._replace(subcommand="serve"),
    "text-generation-launcher": _TGI,
    "trtllm-serve": Program(servers.tensorrt_llm, memory.tensorrt_llm),
    "launch_triton_server.py": Program(servers.triton),
}
_MODULES: Mapping[str, Program] = {
    "torch.distributed.run": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "accelerate.commands.launch": Program(training.accelerate),
    "deepspeed.launcher.runner": _DEEPSPEED,
    "sglang.launch_server": _SGLANG,
    "dynamo.vllm": _VLLM,
    "dynamo.sglang": Program(servers.dynamo_sglang, memory.sglang),
}
_WRAPPERS = frozenset(
    """
    exec env nohup time nice ionice numactl taskset sudo timeout stdbuf setsid command tini dumb-init gosu su-exec nsys
    ncu uv conda micromamba poetry nvidia_entrypoint.sh ddtrace-run opentelemetry-instrument trtllm-llmapi-launch
    """.split()
)
"""Programs that start the program among their arguments."""


class Run(NamedTuple):
    """A program that a line starts, and the index of the first word behind it and its subcommand."""

    program: Program
    line: CommandLine
    start: int

    def launch(self) -> Launch | None:
        """The GPUs that it takes; None where its words leave that open."""
        return self.program.launch(self.line, self.start)

    def memory(self) -> memory.MemoryUse | None:
        """The memory that it takes of each card; None where that is unknown."""
        return None if self.program.memory is None else self.program.memory(self.line, self.start)


class ProgramSearch:
    """The search of one container, which reads the words of a limited number of programs."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_PROGRAMS

    def of_line(self, line: CommandLine, *, is_complete: bool) -> Iterator[Run]:
        """The programs of a line; of a line that the limit cuts, those of complete commands in a script."""
        found = _program(line.words)
        if found is None:
            if is_complete and not line.has_command and (image := _of_image(line)) is not None:
                yield Run(image, line, 0)
        elif self._left > 0:
            self._left -= 1
            program, start = found
            if program is None:
                yield from self._of_shell(line, start)
            elif is_complete and _is_subcommand(program, line.words, start):
                yield Run(program, line, start + bool(program.subcommand))

    def _of_shell(self, line: CommandLine, start: int) -> Iterator[Run]:
        """The programs of the script that a shell runs after `-c`, among options such as `-lc` or `-eo pipefail -c`."""
        words = line.words
        for index in range(start, len(words) - 1):
            word = words[index]
            if word[:1] == "-" and word[1:2] != "-" and "c" in word:
                place = line.place(index + 1)
                for command in shell.commands(words[index + 1]):
                    yield from self.of_line(
                        CommandLine(command, 0, script=place, joins_ray=line.joins_ray), is_complete=True
                    )
                return
            if word[:1] not in ("-", "+") and words[index - 1][-1:] != "o":
                return


def _is_subcommand(program: Program, words: Sequence[str], start: int) -> bool:
    return not program.subcommand or words[start : start + 1] == [program.subcommand]


def _of_image(line: CommandLine) -> Program | None:
    """The program of the image's entrypoint with these arguments: options, or a model before them."""
    first = line.words[0]
    if _name(first).startswith("python") or first.endswith((".sh", ".py")):
        return None
    return _TGI_IMAGE if any("shard" in word for word in line.words) else _VLLM_IMAGE


def _program(words: Sequence[str]) -> tuple[Program | None, int] | None:
    """The program that the words start, None for a shell, and the index of the word behind it."""
    is_wrapped = False
    for index, word in enumerate(words):
        name = _name(word)
        program = _NCCL_TEST if mpi.is_nccl_test(name) else _PROGRAMS.get(name)
        if program is not None or is_shell(name):
            return program, index + 1
        if name.startswith("python"):
            return _python(words, index + 1)
        if name in _WRAPPERS:
            is_wrapped = True
        elif not is_wrapped and not _is_assignment(word):
            break
    return None


def _python(words: Sequence[str], start: int) -> tuple[Program, int] | None:
    """The module or script that Python runs, and the index of the word behind it."""
    for index in range(start, len(words)):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            program = _module(words[index + 1])
            return None if program is None else (program, index + 2)
        if not word.startswith("-"):
            program = _PROGRAMS.get(_name(word))
            return None if program is None else (program, index + 1)
    return None


def _module(name: str) -> Program | None:
    if name.startswith("vllm.entrypoints."):
        return _PROGRAMS["vllm"] if name.startswith("vllm.entrypoints.cli") else _VLLM
    return _MODULES.get(name)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
