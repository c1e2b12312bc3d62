"""SGLang: `sglang serve` and `python -m sglang.launch_server`.

A server takes tensor-parallel x pipeline-parallel GPUs, times `--dp-size` unless `--enable-dp-attention` makes the data
parallel ranks share them. `--nnodes` divides them evenly, and is 1 by default (sgl-project/sglang
python/sglang/srt/server_args.py at 001067f, managers/data_parallel_controller.py at 000a3db). Unique prefixes such as
`--tp` are accepted, as argparse does.
"""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, is_on_cpu

MODULES = frozenset({"sglang.launch_server"})

_TENSOR, _PIPELINE, _DATA = "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size"
_ATTENTION, _NODES, _RAY = "--enable-dp-attention", "--nnodes", "--use-ray"
_ALIASES = {name: name for name in (_TENSOR, _PIPELINE, _DATA, _ATTENTION, _NODES, _RAY)} | {
    **{"--tp": _TENSOR, "--tp-size": _TENSOR, "--tensor-parallel": _TENSOR, "--nnode": _NODES},
    **{"--pp": _PIPELINE, "--pp-size": _PIPELINE, "--dp": _DATA, "--dp-size": _DATA},
}


def serve(line: CommandLine, start: int) -> Launch | None:
    """The server of `sglang serve`; None for other commands of `sglang`, and where nothing is certain."""
    return launch(line, start + 1) if line.has_at(start, "serve") else None


def launch(line: CommandLine, start: int) -> Launch | None:
    """The server of the words from an index on; None if they leave it open."""
    options = Options(line, start, _ALIASES)
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE)}
    factors[_DATA] = 1 if _ATTENTION in options else options.factor(_DATA)
    option = max(factors, key=lambda name: factors[name])
    if option not in options or is_on_cpu(line, start):
        return None
    total = factors[_TENSOR] * factors[_PIPELINE] * factors[_DATA]
    nodes = options.number(_NODES)
    spans = _NODES in options and nodes != 1
    is_elsewhere = spans or _RAY in options
    each = (total // nodes if nodes else 1) if is_elsewhere else total
    spread = Spread.CLUSTER if is_elsewhere else Spread.CONTAINER
    place = line.place(options.index(option))
    return Launch("sglang", option, factors[option], each or 1, total, spread, spans, place)
