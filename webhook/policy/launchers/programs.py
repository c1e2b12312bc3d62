"""The programs that launch processes on GPUs: which of the words of a line start one, directly or through a shell.

Among them are the launchers of processes: torchrun, Accelerate, and mpirun of Open MPI, MPICH and Intel MPI.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from webhook.policy.launchers import servers
from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, is_on_cpu, is_shell, number

_PER_NODE, _TORCH_NODES = "--nproc-per-node", "--nnodes"
_TORCH_ALIASES = {"--nproc-per": _PER_NODE, "--nproc-per-nod": _PER_NODE}
_TORCH_FLAGS = frozenset({"--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env", "-h", "--help"})


def torchrun(line: CommandLine, start: int) -> Launch | None:
    """The processes of torchrun and its modules, from the words from an index on; None if they leave it open.

    `--nproc-per-node` is the number of processes in this container; each takes the GPU of its `LOCAL_RANK`. Its values
    `auto`, `gpu` and `cpu` follow the machine. `--nnodes` is a number, or `MIN:MAX` for elastic jobs; without it there
    is one node. Options end at the script; each can also come from a variable `PET_…` (pytorch/pytorch
    torch/distributed/run.py at 010929f).
    """
    options = Options(line, start, _TORCH_ALIASES, _TORCH_FLAGS)
    if is_on_cpu(line, options.end):
        return None
    nodes, spans = 1, False
    if _TORCH_NODES in options:
        least, _, most = options.text(_TORCH_NODES).partition(":")
        nodes, spans = number(least) or 1, number(most or least) != 1
    each = options.number(_PER_NODE)
    if each is None and not spans:
        return None
    each = each or 1
    option = _PER_NODE if _PER_NODE in options else _TORCH_NODES
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    setting = options.setting(option, each if option == _PER_NODE else nodes)
    across = options.setting(_TORCH_NODES, nodes) if _TORCH_NODES in options else None
    return Launch("torchrun", setting, each, each * nodes, spread, spans, across)


_PROCESSES, _MACHINES, _FILE = "--num_processes", "--num_machines", "--config_file"
_ACCELERATE_ALIASES = {"--num-processes": _PROCESSES, "--num-machines": _MACHINES, "--config-file": _FILE}
_ACCELERATE_FLAGS = frozenset(
    """
    -h --help -q --quiet --cpu --multi-gpu --tpu --use-deepspeed --use-fsdp --use-parallelism-config --use-megatron-lm
    --enable-cpu-affinity --same-network -m --module --no-python --debug --dynamo-use-fullgraph --dynamo-use-dynamic
    --use-xpu --ipex --dynamo-use-regional-compilation --tpu-cluster --no-tpu-cluster --tpu-use-sudo
    """.split()
)


def accelerate(line: CommandLine, start: int) -> Launch | None:
    """The processes of Accelerate, from the words after `launch`; None if they leave it open.

    `--num_processes` is the number of processes on all machines together; `--num_machines` divides it and is 1 by
    default. A `--config_file` can set the machines too. `--cpu` trains on the CPU. Dashes and underscores are the same;
    abbreviations do not exist (huggingface/accelerate src/accelerate/commands/launch.py, utils/launch.py at 16cb6eb).
    """
    options = Options(line, start, _ACCELERATE_ALIASES, _ACCELERATE_FLAGS)
    total = options.number(_PROCESSES)
    if total is None or is_on_cpu(line, start):
        return None
    machines = options.number(_MACHINES)
    is_unknown = machines is None and (_MACHINES in options or _FILE in options)
    spans = machines is not None and machines > 1
    spread = Spread.CLUSTER if spans or is_unknown else Spread.CONTAINER
    each = 1 if is_unknown else total // (machines or 1) or 1
    return Launch("accelerate launch", options.setting(_PROCESSES, total), each, total, spread, spans)


_RANKS, _EACH, _HOSTS, _MAP = "-np", "--npernode", "--host", "--map-by"
_MPI_ALIASES = {
    **{"--np": _RANKS, "-n": _RANKS, "--n": _RANKS, "-c": _RANKS, "--num-proc": _RANKS},
    **{"-N": _EACH, "-npernode": _EACH, "-ppn": _EACH, "--ppn": _EACH, "-perhost": _EACH},
    **{"-H": _HOSTS, "-host": _HOSTS, "-hosts": _HOSTS, "--hosts": _HOSTS, "-f": _HOSTS},
    **{"-hostfile": _HOSTS, "--hostfile": _HOSTS, "-machinefile": _HOSTS, "--machinefile": _HOSTS, "-hostlist": _HOSTS},
    "-map-by": _MAP,
}


def mpirun(line: CommandLine, start: int) -> Launch | None:
    """The ranks of mpirun and mpiexec; None where a rank need not have a GPU of its own.

    `-np`, `-n`, `--n` or `-c` is the number of ranks (open-mpi/ompi docs/man-openmpi/man1/mpirun.1.rst, 5.0; Intel MPI
    Developer Guide 2021). `-N`, `--npernode`, `-ppn` or `--map-by ppr:N:node` is the number on each host. Hosts come
    from `-H`, `--host`, `--hostfile`, `-f` or, in a job of the MPI Operator, from the environment; without any, all
    ranks run in this container.

    A rank is no GPU: plain MPI ranks that share one GPU are what MPS is made for. Ranks count only where each takes a
    GPU of its own: the tests of NCCL that MPI often starts, and programs for which the command line exports a variable
    of NCCL.
    """
    words = line.words
    end, per_rank = len(words), 1
    has_gpus = False
    for index in range(start, len(words)):
        # The README of nccl-tests builds those for MPI with the suffix `_mpi`.
        if words[index].rpartition("/")[2].removesuffix("_mpi") in _TESTS:
            # A process runs `-t` threads with `-g` GPUs each, 1 by default, and every rank is a GPU of its own
            # (NVIDIA/nccl-tests README.md and src/common.cu, 2.19.6).
            options = Options(line, index + 1, _TEST_ALIASES)
            end, per_rank, has_gpus = index, options.factor(_THREADS) * options.factor(_GPUS), True
            break
        if words[index].startswith("NCCL_") and words[index - 1] in ("-x", "-genv", "-env"):
            has_gpus = True
    options = Options(line, start, _MPI_ALIASES, stop=end)
    ranks = options.number(_RANKS)
    if ranks is None or not has_gpus or is_on_cpu(line, start):
        return None
    on_host = options.number(_EACH)
    kind, _, rest = options.text(_MAP).partition(":")
    amount, _, unit = rest.partition(":")
    if on_host is None and kind == "ppr" and unit.partition(":")[0] == "node":  # such as `ppr:4:node`
        on_host = number(amount)
    total = ranks * per_rank
    spread = Spread.CLUSTER if _HOSTS in options else Spread.GROUP
    each = min(on_host or 1, ranks) * per_rank
    return Launch("mpirun", options.setting(_RANKS, ranks), each, total, spread, ranks > 1)


_THREADS, _GPUS = "-t", "-g"
_TEST_ALIASES = {"--nthreads": _THREADS, "--ngpus": _GPUS}
_TESTS = frozenset(
    """
    all_gather_perf all_reduce_perf alltoall_perf alltoallv_perf broadcast_perf gather_perf hypercube_perf reduce_perf
    reduce_scatter_perf scatter_perf sendrecv_perf
    """.split()
)


class Program(NamedTuple):
    """A program, and the readers of its words: for the GPUs that it takes, and for their memory where it sets that.

    They read the words of a line from an index on. A program with a `subcommand` takes GPUs with that one alone.
    """

    launch: Callable[[CommandLine, int], Launch | None]
    memory: Callable[[CommandLine, int], servers.MemoryUse | None] | None = None
    subcommand: str = ""


_VLLM = Program(servers.vllm, servers.vllm_memory)
_VLLM_IMAGE = Program(servers.vllm_image, servers.image_memory)
_SGLANG = Program(servers.sglang, servers.sglang_memory)
_TORCHRUN, _MPIRUN = Program(torchrun), Program(mpirun)

_PROGRAMS: Mapping[str, Program] = {
    "torchrun": _TORCHRUN,
    "accelerate": Program(accelerate, subcommand="launch"),
    "accelerate-launch": Program(accelerate),
    "mpirun": _MPIRUN,
    "mpiexec": _MPIRUN,
    "mpiexec.hydra": _MPIRUN,
    "vllm": _VLLM._replace(subcommand="serve"),
    "sglang": _SGLANG._replace(subcommand="serve"),
}
_MODULES: Mapping[str, Program] = {
    "torch.distributed.run": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "accelerate.commands.launch": Program(accelerate),
    "sglang.launch_server": _SGLANG,
    "dynamo.vllm": _VLLM,
    "dynamo.sglang": Program(servers.dynamo_sglang, servers.sglang_memory),
}
_WRAPPERS = frozenset(
    """
    exec env nohup time nice ionice numactl taskset sudo timeout stdbuf setsid command tini dumb-init gosu su-exec nsys
    ncu uv conda micromamba poetry nvidia_entrypoint.sh ddtrace-run opentelemetry-instrument
    """.split()
)
"""Programs that start the program among their arguments."""


def find_program(line: CommandLine) -> tuple[Program, CommandLine, int] | None:
    """The program that a line starts; None if it is unknown, or a script runs several commands.

    With it come its own line, and the index there of the first word behind it and its subcommand.
    """
    while (found := _program(line.words)) is not None:
        program, start = found
        if program is not None:
            is_subcommand = not program.subcommand or line.words[start : start + 1] == [program.subcommand]
            return (program, line, start + bool(program.subcommand)) if is_subcommand else None
        index = _script(line.words, start)
        words = [] if index is None else one_command(line.words[index])
        if index is None or not words:
            return None
        line = CommandLine(words, 0, script=line.place(index), joins_ray=line.joins_ray)
    # The image's entrypoint gets the arguments: options, or a model before them.
    first = line.words[0]
    is_command = line.commands or line.script is not None
    if is_command or _name(first).startswith("python") or first.endswith((".sh", ".py")):
        return None
    return _VLLM_IMAGE, line, 0


def _script(words: Sequence[str], start: int) -> int | None:
    """The index of the script that a shell runs after `-c`, among options such as `-lc` or `-eo pipefail -c`."""
    for index in range(start, len(words) - 1):
        word = words[index]
        if word[:1] == "-" and word[1:2] != "-" and "c" in word:
            return index + 1
        if word[:1] not in ("-", "+") and words[index - 1][-1:] != "o":
            break
    return None


def one_command(script: str) -> list[str]:
    """The words of a script with one command, as a shell reads them; none for any other script.

    Comments and empty lines may precede it. The words keep what the shell would expand, with its `$`, so that it never
    reads as a number.
    """
    lines = [line for line in script.replace("\\\n", "").splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(lines).strip()
    if "\n" in text or "#" in text:  # `shlex` takes a line's end for a space, and a sign within a word for a comment
        return []
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # it ends within quotes
        return []
    return [] if any(word[:1] in _OPERATORS for word in words) else words


_OPERATORS = frozenset("();<>|&")


def _program(words: Sequence[str]) -> tuple[Program | None, int] | None:
    """The program that the words start, None for a shell, and the index of the word behind it."""
    is_wrapped = False
    for index, word in enumerate(words):
        name = _name(word)
        program = _PROGRAMS.get(name)
        if program is not None or is_shell(name):
            return program, index + 1
        if name.startswith("python"):
            return _python(words, index + 1)
        if name in _WRAPPERS:
            is_wrapped = True
        elif not is_wrapped:
            variable, sign, _ = word.partition("=")
            if not sign or not variable.isidentifier():
                break
    return None


def _python(words: Sequence[str], start: int) -> tuple[Program, int] | None:
    """The module or script that Python runs, and the index of the word behind it."""
    for index in range(start, len(words)):
        word = words[index]
        if word == "-m" and index + 1 < len(words):
            module = words[index + 1]
            program = _MODULES.get(module)
            if module.startswith("vllm.entrypoints."):
                program = _PROGRAMS["vllm"] if module.startswith("vllm.entrypoints.cli") else _VLLM
            return None if program is None else (program, index + 2)
        if not word.startswith("-"):
            program = _PROGRAMS.get(_name(word))
            return None if program is None else (program, index + 1)
    return None


def _name(word: str) -> str:
    return word.rpartition("/")[2]
