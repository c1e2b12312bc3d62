"""The programs that launch processes on GPUs: which of the words of a line start one, directly or through a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from webhook.policy.launchers import mpi, servers, shell, training
from webhook.policy.launchers.words import CommandLine, Launch, is_shell

_MOST_PROGRAMS = 64
"""Known programs and shells of one container whose words are read."""

Parser = Callable[[CommandLine, int], Launch | None]
"""Reads the words of a line from an index on."""


def _subcommand(name: str, parser: Parser) -> Parser:
    """The parser of a subcommand of a program, whose other subcommands launch nothing."""

    def parse(line: CommandLine, start: int) -> Launch | None:
        return parser(line, start + 1) if start < len(line.words) and line.words[start] == name else None

    return parse


_PROGRAMS: Mapping[str, Parser] = {
    "torchrun": training.torchrun,
    "accelerate": _subcommand("launch", training.accelerate),
    "accelerate-launch": training.accelerate,
    "deepspeed": training.deepspeed,
    "mpirun": mpi.mpirun,
    "mpiexec": mpi.mpirun,
    "mpiexec.hydra": mpi.mpirun,
    "horovodrun": mpi.horovodrun,
    "vllm": _subcommand("serve", servers.vllm),
    "sglang": _subcommand("serve", servers.sglang),
    "text-generation-launcher": servers.tgi,
    "trtllm-serve": servers.tensorrt_llm,
    "launch_triton_server.py": servers.triton,
}
_MODULES: Mapping[str, Parser] = {
    "torch.distributed.run": training.torchrun,
    "torch.distributed.launch": training.torchrun,
    "accelerate.commands.launch": training.accelerate,
    "deepspeed.launcher.runner": training.deepspeed,
    "sglang.launch_server": servers.sglang,
    "dynamo.vllm": servers.vllm,
    "dynamo.sglang": servers.dynamo_sglang,
}
_WRAPPERS = frozenset(
    """
    exec env nohup time nice ionice numactl taskset sudo timeout stdbuf setsid command tini dumb-init gosu su-exec nsys
    ncu uv conda micromamba poetry nvidia_entrypoint.sh ddtrace-run opentelemetry-instrument trtllm-llmapi-launch
    """.split()
)
"""Programs that start the program among their arguments."""


class ProgramSearch:
    """The search of one container, which reads the words of a limited number of programs."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_PROGRAMS

    def of_line(self, line: CommandLine, *, is_complete: bool) -> Iterator[Launch]:
        """The launches of a line; of a line that the limit cuts, those of complete commands in a script."""
        program = _program(line.words)
        if program is None:
            found = _of_image(line) if is_complete and not line.has_command else None
        elif self._left <= 0:
            return
        else:
            self._left -= 1
            parser, start = program
            if parser is None:
                yield from self._of_shell(line, start)
            found = parser(line, start) if parser is not None and is_complete else None
        if found is not None:
            yield found

    def _of_shell(self, line: CommandLine, start: int) -> Iterator[Launch]:
        """The launches of the script that a shell runs after `-c`, among options such as `-lc` or `-eo pipefail -c`."""
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


def _of_image(line: CommandLine) -> Launch | None:
    """The launch of the image's entrypoint with these arguments: options, or a model before them."""
    first = line.words[0]
    if _name(first).startswith("python") or first.endswith((".sh", ".py")):
        return None
    if any("shard" in word for word in line.words):
        return servers.tgi(line, 0)
    return servers.vllm_image(line)


def _program(words: Sequence[str]) -> tuple[Parser | None, int] | None:
    """The parser of the program that the words start, without one for a shell, and the index of the word behind it."""
    is_wrapped = False
    for index, word in enumerate(words):
        name = _name(word)
        parser = mpi.nccl_test if mpi.is_nccl_test(name) else _PROGRAMS.get(name)
        if parser is not None or is_shell(name):
            return parser, index + 1
        if name.startswith("python"):
            return _python(words, index + 1)
        if name in _WRAPPERS:
            is_wrapped = True
        elif not is_wrapped and not _is_assignment(word):
            break
    return None


def _python(words: Sequence[str], start: int) -> tuple[Parser, int] | None:
    """The parser of the module or script that Python runs, and the index of the word behind it."""
    for index in range(start, len(words)):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            parser = _module(words[index + 1])
            return None if parser is None else (parser, index + 2)
        if not word.startswith("-"):
            parser = _PROGRAMS.get(_name(word))
            return None if parser is None else (parser, index + 1)
    return None


def _module(name: str) -> Parser | None:
    if name.startswith("vllm.entrypoints."):
        return _PROGRAMS["vllm"] if name.startswith("vllm.entrypoints.cli") else servers.vllm
    return _MODULES.get(name)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
