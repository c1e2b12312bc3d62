"""The programs that a container launches on GPUs: which words of a line start one, and what it takes.

Launchers of processes: torchrun, and mpirun of Open MPI, MPICH and Intel MPI. Servers of models, vLLM and SGLang, which
take a part of a card's memory too: one that starts while others hold the rest of the card fails, or leaves nothing to
servers that start later. The memory of a variable, a placeholder or a configuration file is unknown.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from webhook.policy.launchers.words import CommandLine, Launch, Options, Setting, Spread, is_on_cpu, is_shell, number
from webhook.policy.verdict import Path


def _aliases(spellings: Mapping[str, str]) -> Mapping[str, str]:
    """The canonical names of options by their other spellings."""
    return {alias: name for name, aliases in spellings.items() for alias in aliases.split()}


_PER_NODE, _NODES = "--nproc-per-node", "--nnodes"
_TORCH_ALIASES = _aliases({_PER_NODE: "--nproc-per --nproc-per-nod"})
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
    if _NODES in options:
        least, _, most = options.text(_NODES).partition(":")
        nodes, spans = number(least) or 1, number(most or least) != 1
    each = options.number(_PER_NODE)
    if each is None and not spans:
        return None
    each = each or 1
    option = _PER_NODE if _PER_NODE in options else _NODES
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    setting = options.setting(option, each if option == _PER_NODE else nodes)
    across = options.setting(_NODES, nodes) if _NODES in options else None
    return Launch("torchrun", setting, each, each * nodes, spread, spans, across)


_RANKS, _EACH, _HOSTS, _MAP = "-np", "--npernode", "--host", "--map-by"
_MPI_ALIASES = _aliases(
    {
        _RANKS: "--np -n --n -c --num-proc",
        _EACH: "-N -npernode -ppn --ppn -perhost",
        _HOSTS: "-H -host -hosts --hosts -f -hostfile --hostfile -machinefile --machinefile -hostlist",
        _MAP: "-map-by",
    }
)


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
_TEST_ALIASES = _aliases({_THREADS: "--nthreads", _GPUS: "--ngpus"})
_TESTS = frozenset(
    """
    all_gather_perf all_reduce_perf alltoall_perf alltoallv_perf broadcast_perf gather_perf hypercube_perf reduce_perf
    reduce_scatter_perf scatter_perf sendrecv_perf
    """.split()
)


_TENSOR, _PIPELINE, _PREFILL = "--tensor-parallel-size", "--pipeline-parallel-size", "--prefill-context-parallel-size"
_DATA, _LOCAL, _RANK = "--data-parallel-size", "--data-parallel-size-local", "--data-parallel-rank"
_START, _HYBRID, _EXTERNAL = "--data-parallel-start-rank", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"
_DATA_BACKEND, _BACKEND = "--data-parallel-backend", "--distributed-executor-backend"
_CONFIG, _NODE_RANK, _HEADLESS = "--config", "--node-rank", "--headless"
_PARTIAL = (_RANK, _START, _HYBRID, _EXTERNAL, _HEADLESS)
"""Options with which this command starts some of the engines. Without a number of local ones, one is certain."""
_UTILIZATION, _CACHE = "--gpu-memory-utilization", "--kv-cache-memory-bytes"
_VLLM_ALIASES = _aliases(
    {
        _TENSOR: "-tp --tensor-parallel",
        _PIPELINE: "-pp --pipeline-parallel",
        _PREFILL: "-pcp",
        _DATA: "-dp",
        _LOCAL: "-dpl",
        _RANK: "-dpn",
        _START: "-dpr",
        _HYBRID: "-dph",
        _EXTERNAL: "-dpe",
        _DATA_BACKEND: "-dpb",
        _NODES: "-n",
        _CACHE: "--kv-cache-memory",
    }
)


def vllm(line: CommandLine, start: int) -> Launch | None:
    """The engines of `vllm serve` and `python -m vllm.entrypoints.…`; None if the words behind leave it open.

    An engine takes tensor-parallel x pipeline-parallel x prefill-context-parallel GPUs; decode-context-parallel and
    expert parallelism use the same ones. `--data-parallel-size` starts that many engines: as many as
    `--data-parallel-size-local` says in this container, one with `--data-parallel-rank` or an external load balancer,
    all of them if nothing divides them; 0 local ones leave an API server without a GPU. `--nnodes` divides all
    evenly; `--headless`, or a node's rank without their number, leaves open how many run here. Dynamo's worker
    `dynamo.vllm` takes the same options (ai-dynamo/dynamo components/src/dynamo/vllm/args.py). The backend `ray`
    takes the GPUs of a Ray cluster; without a backend, versions before 0.11 fell back to Ray where a machine had too
    few GPUs. `--config` names a file that may set more (vllm-project/vllm vllm/config/parallel.py at 00193b8,
    vllm/engine/arg_utils.py). Underscores equal dashes, and unique prefixes are accepted
    (vllm/utils/argparse_utils.py at 00da11e).
    """
    options = Options(line, start, _VLLM_ALIASES)
    return None if is_on_cpu(line, start) else _vllm("vllm", line, options, _engines(options))


def vllm_image(line: CommandLine, start: int) -> Launch | None:
    """The engine of a server that the image's entrypoint starts with these arguments; None if they do not say.

    The entrypoint is `vllm serve`, before 0.11 `python3 -m vllm.entrypoints.openai.api_server` (docker/Dockerfile).
    `--tensor-parallel-size` has one meaning in all servers that know it (vLLM and its forks, SGLang, KServe's Hugging
    Face server), so without a program it is enough on its own, and so is `--data-parallel-size` in full, unless
    `--enable-dp-attention` of SGLang gives it another meaning. Only vLLM knows both `-tp` and `-dp`.
    """
    options, written = Options(line, start, _VLLM_ALIASES), Options(line, start, {})
    is_vllm = (_DATA in written or ("-tp" in written and "-dp" in written)) and _ATTENTION not in written
    if is_on_cpu(line, start) or (options.number(_TENSOR) is None and not is_vllm):
        return None
    return _vllm("", line, options, _engines(options) if is_vllm else 1)


def _vllm(program: str, line: CommandLine, options: Options, engines: int) -> Launch | None:
    data = _LOCAL if _LOCAL in options and _DATA in options else _DATA
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _PREFILL)} | {data: engines}
    setting = _greatest(options, factors)
    if setting is None or not engines:
        return None
    total, nodes = prod(factors.values()), options.number(_NODES)
    spans = _NODES in options and nodes != 1
    backend = options.text(_BACKEND)
    is_elsewhere = spans or options.text(_DATA_BACKEND) == "ray" or _CONFIG in options
    if is_elsewhere or (backend != "mp" if backend else line.joins_ray):
        spread = Spread.CLUSTER
    else:
        spread = Spread.CONTAINER if backend else Spread.GROUP
    each = total if spread is Spread.CONTAINER else (total // nodes if spans and nodes else 1)
    uses_ray = backend == "ray" and total > 1
    own_ray = uses_ray and not (spans or line.joins_ray or _CONFIG in options)
    spans = spans or uses_ray
    return Launch(program, setting, each or 1, total, spread, spans, own_ray=own_ray)


def _greatest(options: Options, factors: Mapping[str, int]) -> Setting | None:
    """The option with the greatest of the factors that multiply each other; None if none of them is set."""
    option = max(factors, key=lambda name: factors[name])
    return options.setting(option, factors[option]) if option in options else None


def _engines(options: Options) -> int:
    """The least number of engines that this command starts."""
    if _LOCAL in options:
        return 0 if options.text(_LOCAL) == "0" else options.factor(_LOCAL)
    if any(name in options for name in _PARTIAL) or (_NODE_RANK in options and _NODES not in options):
        return 1
    return options.factor(_DATA)


_ATTENTION, _RAY = "--enable-dp-attention", "--use-ray"
_SGLANG_ALIASES = _aliases(
    {
        _TENSOR: "--tp --tp-size --tensor-parallel",
        _PIPELINE: "--pp --pp-size",
        _DATA: "--dp --dp-size",
        _NODES: "--nnode",
    }
)


def sglang(line: CommandLine, start: int) -> Launch | None:
    """The server of `sglang serve` and `python -m sglang.launch_server`; None if the words behind leave it open.

    A server takes tensor-parallel x pipeline-parallel GPUs, times `--dp-size` unless `--enable-dp-attention` makes the
    data parallel ranks share them. `--nnodes` divides them evenly, and is 1 by default (sgl-project/sglang
    python/sglang/srt/server_args.py at 001067f, managers/data_parallel_controller.py at 000a3db). Unique prefixes such
    as `--tp` are accepted, as argparse does.
    """
    options = Options(line, start, _SGLANG_ALIASES)
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE)}
    factors[_DATA] = 1 if _ATTENTION in options else options.factor(_DATA)
    setting = _greatest(options, factors)
    if setting is None or is_on_cpu(line, start):
        return None
    total, nodes = prod(factors.values()), options.number(_NODES)
    spans = _NODES in options and nodes != 1
    is_elsewhere = spans or _RAY in options
    each = (total // nodes if nodes else 1) if is_elsewhere else total
    return Launch("sglang", setting, each or 1, total, Spread.CLUSTER if is_elsewhere else Spread.CONTAINER, spans)


def dynamo_sglang(line: CommandLine, start: int) -> Launch | None:
    """The worker `dynamo.sglang` of Dynamo, which takes the options of SGLang; None if they leave it open.

    Without `--nnodes`, its GPUs are those of all pods of a component: where that has several nodes, Dynamo's operator
    adds `--nnodes` and `--node-rank` itself (ai-dynamo/dynamo `deploy/operator`).
    """
    launch = sglang(line, start)
    if launch is None or launch.spread is not Spread.CONTAINER:
        return launch
    return launch._replace(each=1, spread=Spread.GROUP)


class MemoryUse(NamedTuple):
    """The fraction of the memory of a card that one process takes, as `text` spells it.

    `option` is the option that sets it, at the place `path` in the container. `is_default`: it is absent.
    """

    program: str
    option: str
    fraction: float
    text: str
    path: Path
    is_default: bool = False


def vllm_memory(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of `vllm serve`: weights and cache together are `--gpu-memory-utilization`, by default 0.9 or more.

    The default is 0.92 from 0.20 on; the lower one counts. With `--kv-cache-memory-bytes` the size of the cache is
    known in bytes alone, and nothing is said (vllm-project/vllm vllm/config/cache.py).
    """
    options = Options(line, start, _VLLM_ALIASES)
    if _CACHE in options or is_on_cpu(line, start):
        return None
    if _UTILIZATION in options:
        return _given("vllm", _UTILIZATION, options)
    if _CONFIG in options or _may_add_options(line, start):
        return None
    place = line.place(start - 1) if start else ("image",)
    return MemoryUse("vllm", _UTILIZATION, 0.9, "0.9 to 0.92", place, is_default=True)


def sglang_memory(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of SGLang: weights and cache together are `--mem-fraction-static`.

    By default it depends on the card (sgl-project/sglang python/sglang/srt/server_args.py), and is unknown here.
    """
    return _given("sglang", "--mem-fraction-static", Options(line, start, {}))


def image_memory(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of the entrypoint of an unknown image with these arguments: no other server has vLLM's option."""
    return vllm_memory(line, start) if _UTILIZATION in Options(line, start, {}) else None


_LISTS = ("ARG", "OPT", "FLAG", "@", "*", "`")
"""What the name of a variable, or a substitution, has that stands for several words."""


def _may_add_options(line: CommandLine, start: int) -> bool:
    """Whether a word may stand for further options: a variable or placeholder that is no value and no model."""
    has_model, follows_option = start == 0, False
    for word in line.words[start:]:
        is_option = word.startswith("-")
        is_replaced = "$" in word or "{{" in word or "`" in word
        if is_replaced and any(mark in word.upper() for mark in _LISTS):
            return True
        if not is_option and not follows_option:
            if is_replaced and has_model:
                return True
            has_model = True
        follows_option = is_option and "=" not in word
    return False


def _given(program: str, option: str, options: Options) -> MemoryUse | None:
    """What an option says; None unless its value is a fraction above 0 and up to 1."""
    text = options.text(option)
    if len(text) > _LONGEST or not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    fraction = float(text)
    return MemoryUse(program, option, fraction, text, options.place(option)) if 0 < fraction <= 1 else None


_LONGEST = 16


class Program(NamedTuple):
    """A program, and the readers of its words: for the GPUs that it takes, and for their memory where it sets that.

    They read the words of a line from an index on. A program with a `subcommand` takes GPUs with that one alone.
    """

    launch: Callable[[CommandLine, int], Launch | None]
    memory: Callable[[CommandLine, int], MemoryUse | None] | None = None
    subcommand: str = ""


_VLLM = Program(vllm, vllm_memory)
_VLLM_IMAGE = Program(vllm_image, image_memory)
_SGLANG = Program(sglang, sglang_memory)
_TORCHRUN, _MPIRUN = Program(torchrun), Program(mpirun)

_PROGRAMS: Mapping[str, Program] = {
    "torchrun": _TORCHRUN,
    "mpirun": _MPIRUN,
    "mpiexec": _MPIRUN,
    "mpiexec.hydra": _MPIRUN,
    "vllm": _VLLM._replace(subcommand="serve"),
    "sglang": _SGLANG._replace(subcommand="serve"),
}
_MODULES: Mapping[str, Program] = {
    "torch.distributed.run": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "sglang.launch_server": _SGLANG,
    "dynamo.vllm": _VLLM,
    "dynamo.sglang": Program(dynamo_sglang, sglang_memory),
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
