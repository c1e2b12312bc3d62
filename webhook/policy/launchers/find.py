"""The launches of a container: which of its words start a known program, directly or through a shell.

At most 16 KiB of `command` and `args` are read; what the limit cuts does not count. A value that the shell, Kubernetes
or a template fills in is unknown, and an unknown program launches nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from webhook.policy.launchers import (
    accelerate,
    deepspeed,
    mpi,
    nccl_tests,
    sglang,
    shell,
    tensorrt_llm,
    tgi,
    torch,
    triton,
    vllm,
)
from webhook.policy.launchers.launch import Launch
from webhook.policy.launchers.line import Line
from webhook.policy.pods.pod import Container
from webhook.policy.pods.reading import Members, texts
from webhook.policy.pods.variables import SHARDS
from webhook.policy.verdict import Path

LIMIT = 16 * 1024
"""Characters of arguments that are read of one container."""

_MOST_PROGRAMS = 64
"""Known programs and shells of one container whose words are read."""

Parser = Callable[[Line, int], Launch | None]
"""Reads the words of a line from an index on."""


def _accelerate(line: Line, start: int) -> Launch | None:
    return accelerate.launch(line, start + 1) if line.has_at(start, "launch") else None


_PROGRAMS: Mapping[str, Parser] = {
    "torchrun": torch.launch,
    "accelerate": _accelerate,
    "accelerate-launch": accelerate.launch,
    "deepspeed": deepspeed.launch,
    "mpirun": mpi.launch,
    "mpiexec": mpi.launch,
    "mpiexec.hydra": mpi.launch,
    "horovodrun": mpi.horovod,
    "vllm": vllm.serve,
    "sglang": sglang.serve,
    "text-generation-launcher": tgi.launch,
    "trtllm-serve": tensorrt_llm.launch,
    triton.SCRIPT: triton.launch,
}
_MODULES: Mapping[str, Parser] = {
    **dict.fromkeys(torch.MODULES, torch.launch),
    **dict.fromkeys(accelerate.MODULES, accelerate.launch),
    **dict.fromkeys(deepspeed.MODULES, deepspeed.launch),
    **dict.fromkeys(sglang.MODULES, sglang.launch),
}
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh"})
_WRAPPERS = frozenset(
    {
        *(
            "exec",
            "env",
            "nohup",
            "time",
            "nice",
            "ionice",
            "numactl",
            "taskset",
            "sudo",
            "timeout",
            "stdbuf",
            "setsid",
        ),
        *("command", "tini", "dumb-init", "gosu", "su-exec", "nsys", "ncu", "uv", "conda", "micromamba"),
        *("poetry", "nvidia_entrypoint.sh", "ddtrace-run", "opentelemetry-instrument", tensorrt_llm.LAUNCHER),
    }
)
"""Programs that start the program among their arguments."""

_MARKS = ("parallel", "-tp", "-pp", "-dp", "world", "num", "nproc", "nnodes", "mpi", "horovod", "_perf")
"""Every launch that counts has one of these in its words."""

_RAY = ("ray start", "ray_", "RAY_ADDRESS")
"""Marks of arguments that set up or join a Ray cluster."""

_HIDDEN = "CUDA_VISIBLE_DEVICES="

_SCRIPTS = ("source", "script")
"""Fields that hold a script: `source` of Argo's templates (argoproj/argo-workflows pkg/apis/workflow/v1alpha1), which
`command` runs, and `script` of Tekton's steps (tektoncd/pipeline docs/tasks.md), a shell's unless it says otherwise."""


def of_container(container: Container) -> Sequence[Launch]:
    """The launches of a container, by its command line or script, else by its variables. Raises MalformedError."""
    raw = container.raw
    found: list[Launch] = []
    if "command" in raw or "args" in raw:
        found.extend(launches(raw, container.path))
    for field in _SCRIPTS:
        if field in raw:
            found.extend(_of_script(raw, field))
    if found or SHARDS not in container.variables:
        return found
    launch = tgi.of_environment(container)
    return () if launch is None else (launch,)


def launches(container: Members, path: Path) -> Iterable[Launch]:
    """The launches of the command line of the container at a path. Raises MalformedError."""
    words, commands, is_complete = arguments(container, path)
    if not words:
        return ()
    text = "\n".join(words)
    if not _may_launch(text):
        return ()
    line = Line(words, commands, joins_ray=any(mark in text for mark in _RAY))
    return _Search().of_line(line, is_complete=is_complete)


def arguments(container: Members, path: Path) -> tuple[list[str], int, bool]:
    """The words of `command` and `args`, how many of them are of `command`, and whether they are all within LIMIT.

    Raises MalformedError.
    """
    command = texts(container, "command", path)
    words = [*command, *texts(container, "args", path)]
    if sum(map(len, words)) + len(words) <= LIMIT:
        return words, len(command), True
    return list(_within_limit(words)), len(command), False


def _of_script(container: Members, field: str) -> Iterator[Launch]:
    """The launches of the script in a field, if a shell runs it: as the command says, else as its first line does."""
    script, command = container[field], container.get("command")
    if not isinstance(script, str):
        return
    text = script if len(script) <= LIMIT else next(_within_limit((script,)))
    first = command[0][:LIMIT] if command else text.partition("\n")[0]
    words = first.removeprefix("#!").split() if command or first.startswith("#!") else ["sh"]
    if any(_name(word) in _SHELLS for word in words) and _may_launch(text):
        line = Line(["sh", "-c", text], 0, script=(field,), joins_ray=any(mark in text for mark in _RAY))
        yield from _Search().of_line(line, is_complete=True)


def _may_launch(text: str) -> bool:
    """Whether words contain a mark of a launch, and no assignment that leaves it without a GPU."""
    for mark in _MARKS:  # faster than any() with a generator, for every container
        if mark in text:
            return not (_HIDDEN in text and _hides_gpus(text))
    return False


def _within_limit(words: Iterable[str]) -> Iterator[str]:
    """The words, and of the one that the limit cuts its complete lines: a command that is cut could mean another."""
    left = LIMIT
    for word in words:
        if len(word) > left:
            yield word[: max(left, 0)].rpartition("\n")[0]
            return
        yield word
        left -= len(word) + 1


def _hides_gpus(text: str) -> bool:
    """Whether an assignment leaves the processes without a GPU."""
    for after in text.split(_HIDDEN)[1:]:
        value = after[:3].strip("\"'")
        if not value or value[0] in " \n;-":
            return True
    return False


class _Search:
    """The search of one container, which reads the words of a limited number of programs."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _MOST_PROGRAMS

    def of_line(self, line: Line, *, is_complete: bool) -> Iterator[Launch]:
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

    def _of_shell(self, line: Line, start: int) -> Iterator[Launch]:
        """The launches of the script that a shell runs after `-c`, among options such as `-lc` or `-eo pipefail -c`."""
        words = line.words
        for index in range(start, len(words) - 1):
            word = words[index]
            if word[:1] == "-" and word[1:2] != "-" and "c" in word:
                place = line.place(index + 1)
                for command in shell.commands(words[index + 1]):
                    yield from self.of_line(Line(command, 0, script=place, joins_ray=line.joins_ray), is_complete=True)
                return
            if word[:1] not in ("-", "+") and words[index - 1][-1:] != "o":
                return


def _of_image(line: Line) -> Launch | None:
    """The launch of the image's entrypoint with these arguments: options, or a model before them."""
    first = line.words[0]
    if _name(first).startswith("python") or first.endswith((".sh", ".py")):
        return None
    if any("shard" in word for word in line.words):
        return tgi.launch(line, 0)
    return vllm.of_image(line)


def _program(words: Sequence[str]) -> tuple[Parser | None, int] | None:
    """The parser of the program that the words start, without one for a shell, and the index of the word behind it."""
    is_wrapped = False
    for index, word in enumerate(words):
        name = _name(word)
        parser = nccl_tests.launch if nccl_tests.is_test(name) else _PROGRAMS.get(name)
        if parser is not None or name in _SHELLS:
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
        return vllm.serve if name.startswith("vllm.entrypoints.cli") else vllm.launch
    return _MODULES.get(name)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()
