"""Launchers of training processes: torchrun, Accelerate and DeepSpeed."""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, is_on_cpu, number

_PER_NODE, _TORCH_NODES = "--nproc-per-node", "--nnodes"
_TORCH_ALIASES = {name: name for name in (_PER_NODE, _TORCH_NODES)} | {
    "--nproc-per": _PER_NODE,
    "--nproc-per-nod": _PER_NODE,
}
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
    nodes, spans = _least_nodes(options)
    option = _PER_NODE if _PER_NODE in options else _TORCH_NODES
    if option not in options:
        return None
    each = options.number(_PER_NODE)
    if each is None and not spans:
        return None
    each = each or 1
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    setting = options.setting(option, each if option == _PER_NODE else nodes)
    across = options.setting(_TORCH_NODES, nodes) if _TORCH_NODES in options else None
    return Launch("torchrun", setting, each, each * nodes, spread, spans, across)


def _least_nodes(options: Options) -> tuple[int, bool]:
    """The least number of nodes, and whether there may be more than one."""
    if _TORCH_NODES not in options:
        return 1, False
    least, _, most = options.text(_TORCH_NODES).partition(":")
    return number(least) or 1, number(most or least) != 1


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


_GPUS, _NODES = "--num_gpus", "--num_nodes"
_DEEPSPEED_ALIASES = {"--num-gpus": _GPUS, "--num-accelerators": _GPUS, "--num-nodes": _NODES}
_DEEPSPEED_FLAGS = frozenset(
    """
    -h --help --module --no-python --no-local-rank --no-ssh --no-ssh-check --force-multi --save-pid --elastic-training
    --bind-cores-to-rank
    """.split()
)


def deepspeed(line: CommandLine, start: int) -> Launch | None:
    """The processes of DeepSpeed's launcher, from the words after the program; None if they leave it open.

    `--num_gpus`, also `--num_accelerators`, is the number of GPUs on each node; the launcher starts that many processes
    even where there are fewer GPUs. `--num_nodes` takes the first hosts of a host file. `--include` and `--exclude`
    choose GPUs by number (deepspeedai/DeepSpeed deepspeed/launcher/runner.py, 0.16.5).
    """
    options = Options(line, start, _DEEPSPEED_ALIASES, _DEEPSPEED_FLAGS)
    each = options.number(_GPUS)
    if each is None:
        return None
    nodes = options.number(_NODES)
    spans = _NODES in options and nodes != 1
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    across = options.setting(_NODES, nodes) if nodes else None
    return Launch("deepspeed", options.setting(_GPUS, each), each, each * (nodes or 1), spread, spans, across)
