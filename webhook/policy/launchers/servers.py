"""Servers of models: vLLM, SGLang, TensorRT-LLM with and without Triton, and Text Generation Inference."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from webhook.policy.launchers.words import (
    TGI_IMAGE,
    CommandLine,
    Launch,
    Options,
    Setting,
    Spread,
    is_on_cpu,
    number,
    starts_image,
)
from webhook.policy.pods.pod import SHARDS, Container

_TENSOR, _PIPELINE, _PREFILL = "--tensor-parallel-size", "--pipeline-parallel-size", "--prefill-context-parallel-size"
_DATA, _LOCAL, _RANK = "--data-parallel-size", "--data-parallel-size-local", "--data-parallel-rank"
_START, _HYBRID, _EXTERNAL = "--data-parallel-start-rank", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"
_DATA_BACKEND, _BACKEND = "--data-parallel-backend", "--distributed-executor-backend"
_NODES, _CONFIG, _NODE_RANK, _HEADLESS = "--nnodes", "--config", "--node-rank", "--headless"
_PARTIAL = (_RANK, _START, _HYBRID, _EXTERNAL, _HEADLESS)
"""Options with which this command starts some of the engines. Without a number of local ones, one is certain."""
_NAMES = (_TENSOR, _PIPELINE, _PREFILL, _DATA, _LOCAL, *_PARTIAL, _NODE_RANK)
_VLLM_ALIASES = {name: name for name in (*_NAMES, _DATA_BACKEND, _BACKEND, _NODES, _CONFIG)} | {
    **{"-tp": _TENSOR, "--tensor-parallel": _TENSOR, "-pp": _PIPELINE, "--pipeline-parallel": _PIPELINE},
    **{"-pcp": _PREFILL, "-dp": _DATA, "-dpl": _LOCAL, "-dpn": _RANK, "-dpr": _START, "-dph": _HYBRID},
    **{"-dpe": _EXTERNAL, "-dpb": _DATA_BACKEND, "-n": _NODES},
}


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
    engines = _engines(options)
    return None if engines == 0 or is_on_cpu(line, start) else _vllm("vllm", line, options, engines)


def vllm_image(line: CommandLine, start: int) -> Launch | None:
    """The engine of a server that the image's entrypoint starts with these arguments; None if they do not say.

    The entrypoint is `vllm serve`, before 0.11 `python3 -m vllm.entrypoints.openai.api_server` (docker/Dockerfile).
    `--tensor-parallel-size` has one meaning in all servers that know it (vLLM and its forks, SGLang, KServe's Hugging
    Face server), so without a program it is enough on its own, and so is `--data-parallel-size` in full, unless
    `--enable-dp-attention` of SGLang gives it another meaning. Only vLLM knows both `-tp` and `-dp`.
    """
    options = Options(line, start, _VLLM_ALIASES)
    names = {word.partition("=")[0] for word in line.words}
    is_vllm = (names >= _IN_SHORT or not _IN_FULL.isdisjoint(names)) and _ATTENTION not in names
    if is_on_cpu(line, start) or (options.number(_TENSOR) is None and not is_vllm):
        return None
    engines = _engines(options) if is_vllm else 1
    return None if engines == 0 else _vllm("", line, options, engines)


_IN_FULL = frozenset((_DATA, _DATA.replace("-", "_").replace("__", "--", 1)))
_IN_SHORT = frozenset(("-tp", "-dp"))


def _vllm(program: str, line: CommandLine, options: Options, engines: int) -> Launch | None:
    data = _LOCAL if _LOCAL in options and _DATA in options else _DATA
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _PREFILL)} | {data: engines}
    setting = _greatest(options, factors)
    if setting is None:
        return None
    total, nodes = prod(factors.values()), options.number(_NODES)
    spans = _NODES in options and nodes != 1
    spread = _spread(options, spans=spans, joins_ray=line.joins_ray)
    each = total if spread is Spread.CONTAINER else (total // nodes if spans and nodes else 1)
    own_ray = options.text(_BACKEND) == "ray" and total > 1 and not (spans or line.joins_ray or _CONFIG in options)
    spans = spans or (options.text(_BACKEND) == "ray" and total > 1)
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


def _spread(options: Options, *, spans: bool, joins_ray: bool) -> Spread:
    backend = options.text(_BACKEND)
    if spans or "ray" in (backend, options.text(_DATA_BACKEND)) or _CONFIG in options:
        return Spread.CLUSTER
    if backend:
        return Spread.CONTAINER if backend == "mp" else Spread.CLUSTER
    return Spread.CLUSTER if joins_ray else Spread.GROUP


_ATTENTION, _RAY = "--enable-dp-attention", "--use-ray"
_SGLANG_ALIASES = {name: name for name in (_TENSOR, _PIPELINE, _DATA, _ATTENTION, _NODES, _RAY)} | {
    **{"--tp": _TENSOR, "--tp-size": _TENSOR, "--tensor-parallel": _TENSOR, "--nnode": _NODES},
    **{"--pp": _PIPELINE, "--pp-size": _PIPELINE, "--dp": _DATA, "--dp-size": _DATA},
}


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


_TP, _PP, _CP = "--tp_size", "--pp_size", "--cp_size"
_TENSORRT_ALIASES = {
    **{"--tp-size": _TP, "--tensor-parallel-size": _TP, "--pp-size": _PP, "--pipeline-parallel-size": _PP},
    **{"--cp-size": _CP, "--context-parallel-size": _CP},
}


def tensorrt_llm(line: CommandLine, start: int) -> Launch | None:
    """The server of `trtllm-serve`, from the words after the program; None if they leave it open.

    A server takes `--tp_size` x `--pp_size` x `--cp_size` GPUs, each 1 by default; expert parallelism uses the same
    GPUs (NVIDIA/TensorRT-LLM tensorrt_llm/commands/serve.py at 00209af). With more than one node it runs below
    `trtllm-llmapi-launch` and mpirun, which distribute its ranks.
    """
    options = Options(line, start, _TENSORRT_ALIASES)
    factors = {name: options.factor(name) for name in (_TP, _PP, _CP)}
    setting = _greatest(options, factors)
    if setting is None:
        return None
    total = prod(factors.values())
    if any(word.endswith("trtllm-llmapi-launch") for word in line.words[:start]):
        return Launch("trtllm-serve", setting, 1, total, Spread.CLUSTER, total > 1)
    return Launch("trtllm-serve", setting, total, total, Spread.CONTAINER, False)


def triton(line: CommandLine, start: int) -> Launch | None:
    """The servers of `launch_triton_server.py`, from the words after the script; None if they do not say.

    `--world_size`, 1 by default, is the number of `tritonserver` processes that it starts through mpirun in this
    container, one GPU each (triton-inference-server/tensorrtllm_backend scripts/launch_triton_server.py before c4a49e8;
    since then in NVIDIA/TensorRT-LLM triton_backend/scripts).
    """
    options = Options(line, start, {"--world-size": "--world_size"})
    return _in_container("launch_triton_server.py", options, "--world_size")


def _in_container(program: str, options: Options, option: str) -> Launch | None:
    """The launch in this container that takes as many GPUs as one option says; None if it does not say."""
    total = options.number(option)
    if total is None:
        return None
    return Launch(program, options.setting(option, total), total, total, Spread.CONTAINER, False)


_TGI = "text-generation-launcher"


def tgi(line: CommandLine, start: int) -> Launch | None:
    """The shards of `text-generation-launcher`, which is also the entrypoint of its image; None if they do not say.

    `--num-shard` is the number of GPUs, or the variable `NUM_SHARD` in its absence; without either the server takes
    what it sees (huggingface/text-generation-inference launcher/src/main.rs and tgi-entrypoint.sh, 3.3.7). No other
    server has an option of this name.
    """
    return _in_container(_TGI, Options(line, start, {"--num-shard": "--num-shard"}), "--num-shard")


def tgi_of_environment(container: Container) -> Launch | None:
    """The shards of the variable of a container that runs the entrypoint of an image of the project, by its name."""
    index = container.variables.get(SHARDS)
    value = (container.variable(SHARDS) or {}).get("value")
    if index is None or not starts_image(container, TGI_IMAGE):
        return None
    total = number(value) if isinstance(value, str) else None
    if total is None:
        return None
    return Launch(_TGI, Setting(SHARDS, total, ("env", index, "value")), total, total, Spread.CONTAINER, False)
