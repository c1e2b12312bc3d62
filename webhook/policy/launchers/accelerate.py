"""Accelerate: `accelerate launch`, `accelerate-launch` and `accelerate.commands.launch`.

`--num_processes` is the number of processes on all machines together; `--num_machines` divides it and is 1 by
default. A `--config_file` can set the machines too. `--cpu` trains on the CPU. Dashes and underscores are the same;
abbreviations do not exist (huggingface/accelerate src/accelerate/commands/launch.py and utils/launch.py at 16cb6eb).
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Spread, is_on_cpu

MODULES = frozenset({"accelerate.commands.launch"})

_PROCESSES, _MACHINES, _FILE = "--num-processes", "--num-machines", "--config-file"
_ALIASES = {name: name for name in (_PROCESSES, _MACHINES, _FILE)}
_FLAGS = frozenset(
    {
        *("-h", "--help", "-q", "--quiet", "--cpu", "--multi-gpu", "--tpu", "--use-deepspeed", "--use-fsdp"),
        *("--use-parallelism-config", "--use-megatron-lm", "--enable-cpu-affinity", "--same-network", "-m", "--module"),
        *("--no-python", "--debug", "--dynamo-use-fullgraph", "--dynamo-use-dynamic", "--use-xpu", "--ipex"),
        *("--dynamo-use-regional-compilation", "--tpu-cluster", "--no-tpu-cluster", "--tpu-use-sudo"),
    }
)


def launch(line: Line, start: int) -> Launch | None:
    """The processes of the words after `launch`; None if they leave it open."""
    options = Options(line, start, _ALIASES, _FLAGS)
    total = options.number(_PROCESSES)
    if total is None or is_on_cpu(line, start):
        return None
    machines = options.number(_MACHINES)
    is_unknown = machines is None and (_MACHINES in options or _FILE in options)
    spans = machines is not None and machines > 1
    spread = Spread.CLUSTER if spans or is_unknown else Spread.CONTAINER
    each = 1 if is_unknown else total // (machines or 1) or 1
    place = line.place(options.index(_PROCESSES))
    return Launch("accelerate launch", "--num_processes", total, each, total, spread, spans, place)
