"""Servers of models, vLLM and SGLang: the GPUs that they take, and the part of a card's memory.

A server that starts while others hold the rest of the card fails, or leaves nothing to servers that start later. The
memory of a variable, a placeholder or a configuration file is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from webhook.policy.launchers.words import CommandLine, Launch, Options, Setting, Spread, is_on_cpu
from webhook.policy.pods.pod import Container
from webhook.policy.verdict import Path

_TENSOR, _PIPELINE, _PREFILL = "--tensor-parallel-size", "--pipeline-parallel-size", "--prefill-context-parallel-size"
_DATA, _LOCAL, _RANK = "--data-parallel-size", "--data-parallel-size-local", "--data-parallel-rank"
_START, _HYBRID, _EXTERNAL = "--data-parallel-start-rank", "--data-parallel-hybrid-lb", "--data-parallel-external-lb"
_DATA_BACKEND, _BACKEND = "--data-parallel-backend", "--distributed-executor-backend"
_NODES, _CONFIG, _NODE_RANK, _HEADLESS = "--nnodes", "--config", "--node-rank", "--headless"
_PARTIAL = (_RANK, _START, _HYBRID, _EXTERNAL, _HEADLESS)
"""Options with which this command starts some of the engines. Without a number of local ones, one is certain."""
_UTILIZATION, _CACHE = "--gpu-memory-utilization", "--kv-cache-memory-bytes"
_VLLM_ALIASES = {
    **{"-tp": _TENSOR, "--tensor-parallel": _TENSOR, "-pp": _PIPELINE, "--pipeline-parallel": _PIPELINE},
    **{"-pcp": _PREFILL, "-dp": _DATA, "-dpl": _LOCAL, "-dpn": _RANK, "-dpr": _START, "-dph": _HYBRID},
    **{"-dpe": _EXTERNAL, "-dpb": _DATA_BACKEND, "-n": _NODES, "--kv-cache-memory": _CACHE},
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
    options, written = Options(line, start, _VLLM_ALIASES), Options(line, start, {})
    is_vllm = (_DATA in written or ("-tp" in written and "-dp" in written)) and _ATTENTION not in written
    if is_on_cpu(line, start) or (options.number(_TENSOR) is None and not is_vllm):
        return None
    engines = _engines(options) if is_vllm else 1
    return None if engines == 0 else _vllm("", line, options, engines)


def _vllm(program: str, line: CommandLine, options: Options, engines: int) -> Launch | None:
    data = _LOCAL if _LOCAL in options and _DATA in options else _DATA
    factors = {name: options.factor(name) for name in (_TENSOR, _PIPELINE, _PREFILL)} | {data: engines}
    setting = _greatest(options, factors)
    if setting is None:
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
_SGLANG_ALIASES = {
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
    """The memory of `vllm serve`: weights and cache together are `--gpu-memory-utilization`, at least 0.9 by default.

    With `--kv-cache-memory-bytes` the size of the cache is known in bytes alone, and nothing is said (vllm-project/vllm
    vllm/config/cache.py at c1d8642; later versions take 0.92).
    """
    options = Options(line, start, _VLLM_ALIASES)
    if _CACHE in options or is_on_cpu(line, start):
        return None
    if _UTILIZATION in options:
        return _given("vllm", _UTILIZATION, options)
    if _CONFIG in options or _may_add_options(line, start):
        return None
    place = line.place(start - 1) if start else ("image",)
    return MemoryUse("vllm", _UTILIZATION, 0.9, "0.9", place, is_default=True)


def sglang_memory(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of SGLang: weights and cache together are `--mem-fraction-static`.

    By default it depends on the card (sgl-project/sglang python/sglang/srt/server_args.py), and is unknown here.
    """
    return _given("sglang", "--mem-fraction-static", Options(line, start, {}))


def image_memory(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of the entrypoint of an unknown image with these arguments: no other server has vLLM's option."""
    return vllm_memory(line, start) if _UTILIZATION in Options(line, start, {}) else None


_LONGEST_NAME = 512
"""Characters of the name of an image that are read."""


def memory_of_image(container: Container, line: CommandLine) -> MemoryUse | None:
    """The memory of vLLM where the entrypoint of its image `vllm-openai` starts it with the arguments of a line."""
    image = container.raw.get("image")
    if not isinstance(image, str) or container.raw.get("command"):
        return None
    name = image[:_LONGEST_NAME].partition("@")[0].rpartition("/")[2].partition(":")[0]
    return vllm_memory(line, 0) if name == "vllm-openai" else None


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
