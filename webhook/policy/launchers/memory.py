"""The part of a card's memory that a server of models takes: by its arguments, its environment or by default.

A server that starts while others hold the rest of the card fails, or leaves nothing to servers that start later. The
memory of a variable, a placeholder or a configuration file is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from webhook.policy.launchers.words import TGI_IMAGE, VLLM_IMAGE, CommandLine, Options, is_on_cpu, starts_image
from webhook.policy.pods.pod import CUDA_FRACTION, XLA_ALLOCATOR, XLA_FRACTIONS, XLA_PREALLOCATE, Container
from webhook.policy.verdict import Path


class MemoryUse(NamedTuple):
    """The fraction of the memory of a card that one process takes, as `text` spells it.

    `option` is the option or variable that sets it, at the place `path` in the container. `is_default`: it is absent.
    `is_of_free`: the fraction is of the memory that the server finds free, so that on an empty card it takes at least
    as much.
    """

    program: str
    option: str
    fraction: float
    text: str
    path: Path
    is_default: bool = False
    is_of_free: bool = False


Parser: TypeAlias = Callable[[CommandLine, int], MemoryUse | None]
"""Reads the words of a line from an index on."""

_UTILIZATION, _CACHE, _CONFIG = "--gpu-memory-utilization", "--kv-cache-memory-bytes", "--config"
_VLLM = {name: name for name in (_UTILIZATION, _CACHE, _CONFIG)} | {"--kv-cache-memory": _CACHE}


def vllm(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of `vllm serve`: weights and cache together are `--gpu-memory-utilization`, at least 0.9 by default.

    With `--kv-cache-memory-bytes` the size of the cache is known in bytes alone, and nothing is said (vllm-project/vllm
    vllm/config/cache.py at c1d8642; later versions take 0.92).
    """
    options = Options(line, start, _VLLM)
    if _CACHE in options or is_on_cpu(line, start):
        return None
    if _UTILIZATION not in options:
        return None if _CONFIG in options else _default("vllm", _UTILIZATION, 0.9, line, start)
    return _given("vllm", _UTILIZATION, options)


_STATIC = "--mem-fraction-static"


def sglang(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of SGLang: weights and cache together are `--mem-fraction-static`.

    By default it depends on the card (sgl-project/sglang python/sglang/srt/server_args.py), and is unknown here.
    """
    return _given("sglang", _STATIC, Options(line, start, {_STATIC: _STATIC}))


_CUDA_FRACTION = "--cuda-memory-fraction"


def tgi(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of `text-generation-launcher`: `--cuda-memory-fraction`, all of it by default.

    (huggingface/text-generation-inference launcher/src/main.rs, 3.3.7)
    """
    options = Options(line, start, {_CUDA_FRACTION: _CUDA_FRACTION})
    if _CUDA_FRACTION not in options:
        return _default("text-generation-launcher", _CUDA_FRACTION, 1.0, line, start)
    return _given("text-generation-launcher", _CUDA_FRACTION, options)


_FREE = "--kv_cache_free_gpu_memory_fraction"
_TENSORRT = {
    **{"--kv-cache-free-gpu-memory-fraction": _FREE, "--free-gpu-memory-fraction": _FREE},
    **{"--config": _CONFIG, "--extra-llm-api-options": _CONFIG, "--config-file": _CONFIG, "-c": _CONFIG},
}
_OTHER_COMMANDS = (["disaggregated"], ["disaggregated_mpi_worker"], ["mm_embedding_serve"], ["--version"], ["--help"])
"""What `trtllm-serve` starts without this option: proxies, and servers of other models."""


def tensorrt_llm(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of `trtllm-serve`: the cache takes a fraction of what the weights leave free, 0.9 by default.

    A configuration file overrides it (NVIDIA/TensorRT-LLM tensorrt_llm/commands/serve.py).
    """
    options = Options(line, start, _TENSORRT)
    if _CONFIG in options or line.words[start : start + 1] in _OTHER_COMMANDS:
        return None
    if _FREE in options:
        used = _given("trtllm-serve", _FREE, options)
    else:
        used = _default("trtllm-serve", _FREE, 0.9, line, start)
    return used and used._replace(is_of_free=True)


def vllm_image(line: CommandLine, start: int) -> MemoryUse | None:
    """The memory of the entrypoint of an unknown image with these arguments: no other server has vLLM's option."""
    return vllm(line, start) if _UTILIZATION in Options(line, start, _VLLM) else None


def of_image(container: Container, words: Sequence[str]) -> MemoryUse | None:
    """The memory of a server that the entrypoint of a known image starts with these arguments."""
    line = CommandLine(words, 0, joins_ray=False)
    for name, parser in _IMAGES.items():
        if starts_image(container, name):
            return parser(line, 0)
    return None


_IMAGES: Mapping[str, Parser] = {VLLM_IMAGE: vllm, TGI_IMAGE: tgi}


def with_variables(container: Container, use: MemoryUse, words: Sequence[str]) -> MemoryUse | None:
    """The use of a server with the variable that sets it in the absence of the option; None if its value is unknown.

    `words` are those of the container, of which a script may set the variable.
    """
    if not use.is_default or use.option != _CUDA_FRACTION:
        return use
    if container.variables.get(CUDA_FRACTION) is not None:
        found = _of_variable(container, CUDA_FRACTION)
        return None if found is None else found._replace(program=use.program)
    is_set = container.raw.get("envFrom") or any(f"{CUDA_FRACTION}=" in word for word in words)
    return None if is_set else use


def of_xla(container: Container) -> MemoryUse | None:
    """The memory that XLA preallocates by `XLA_CLIENT_MEM_FRACTION`, unless another variable prevents that.

    `XLA_PYTHON_CLIENT_MEM_FRACTION` is the older name. Without both it takes 0.75, but no word of a container shows
    that a program uses XLA (jax-ml/jax docs/gpu_memory_allocation.rst, jaxlib/xla_client.py).
    """
    if _value(container, XLA_PREALLOCATE) in ("0", "false", "False"):
        return None
    if _value(container, XLA_ALLOCATOR).lower() == "platform":
        return None
    name = next((name for name in XLA_FRACTIONS if name in container.variables), None)
    return None if name is None else _of_variable(container, name)


def _of_variable(container: Container, name: str) -> MemoryUse | None:
    index, text = container.variables.get(name), _value(container, name)
    fraction = fraction_of(text)
    if index is None or fraction is None:
        return None
    return MemoryUse("", name, fraction, text, ("env", index, "value"))


def _value(container: Container, name: str) -> str:
    value = (container.variable(name) or {}).get("value")
    return value if isinstance(value, str) else ""


_LISTS = ("ARG", "OPT", "FLAG", "@", "*", "`")
"""What the name of a variable, or a substitution, has that stands for several words."""


def _may_add_options(line: CommandLine, start: int) -> bool:
    """Whether a word may stand for further options: a variable or placeholder that is no value and no model."""
    has_model = start == 0
    follows_option = False
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
    text = options.text(option)
    fraction = fraction_of(text)
    return None if fraction is None else MemoryUse(program, option, fraction, text, options.place(option))


def _default(program: str, option: str, fraction: float, line: CommandLine, start: int) -> MemoryUse | None:
    """The use without the option; None where a word may stand for it."""
    if _may_add_options(line, start):
        return None
    text = "all" if fraction == 1 else f"{fraction:g}"
    return MemoryUse(program, option, fraction, text, line.place(start - 1) if start else ("image",), is_default=True)


_LONGEST = 16


def fraction_of(text: str) -> float | None:
    """A text as a fraction above 0 and up to 1; None for any other text."""
    if len(text) > _LONGEST or not text.isascii() or not text.replace(".", "", 1).isdigit():
        return None
    fraction = float(text)
    return fraction if 0 < fraction <= 1 else None
