"""mpirun and mpiexec of Open MPI, MPICH and Intel MPI, horovodrun, and the tests of NCCL that MPI often starts.

`-np`, `-n`, `--n` or `-c` is the number of ranks (open-mpi/ompi docs/man-openmpi/man1/mpirun.1.rst, 5.0; Intel MPI
Developer Guide 2021). `-N`, `--npernode`, `-ppn` or `--map-by ppr:N:node` is the number on each host. Hosts come from
`-H`, `--host`, `--hostfile`, `-f` or, in a job of the MPI Operator, from the environment; without any, all ranks run in
this container.

A rank is no GPU: plain MPI ranks that share one GPU are what MPS is made for. Ranks count only where each takes a GPU
of its own: nccl-tests, tritonserver, TensorRT-LLM, Horovod (horovod/horovod docs: one GPU for each process), and
programs for which the command line exports a variable of NCCL or Horovod.
"""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, is_on_cpu, number

_RANKS, _EACH, _HOSTS, _MAP = "-np", "--npernode", "--host", "--map-by"
_ALIASES = {
    **{"-np": _RANKS, "--np": _RANKS, "-n": _RANKS, "--n": _RANKS, "-c": _RANKS, "--num-proc": _RANKS},
    **{"-N": _EACH, "-npernode": _EACH, "--npernode": _EACH, "-ppn": _EACH, "--ppn": _EACH, "-perhost": _EACH},
    **{"-H": _HOSTS, "-host": _HOSTS, "--host": _HOSTS, "-hosts": _HOSTS, "--hosts": _HOSTS, "-f": _HOSTS},
    **{"-hostfile": _HOSTS, "--hostfile": _HOSTS, "-machinefile": _HOSTS, "--machinefile": _HOSTS, "-hostlist": _HOSTS},
    **{"-map-by": _MAP, "--map-by": _MAP},
}
_PROGRAMS = frozenset({"tritonserver", "trtllm-llmapi-launch", "trtllm-serve", "trtllm-bench", "trtllm-eval"})
_EXPORTS = ("NCCL_", "HOROVOD_")


def mpirun(line: CommandLine, start: int) -> Launch | None:
    """The ranks of mpirun; None where a rank need not have a GPU of its own."""
    words = line.words
    end, per_rank = len(words), 1
    has_gpus = False
    for index in range(start, len(words)):
        program = words[index].rpartition("/")[2]
        if is_nccl_test(program):
            end, per_rank, has_gpus = index, _gpus_of_test(Options(line, index + 1, _TEST_ALIASES)), True
            break
        if program in _PROGRAMS or "horovod" in words[index]:
            end, has_gpus = index, True
            break
        if words[index].startswith(_EXPORTS) and words[index - 1] in ("-x", "-genv", "-env"):
            has_gpus = True
    return _launch("mpirun", line, start, end, per_rank) if has_gpus and not is_on_cpu(line, start) else None


def horovodrun(line: CommandLine, start: int) -> Launch | None:
    """The ranks of horovodrun."""
    return None if is_on_cpu(line, start) else _launch("horovodrun", line, start, len(line.words), 1)


def _launch(program: str, line: CommandLine, start: int, end: int, per_rank: int) -> Launch | None:
    options = Options(line, start, _ALIASES, stop=end)
    ranks = options.number(_RANKS)
    if ranks is None:
        return None
    on_host = options.number(_EACH) or _of_map(options.text(_MAP))
    total = ranks * per_rank
    spread = Spread.CLUSTER if _HOSTS in options else Spread.GROUP
    each = min(on_host or 1, ranks) * per_rank
    return Launch(program, options.setting(_RANKS, ranks), each, total, spread, ranks > 1)


def _of_map(text: str) -> int | None:
    """The ranks on each host of a mapping such as `ppr:4:node`."""
    kind, _, rest = text.partition(":")
    amount, _, unit = rest.partition(":")
    return number(amount) if kind == "ppr" and unit.partition(":")[0] == "node" else None


_THREADS, _GPUS = "-t", "-g"
_TEST_ALIASES = {"-t": _THREADS, "--nthreads": _THREADS, "-g": _GPUS, "--ngpus": _GPUS}
_TESTS = frozenset(
    """
    all_gather_perf all_reduce_perf alltoall_perf alltoallv_perf broadcast_perf gather_perf hypercube_perf reduce_perf
    reduce_scatter_perf scatter_perf sendrecv_perf
    """.split()
)


def is_nccl_test(program: str) -> bool:
    """Whether a program is one of NVIDIA's nccl-tests. The README builds those for MPI with the suffix `_mpi`."""
    return program.removesuffix("_mpi") in _TESTS


def _gpus_of_test(options: Options) -> int:
    """The GPUs of one process of a test.

    A process runs `-t` threads with `-g` GPUs each, 1 by default, and every rank is a GPU of its own (NVIDIA/nccl-tests
    README.md and src/common.cu, 2.19.6).
    """
    return options.factor(_THREADS) * options.factor(_GPUS)


def nccl_test(line: CommandLine, start: int) -> Launch | None:
    """The process of a test without MPI that takes several GPUs; None for a single GPU."""
    options = Options(line, start, _TEST_ALIASES)
    total = _gpus_of_test(options)
    if total == 1:
        return None
    option = _GPUS if options.number(_GPUS) else _THREADS
    setting = options.setting(option, options.factor(option))
    return Launch("nccl-tests", setting, total, total, Spread.CONTAINER, False)
