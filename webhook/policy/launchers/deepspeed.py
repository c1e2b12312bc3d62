"""DeepSpeed's launcher: `deepspeed` and `deepspeed.launcher.runner`.

`--num_gpus`, also `--num_accelerators`, is the number of GPUs on each node; the launcher starts that many processes
even where there are fewer GPUs. `--num_nodes` takes the first hosts of a host file. `--include` and `--exclude` choose
GPUs by number (deepspeedai/DeepSpeed deepspeed/launcher/runner.py, 0.16.5).
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Setting, Spread

MODULES = frozenset({"deepspeed.launcher.runner"})

_GPUS, _NODES = "--num-gpus", "--num-nodes"
_ALIASES = {_GPUS: _GPUS, "--num-accelerators": _GPUS, _NODES: _NODES}
_FLAGS = frozenset(
    {
        *("-h", "--help", "--module", "--no-python", "--no-local-rank", "--no-ssh", "--no-ssh-check", "--force-multi"),
        *("--save-pid", "--elastic-training", "--bind-cores-to-rank"),
    }
)


def launch(line: Line, start: int) -> Launch | None:
    """The processes of the words after the program; None if they leave it open."""
    options = Options(line, start, _ALIASES, _FLAGS)
    each = options.number(_GPUS)
    if each is None:
        return None
    nodes = options.number(_NODES)
    spans = _NODES in options and nodes != 1
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    place = line.place(options.index(_GPUS))
    across = Setting("--num_nodes", nodes, line.place(options.index(_NODES))) if nodes else None
    return Launch("deepspeed", "--num_gpus", each, each, each * (nodes or 1), spread, spans, place, nodes=across)
