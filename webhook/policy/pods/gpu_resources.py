"""The names of GPU resources: those of the settings, those of MIG slices, and the one that a wrong name means."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from webhook.policy.messages import is_one_edit_away
from webhook.policy.settings.settings import Resource

MIG = "nvidia.com/mig-"
"""How the names of MIG slices begin."""


class GpuResources:
    """The GPU resources of the settings. `by_name` does not contain those of MIG, which need no entry."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self.by_name = {resource.name: resource for resource in resources}

    def find(self, name: str) -> Resource | None:
        """The GPU resource that a name stands for, or None."""
        known = self.by_name.get(name)
        if known is None and name.startswith(MIG):
            return Resource(name, "mig")
        return known

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.by_name or name.startswith(MIG))


_FOREIGN = frozenset({"gpumem", "gpumem-percentage", "gpucores", "priority", "vgpu", "pgpu"})
"""Names that other software gives to GPUs (Project-HAMi/HAMi, kubevirt)."""

CARD = "nvidia.com/gpu"
"""The name under which a device plugin offers cards."""

_SHARE = "nvidia.com/gpu.shared"
WRONG_NAMES: Mapping[str, str] = {
    "gpu": CARD,
    "gpus": CARD,
    "nvidia-gpu": CARD,
    "nvidia/gpu": CARD,
    "nvidia.com.gpu": CARD,  # NVIDIA/k8s-device-plugin#569
    "alpha.kubernetes.io/nvidia-gpu": CARD,  # Kubernetes until 1.10
    "nvidia.com/nvidia-gpu": CARD,
    "nvidia.com/gpu-memory": CARD,
    "nvidia.com/gpu.memory": CARD,
    "nvidia.com/gpu-count": CARD,
    "nvidia.com/gpu.count": CARD,
    "nvidia.com/gpu.replicas": CARD,
    "nvidia.com/shared-gpu": _SHARE,
    "nvidia.com/gpu-shared": _SHARE,
    "nvidia.com/gpushared": _SHARE,
    "nvidia.com/mps-gpu": _SHARE,
    "nvidia.com/gpu.mps": _SHARE,
}
"""Names that users write for a card and for a share, in lower case. No software offers them."""


class KnownNames:
    """The resources of the settings, by the lengths of the names that could be a typo of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._folded = {name.lower(): name for name in self._names}
        self._by_length: dict[int, list[str]] = {}
        for name in sorted(self._names):
            for length in (len(name) - 1, len(name), len(name) + 1):
                self._by_length.setdefault(length, []).append(name)
        self._longest = max((*map(len, WRONG_NAMES), *self._by_length), default=0)

    def meant_by(self, name: str) -> str | None:
        """The known resource that a name means: in other case, well known as wrong, or one edit away; or None."""
        if len(name) > self._longest or name in self._names:
            return None
        folded = name.lower()
        if folded.startswith(MIG) or folded.partition("/")[2] in _FOREIGN:
            return None
        wrong = WRONG_NAMES.get(folded)
        # A share counts as a card where no share has a name of its own.
        for meant in (self._folded.get(folded), wrong, wrong and CARD):
            if meant in self._names:
                return meant
        near = self._by_length.get(len(name), ())
        return next((known for known in near if is_one_edit_away(folded, known.lower())), None)


def names_gpu(name: str, configured: Container[str]) -> bool:
    """Whether nodes offer GPUs under this name: one of the settings, or any that a device plugin of NVIDIA gives.

    The plugin names nothing else (NVIDIA/k8s-device-plugin api/config/v1/resources.go).
    """
    return name in configured or is_listed_by_nodes(name)


def is_listed_by_nodes(name: str) -> bool:
    """Whether nodes list the resource of this name, if there is one: it is in NVIDIA's domain.

    Nodes do not list what HAMi's scheduler counts, such as `nvidia.com/gpumem`.
    """
    domain, _, rest = name.partition("/")
    return domain == "nvidia.com" and rest not in _FOREIGN
