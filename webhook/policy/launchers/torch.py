"""torchrun and its modules `torch.distributed.run` and `torch.distributed.launch`.

`--nproc-per-node` is the number of processes in this container; each takes the GPU of its `LOCAL_RANK`. Its values
`auto`, `gpu` and `cpu` follow the machine. `--nnodes` is a number, or `MIN:MAX` for elastic jobs; without it there is
one node. Options end at the script; each can also come from a variable `PET_…` (pytorch/pytorch
torch/distributed/run.py at 010929f).
"""

from __future__ import annotations

from webhook.policy.launchers.words import Launch, Line, Options, Setting, Spread, is_on_cpu, number

MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch"})

_PROCESSES, _NODES = "--nproc-per-node", "--nnodes"
_ALIASES = {name: name for name in (_PROCESSES, _NODES)} | {"--nproc-per": _PROCESSES, "--nproc-per-nod": _PROCESSES}
_FLAGS = frozenset({"--standalone", "-m", "--module", "--no-python", "--run-path", "--use-env", "-h", "--help"})


def launch(line: Line, start: int) -> Launch | None:
    """The processes of the words from an index on; None if they leave it open."""
    options = Options(line, start, _ALIASES, _FLAGS)
    if is_on_cpu(line, options.end):
        return None
    nodes, spans = _nodes(options)
    option = _PROCESSES if _PROCESSES in options else _NODES
    if option not in options:
        return None
    each = options.number(_PROCESSES)
    if each is None and not spans:
        return None
    each = each or 1
    spread = Spread.CLUSTER if spans else Spread.CONTAINER
    place, value = line.place(options.index(option)), each if option == _PROCESSES else nodes
    across = Setting(_NODES, nodes, line.place(options.index(_NODES))) if _NODES in options else None
    return Launch("torchrun", option, value, each, each * nodes, spread, spans, place, nodes=across)


def _nodes(options: Options) -> tuple[int, bool]:
    """The least number of nodes, and whether there may be more than one."""
    if _NODES not in options:
        return 1, False
    least, _, most = options.text(_NODES).partition(":")
    return number(least) or 1, number(most or least) != 1
