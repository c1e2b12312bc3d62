"""vLLM: `vllm serve`, `python -m vllm.entrypoints.…`, and images with that entrypoint, which get options only.

An engine takes tensor-parallel x pipeline-parallel x prefill-context-parallel GPUs; decode-context-parallel and expert
parallelism use the same ones. `--data-parallel-size` starts that many engines: as many as
`--data-parallel-size-local` says in this container, one with `--data-parallel-rank` or an external load balancer, all
of them if nothing divides them; 0 local ones leave an API server without a GPU. `--nnodes` divides all evenly. The
backend `ray` takes the GPUs of a Ray cluster; without a backend, versions before 0.11 fell back to Ray where a machine
had too few GPUs. `--config` names a file that may set more (vllm-project/vllm vllm/config/parallel.py at 00193b8,
vllm/engine/arg_utils.py). Underscores equal dashes, and unique prefixes are accepted
(vllm/utils/argparse_utils.py at 00da11e).

The image's entrypoint is `vllm serve`, before 0.11 `python3 -m vllm.entrypoints.openai.api_server`
(docker/Dockerfile). `--tensor-parallel-size` has one meaning in all servers that know it (vLLM and its forks, SGLang,
KServe's Hugging Face server), so without a program it is enough on its own; data parallelism is not.
"""

from __future__ import annotations

from webhook.policy.launchers.words import CommandLine, Launch, Options, Spread, is_on_cpu

_TENSOR, _PIPELINE, _PREFILL = "--tensor-parallel-size", "--pipeline-parallel-size", "--prefill-context-parallel-size"
_DATA, _LOCAL, _RANK = "--data-parallel-size", "--data-parallel-size-local", "--data-parallel-rank"
_START, _HYBRID, _EXTERNAL = "--data-parallel-start-rank", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"
_DATA_BACKEND, _BACKEND = "--data-parallel-backend", "--distributed-executor-backend"
_NODES, _CONFIG = "--nnodes", "--config"
_NAMES = (_TENSOR, _PIPELINE, _PREFILL, _DATA, _LOCAL, _RANK, _START, _HYBRID, _EXTERNAL)
_ALIASES = {name: name for name in (*_NAMES, _DATA_BACKEND, _BACKEND, _NODES, _CONFIG)} | {
    **{"-tp": _TENSOR, "--tensor-parallel": _TENSOR, "-pp": _PIPELINE, "--pipeline-parallel": _PIPELINE},
    **{"-pcp": _PREFILL, "-dp": _DATA, "-dpl": _LOCAL, "-dpn": _RANK, "-dpr": _START, "-dph": _HYBRID},
    **{"-dpe": _EXTERNAL, "-dpb": _DATA_BACKEND, "-n": _NODES},
}


def serve(line: CommandLine, start: int) -> Launch | None:
    """The engines of `vllm serve`; None for other commands of `vllm`, and where nothing is certain."""
    return launch(line, start + 1) if line.has_at(start, "serve") else None


def launch(line: CommandLine, start: int) -> Launch | None:
    """The engines of the words from an index on; None if they leave it open."""
    options = Options(line, start, _ALIASES)
    engines = _engines(options)
    if engines == 0 or is_on_cpu(line, start):
        return None
    return _launch("vllm", line, options, engines)


def of_image(line: CommandLine) -> Launch | None:
    """The engine of a server that the image's entrypoint starts with these arguments; None if they do not say."""
    options = Options(line, 0, _ALIASES)
    if options.number(_TENSOR) is None or is_on_cpu(line):
        return None
    return _launch("", line, options, 1)


def _launch(program: str, line: CommandLine, options: Options, engines: int) -> Launch | None:
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _PREFILL)}
    factors[_DATA] = engines
    option = max(factors, key=lambda name: factors[name])
    if option not in options:
        return None
    total = 1
    for factor in factors.values():
        total *= factor
    nodes = options.number(_NODES)
    spans = _NODES in options and nodes != 1
    spread = _scope(options, spans=spans, joins_ray=line.joins_ray)
    each = total if spread is Spread.CONTAINER else (total // nodes if spans and nodes else 1)
    place = line.place(options.index(option))
    spans = spans or (options.text(_BACKEND) == "ray" and total > 1)
    return Launch(program, option, factors[option], each or 1, total, spread, spans, place)


def _engines(options: Options) -> int:
    """The least number of engines that this command starts."""
    if _LOCAL in options:
        return 0 if options.text(_LOCAL) == "0" else options.factor(_LOCAL)
    if any(name in options for name in (_RANK, _START, _HYBRID, _EXTERNAL)):
        return 1
    return options.factor(_DATA)


def _scope(options: Options, *, spans: bool, joins_ray: bool) -> Spread:
    backend = options.text(_BACKEND)
    if spans or "ray" in (backend, options.text(_DATA_BACKEND)) or _CONFIG in options:
        return Spread.CLUSTER
    if backend:
        return Spread.CONTAINER if backend == "mp" else Spread.CLUSTER
    return Spread.CLUSTER if joins_ray else Spread.GROUP
