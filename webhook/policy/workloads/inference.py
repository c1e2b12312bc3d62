"""Model servers that a project's own kinds describe: OME, AIBrix, NIM, llmaz and llm-d."""

from __future__ import annotations

from dataclasses import replace

from webhook.policy.pods.pod import INIT
from webhook.policy.pods.reading import Members
from webhook.policy.verdict import Path
from webhook.policy.workloads import batch, kuberay
from webhook.policy.workloads.kinds import Kind
from webhook.policy.workloads.paths import (
    CONTAINERS,
    EVERY,
    Assembly,
    Condition,
    Containers,
    PodPath,
    always,
    at,
    never,
    one,
    stated,
    unknown,
)

_OME = "ome.io"


def _component(*steps: str, runner: str = "runner", group: str = "") -> PodPath:
    """A PodSpec beside the container of a model server, which become one pod."""
    parts = (*CONTAINERS, Containers((runner,)))
    return PodPath(steps, Assembly(parts, (steps,)), group=group, count=unknown if group else one)


def _workers(manifest: Members, path: Path) -> int | None:
    """The workers of a leader: `size`. Without it the runtime decides."""
    return stated(at(manifest, (*path, "size")))


def _engine(*steps: str) -> tuple[PodPath, ...]:
    """A component on one node, and the leader and workers of one on several nodes."""
    group = steps[-1].removesuffix("Config")
    leader = replace(_component(*steps, "leader", group=group), count=one)
    workers = replace(_component(*steps, "worker", group=group), count=_workers)
    return (_component(*steps), leader, workers)


_OME_SERVICE = (
    *_engine("spec", "engine"),
    *_engine("spec", "decoder"),
    _component("spec", "router"),
    _component("spec", "predictor", runner="model"),
    _component("spec", "predictor", "workerSpec", group="predictor"),
)
_OME_RUNTIME = (
    PodPath(("spec",), "podSpec"),
    PodPath(("spec", "workers"), "podSpec", group="workers", count=unknown),
    *_engine("spec", "engineConfig"),
    *_engine("spec", "decoderConfig"),
    _component("spec", "routerConfig"),
)

OME = (
    Kind(_OME, "InferenceService", _OME_SERVICE, ("v1beta1",), suspended=()),
    Kind(_OME, "ServingRuntime", _OME_RUNTIME, ("v1beta1",), suspended=(), labels=None),
    Kind(_OME, "ClusterServingRuntime", _OME_RUNTIME, ("v1beta1",), namespaced=False, suspended=(), labels=None),
    Kind(
        _OME,
        "BenchmarkJob",
        (PodPath(("spec", "podOverride"), Assembly((Containers((), name="benchmark"),), (("spec", "podOverride"),))),),
        ("v1beta1",),
        suspended=(),
    ),
)
"""OME: inference services, their runtimes and benchmarks (sgl-project/ome, `pkg/apis/ome/v1beta1`)."""


_AIBRIX = "orchestration.aibrix.ai"
_ROLES = ("spec", "template", "spec", "roles", EVERY)


def _pods_of_role(manifest: Members, path: Path) -> int | None:
    """The pods that work together in a role: `podGroupSize`. Without it, a role may spread a model over replicas."""
    return stated(at(manifest, (*path[:-1], "podGroupSize")))


AIBRIX = (
    Kind(
        _AIBRIX,
        "StormService",
        (PodPath((*_ROLES, "template"), group="role", apart=_ROLES, count=_pods_of_role),),
        ("v1alpha1",),
        suspended=(),
        labels=None,
    ),
    Kind(
        _AIBRIX,
        "RayClusterFleet",
        kuberay.cluster("spec", "template", "spec"),
        ("v1alpha1",),
        suspended=(),
        labels=None,
    ),
)
"""AIBrix: services of roles, and fleets of Ray clusters (vllm-project/aibrix, `api/orchestration/v1alpha1`).

The controllers of both make objects of other kinds, whose pods are checked when they are created.
"""


_NIM, _NIM_VERSIONS = "apps.nvidia.com", ("v1alpha1",)


def _nodes(manifest: Members, path: Path) -> int | None:
    """The pods of a service: `multiNode.parallelism.pipeline`, 1 without `multiNode`."""
    several = at(manifest, (*path, "multiNode"))
    return 1 if several is None else stated(at(several, ("parallelism", "pipeline")), 1)


def _is_not_enabled(manifest: Members, path: Path) -> bool:
    """Whether the operator skips a service of a pipeline: unless `enabled` is true, it makes none."""
    return at(manifest, (*path[:-1], "enabled")) is not True


def _nim(*spec: str, is_unused: Condition = never) -> tuple[PodPath, ...]:
    """The container whose fields stand in the spec, beside those of its pod. The operator names it after the object."""
    parts = Assembly((Containers((), name="nim"),), (spec,))
    return (PodPath(spec, parts, group="service", apart=spec, count=_nodes, is_unused=is_unused),)


_PIPELINE = _nim("spec", "services", EVERY, "spec", is_unused=_is_not_enabled)
"""Source: NVIDIA/k8s-nim-operator at f63f74d, internal/controller/nimpipeline_controller.go."""


NIM = (
    Kind(_NIM, "NIMService", _nim("spec"), _NIM_VERSIONS, suspended=()),
    Kind(_NIM, "NIMPipeline", _PIPELINE, _NIM_VERSIONS, suspended=(), labels=None),
    Kind(_NIM, "NIMBuild", _nim("spec"), _NIM_VERSIONS, suspended=(), labels=None),
)
"""NVIDIA NIM Operator (NVIDIA/k8s-nim-operator at f63f74d, `config/crd/bases`; the module proxy does not serve it).

Without an amount in `resources`, the operator asks for the GPUs of the model's profile. A NIMCache asks for none.
"""


_LLMAZ, _LLMAZ_GROUP = ("v1alpha1",), "inference.llmaz.io"


def _resources(*steps: str) -> tuple[PodPath, ...]:
    """The resources of the container of a model server."""
    return (PodPath(steps, Assembly((Containers((), "resources", name="model-runner"),)), count=unknown),)


_FLAVORS = _resources("spec", "inferenceConfig", "flavors", EVERY)
_RECOMMENDED = _resources("spec", "recommendedConfigs", EVERY, "resources")


def _shared_kind(group: str, name: str, pods: tuple[PodPath, ...]) -> Kind:
    """A kind of the cluster that model servers refer to, and that runs no pods by itself."""
    return Kind(group, name, pods, _LLMAZ, namespaced=False, suspended=(), labels=None, is_used_elsewhere=always)


def _server_kind(name: str, pods: tuple[PodPath, ...]) -> Kind:
    """A kind of model servers, whose model selects their nodes."""
    return Kind(_LLMAZ_GROUP, name, pods, _LLMAZ, suspended=(), has_open_nodes=always)


LLMAZ = (
    _shared_kind("llmaz.io", "OpenModel", _FLAVORS),
    _server_kind("Playground", _resources("spec", "backendRuntimeConfig", "resources")),
    _shared_kind(_LLMAZ_GROUP, "BackendRuntime", _RECOMMENDED),
    _server_kind("Service", batch.of_leader_and_workers("spec", "workloadTemplate")),
)
"""llmaz (InftyAI/llmaz at 3c13ff3, `config/crd/bases`; the module proxy does not serve the module).

The limits of a flavor of a model, and those of a playground, become the limits of a model server's container. The
flavor also selects its nodes.
"""


def _selects_nodes(manifest: Members, _path: Path) -> bool:
    """Whether a runtime selects nodes, in a form of its own."""
    return bool(at(manifest, ("spec", "deploymentConfig", "nodeSelectorTerms")))


_VLLM_PARTS = (
    Containers(("resources",), "gpus", name="vllm"),
    Containers(("sidecarConfig", "resources"), "gpus", name="sidecar"),
)
_VLLM = (PodPath(("spec", "deploymentConfig"), Assembly(_VLLM_PARTS), count=unknown),)

PRODUCTION_STACK = (
    Kind(
        "production-stack.vllm.ai",
        "VLLMRuntime",
        _VLLM,
        ("v1alpha1",),
        suspended=(),
        labels=None,
        has_open_nodes=_selects_nodes,
    ),
)
"""The production stack of vLLM (vllm-project/production-stack at a6c01db, `operator/config/crd/bases`)."""

_LLMKUBE = Assembly((Containers(("resources",), "gpus", name="server"),), (("spec",),))

LLMKUBE = (
    Kind(
        "inference.llmkube.dev",
        "InferenceService",
        (PodPath(("spec",), _LLMKUBE, count=unknown),),
        ("v1alpha1",),
        suspended=(),
        labels=None,
        has_open_nodes=always,
    ),
)
"""LLMKube (defilantech/LLMKube at 907ac8d, `config/crd/bases`).

The Model to which a service refers may name the resource of another vendor, and then other nodes are meant.
"""


def _servers(role: str) -> PodPath:
    steps = ("spec", role)
    parts = (Containers(("initContainers", EVERY), kind=INIT), Containers(("containers", EVERY)))
    return PodPath(steps, Assembly(parts), count=unknown)


LLM_D = (
    Kind(
        "llm-d.ai",
        "ModelService",
        (_servers("prefill"), _servers("decode")),
        ("v1alpha1",),
        suspended=(),
        has_open_nodes=always,
    ),
)
"""llm-d (llm-d/llm-d-model-service at 403e983, `config/crd/bases`; not a module that a proxy is known to serve).

A base configuration adds what the object leaves out, and `acceleratorTypes` chooses nodes. The endpoint picker
uses no GPU.
"""
