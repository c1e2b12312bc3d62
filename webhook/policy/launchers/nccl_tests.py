"""NVIDIA's nccl-tests, such as `all_reduce_perf` and `alltoall_perf_mpi`.

A process runs `-t` threads with `-g` GPUs each, 1 by default, and every rank is a GPU of its own
(NVIDIA/nccl-tests README.md and src/common.cu, 2.19.6).
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Spread

_THREADS, _GPUS = "-t", "-g"
_ALIASES = {"-t": _THREADS, "--nthreads": _THREADS, "-g": _GPUS, "--ngpus": _GPUS}


_TESTS = frozenset(
    f"{collective}_perf"
    for collective in (
        *("all_gather", "all_reduce", "alltoall", "alltoallv", "broadcast", "gather", "hypercube", "reduce"),
        *("reduce_scatter", "scatter", "sendrecv"),
    )
)


def is_test(program: str) -> bool:
    """Whether a program of this name is one of them. The README builds those for MPI with the suffix `_mpi`."""
    return program.removesuffix("_mpi") in _TESTS


def per_process(line: Line, start: int) -> int:
    """The GPUs of one process, from the words after the program."""
    options = Options(line, start, _ALIASES)
    return options.factor(_THREADS) * options.factor(_GPUS)


def launch(line: Line, start: int) -> Launch | None:
    """One process with several GPUs; None for a single GPU."""
    options = Options(line, start, _ALIASES)
    total = options.factor(_THREADS) * options.factor(_GPUS)
    if total == 1:
        return None
    option = _GPUS if options.number(_GPUS) else _THREADS
    value, place = options.factor(option), line.place(options.index(option))
    return Launch("nccl-tests", option, value, total, total, Spread.CONTAINER, False, place)
