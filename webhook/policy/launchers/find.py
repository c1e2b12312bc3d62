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
from webhook.policy.pods.reading import Members, texts
from webhook.policy.verdict import Path

LIMIT = 16 * 1024
"""Characters of arguments that are read of one container."""

_MOST_DEPTH = 2
"""Shells within shells."""

Parser = Callable[[Line, int], Launch | None]
"""Reads the words of a line from an index on."""


def _accelerate(line: Line, start: int) -> Launch | None:
    is_launch = start < len(line.words) and line.words[start] == "launch"
    return accelerate.launch(line, start + 1) if is_launch else None


_PROGRAMS: Mapping[str, Parser] = {
    "torchrun": torch.launch,
    "accelerate": _accelerate,
    "accelerate-launch": accelerate.launch,
    "deepspeed": deepspeed.launch,
    "mpirun": mpi.launch,
    "mpiexec": mpi.launch,
    "mpiexec.hydra": mpi.launch,
    "orterun": mpi.launch,
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

_MARKS = (
    *("parallel", "-tp", "-pp", "-dp", "p_size", "p-size", "world", "num-shard", "num_shard", "nproc", "nnodes"),
    *("num_proc", "num-proc", "num_gpus", "num-gpus", "num_acc", "num-acc", "mpi", "orterun", "horovod", "_perf"),
)
"""Every launch that counts has one of these in its words."""

_RAY = ("ray start", "ray_", "RAY_ADDRESS")
"""Marks of arguments that set up or join a Ray cluster."""

_HIDDEN = "CUDA_VISIBLE_DEVICES="


def launches(container: Members, path: Path) -> Iterable[Launch]:
    """The launches of the container at a path. Raises MalformedError."""
    if container.get("args") is None and container.get("command") is None:
        return ()
    command, arguments = texts(container, "command", path), texts(container, "args", path)
    words = [*command, *arguments]
    text = "\n".join(words)
    if not any(mark in text for mark in _MARKS):
        return ()
    if len(text) > LIMIT:
        words = list(_within_limit(words))
    if _HIDDEN in text and _hides_gpus(text[:LIMIT]):
        return ()
    line = Line(words, len(command), joins_ray=any(mark in text for mark in _RAY))
    return _of_line(line, 0, is_complete=len(text) <= LIMIT)


def _within_limit(words: Iterable[str]) -> Iterator[str]:
    left = LIMIT
    for word in words:
        if left <= 0:
            return
        yield word[:left]
        left -= len(word) + 1


def _hides_gpus(text: str) -> bool:
    """Whether an assignment leaves the processes without a GPU."""
    for after in text.split(_HIDDEN)[1:]:
        value = after[:3].strip("\"'")
        if not value or value[0] in " \n;-":
            return True
    return False


def _of_line(line: Line, depth: int, *, is_complete: bool) -> Iterator[Launch]:
    index, parser = _program(line)
    if parser is None:
        if index < len(line.words) and _name(line.words[index]) in _SHELLS and depth < _MOST_DEPTH:
            yield from _of_shell(line, index + 1, depth)
        elif is_complete and not line.has_command and _may_be_server(line):
            found = tgi.launch(line, 0) or vllm.of_image(line)
            if found is not None:
                yield found
    elif is_complete and (found := parser(line, index)) is not None:
        yield found


def _of_shell(line: Line, start: int, depth: int) -> Iterator[Launch]:
    """The launches of the script that a shell runs after `-c`, among options such as `-lc` or `-eo pipefail -c`."""
    words = line.words
    for index in range(start, len(words) - 1):
        word = words[index]
        if word[:1] == "-" and word[1:2] != "-" and "c" in word:
            place = line.place(index + 1)
            for command in shell.commands(words[index + 1]):
                inner = Line(command, 0, script=place, joins_ray=line.joins_ray)
                yield from _of_line(inner, depth + 1, is_complete=True)
            return
        if word[:1] not in ("-", "+") and words[index - 1][-1:] != "o":
            return


def _program(line: Line) -> tuple[int, Parser | None]:
    """The parser of the program that the line starts, and the index behind its name; else the index of a shell."""
    words = line.words
    is_wrapped = False
    for index, word in enumerate(words):
        name = _name(word)
        parser = _PROGRAMS.get(name)
        if parser is not None:
            return index + 1, parser
        if nccl_tests.is_test(name):
            return index + 1, nccl_tests.launch
        if name.startswith("python"):
            return _module(words, index + 1)
        if name in _SHELLS:
            return index, None
        if name in _WRAPPERS:
            is_wrapped = True
        elif not is_wrapped and not _is_assignment(word):
            break
    return len(words), None


def _module(words: Sequence[str], start: int) -> tuple[int, Parser | None]:
    """The parser of the module or script that Python runs, and the index behind its name."""
    for index in range(start, len(words)):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            module = words[index + 1]
            parser = vllm.launch if module.startswith("vllm.entrypoints.") else _MODULES.get(module)
            if module.startswith("vllm.entrypoints.cli"):
                parser = vllm.serve
            return index + 2, parser
        if not word.startswith("-"):
            name = _name(word)
            return index + 1, _PROGRAMS.get(name)
    return len(words), None


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


def _may_be_server(line: Line) -> bool:
    """Whether the words can be arguments of the image's entrypoint: options, or a model before them."""
    first = line.words[0] if line.words else ""
    return first.startswith("-") or not first.endswith((".sh", ".py"))
