"""How nodes share their cards: through MPS, time-slicing, or not at all, by labels and by plugin configurations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Set
from itertools import chain
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from webhook.policy.placement.facts import may_have
from webhook.policy.placement.selector import Constraint, Expression, Requirement
from webhook.policy.pods.gpu_resources import GpuResources
from webhook.policy.settings.settings import Settings

if TYPE_CHECKING:
    from webhook.policy.placement.cluster_objects import DevicePlugin, Node, PluginConfig


CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""The label that names a node's configuration (NVIDIA/k8s-device-plugin cmd/config-manager)."""

SharingStrategy = Literal["mps", "time-slicing"]

SHARING: Final[tuple[SharingStrategy, ...]] = ("mps", "time-slicing")
"""All of them."""


class PluginConfigs:
    """The known configurations. Without any, every node's configuration is unknown."""

    def __init__(self, plugin: DevicePlugin | None) -> None:
        self.plugin = plugin
        configs = () if plugin is None else plugin.configs or ()
        self._by_name = {config.name: config for config in reversed(configs)}
        self._default = None if plugin is None else plugin.default_config
        named = ({shared.name for shared in config.resources} for config in self._by_name.values())
        self._naming = Counter(chain.from_iterable(named))
        """How many configurations share a resource under this name."""
        self.have_names = plugin is not None and plugin.configs is not None
        """Whether the configurations are known one by one, so that a node's may differ from another's."""

    def label(self, strategy: SharingStrategy) -> Mapping[str, Constraint]:
        """The label of a configuration on nodes with a strategy: any name but those of configurations without it."""
        others = {name for name, config in self._by_name.items() if config.strategy != strategy}
        return {CONFIG_LABEL: Constraint(excluded=others, absent=self._default not in others)} if others else {}

    def label_of_whole_cards(self) -> list[Expression]:
        """The label of nodes whose configuration does not share cards. Nodes without it have the default."""
        names = sorted(self._by_name)
        sharing = [name for name in names if self._by_name[name].strategy != "none"]
        if self._default in sharing:
            whole = [name for name in names if name not in sharing]
            return [Expression(CONFIG_LABEL, "In", whole)] if whole else []
        return [Expression(CONFIG_LABEL, "NotIn", sharing)] if sharing else []

    def of(self, node: Node) -> PluginConfig | None:
        """The configuration of a node; None if it is unknown.

        The plugin ignores a label that names no configuration, and keeps the one that it had. An empty label counts as
        none (`updateConfigName` in cmd/config-manager/main.go).
        """
        if self.plugin is None or may_have(node, CONFIG_LABEL):
            return None
        name = node.labels.get(CONFIG_LABEL) or self._default
        if name == "":
            from webhook.policy.placement.cluster_objects import NO_CONFIG  # most command lines know no plugin

            return NO_CONFIG
        return None if name is None else self._by_name.get(name)

    def accept_several(self, config: PluginConfig) -> bool:
        """Whether the plugin with this configuration accepts a request for more than one replica.

        For MPS the option defaults to true and counts from v0.20.0; for time-slicing it defaults to false
        (NVIDIA/k8s-device-plugin api/config/v1/sharing.go, NVIDIA/k8s-device-plugin#1762).
        """
        refuses = config.fail_requests_greater_than_one
        if config.strategy != "mps":
            return not refuses
        return refuses is False and self.plugin is not None and self.plugin.honours_option_for_mps

    def accept_several_everywhere(self, strategy: SharingStrategy) -> bool | None:
        """Whether the plugin accepts several replicas on every node with this strategy; None if that is unknown."""
        if self.plugin is None:
            return None
        if self.plugin.configs is None:
            refuses, is_honoured = self.plugin.fail_requests_greater_than_one, self.plugin.honours_option_for_mps
            if strategy != "mps" or (refuses is None and is_honoured):
                return None
            return refuses is False and is_honoured
        accepting = [self.accept_several(config) for config in self._by_name.values() if config.strategy == strategy]
        return all(accepting) if accepting else None

    def lack(self, resource: str) -> bool:
        """Whether no known configuration lets nodes offer a resource of NVIDIA's plugin.

        A renamed resource exists only where a configuration renames it, and the card's own name only elsewhere. Nodes
        without a label may have no configuration, unless there is a default.
        """
        if not self._by_name or not resource.startswith(DOMAIN):
            return False
        if resource.endswith(RENAMED):
            return resource not in self._naming
        return bool(self._default) and self._naming[resource + RENAMED] == len(self._by_name)


DOMAIN: Final = "nvidia.com/"
"""The domain of the resources that the plugin makes."""

RENAMED: Final = ".shared"
"""What `renameByDefault` adds to the name of a resource (NVIDIA/k8s-device-plugin api/config/v1/replicas.go)."""

STRATEGY = "nvidia.com/gpu.sharing-strategy"
REPLICAS = "nvidia.com/gpu.replicas"
PRODUCT = "nvidia.com/gpu.product"
CAPABLE = "nvidia.com/mps.capable"

# The product of a shared card has the suffix, unless the resource is renamed (k8s-device-plugin internal/lm).
SHARED: Final = "-SHARED"
_WHOLE = {REPLICAS: Constraint(("0", "1")), PRODUCT: Constraint(but_suffix=SHARED)}
"""The labels that GPU feature discovery sets on a node with whole cards. The replicas are 0 where all cards use MIG."""

CARD_MEMORY = "nvidia.com/gpu.memory"
CARD_COUNT = "nvidia.com/gpu.count"

DISCOVERED = frozenset({STRATEGY, REPLICAS, PRODUCT, CAPABLE, CARD_MEMORY, CARD_COUNT})
"""Labels of GPU feature discovery. It sets all of them on a GPU node, and removes them together."""


def _is_set_by_plugin(labels: Container[str]) -> bool:
    """Whether the labels are those of the device plugin's own sharing, which sets the others too."""
    return STRATEGY in labels or CAPABLE in labels


class SharingClass:
    """Nodes that share their cards in one way. `labels` marks them; a known node needs one of these labels.

    `shared` and `renamed` describe the labels of a node that offers the resource under the card's name, or under a
    name of its own; `others` those of nodes outside the class. `config` describes the label of the configuration.
    """

    def __init__(self, labels: Mapping[str, str], config: Mapping[str, Constraint]) -> None:
        self.labels = labels
        certain = {key: Constraint((value,), absent=False) for key, value in labels.items()}
        plugin = _is_set_by_plugin(labels)
        # GPU feature discovery sets these for the plugin's own sharing; the value is 1 for a card that is not shared.
        self.renamed = {**certain, **config, REPLICAS: Constraint(above=1, absent=False)} if plugin else certain
        self.shared = {**self.renamed, PRODUCT: Constraint(suffix=SHARED, absent=False)} if plugin else certain
        self.others = {key: Constraint(excluded=(value,)) for key, value in labels.items()}

    def excluded_by(self, requirement: Requirement, *, renamed: bool) -> bool:
        """Whether the requirement keeps a pod off all nodes of the class, as far as labels show.

        Its author means the class, even if the requirement excludes only one of several labels.
        """
        return not requirement.satisfiable(self.renamed if renamed else self.shared)

    def required_by(self, requirement: Requirement) -> bool:
        """Whether the requirement keeps a pod off all nodes outside the class."""
        return bool(self.labels) and not requirement.satisfiable(self.others)


FAMILY: Final = "nvidia.com/gpu.family"
MOST_CLIENTS: Final = 48
_BEFORE_TURING: Final = frozenset(("kepler", "maxwell", "pascal", "volta"))


def clients(families: Set[str]) -> int:
    """The clients of MPS that a card of one of these families serves: 48, or 16 where all are older than Turing.

    With more, the control daemon of the device plugin does not start (cmd/mps-control-daemon/mps/device.go).
    """
    return 16 if families and families <= _BEFORE_TURING else MOST_CLIENTS


Trait: TypeAlias = tuple[str | bool, ...]
"""A word, and names, that say what is true of a node, such as `("shares", "mps", "nvidia.com/gpu")`."""


class NodeClasses:
    """The sharing classes of a cluster. A node with labels of both is an MPS node, as with the device plugin.

    `gpus` contains the names of GPU resources, `shared` those of which pods get shares: shared resources, and whole
    cards where annotations ask for a part.
    """

    def __init__(self, settings: Settings, plugin: DevicePlugin | None = None) -> None:
        labels: Mapping[SharingStrategy, Mapping[str, str]] = {
            "mps": settings.placement.mps_labels,
            "time-slicing": settings.placement.time_slicing_labels,
        }
        asks = settings.requests
        kinds = ("shared", "whole") if asks.annotations and not asks.fractions else ("shared",)
        self.gpus = GpuResources(settings.resources)
        self.shared = frozenset(resource.name for resource in settings.resources if resource.kind in kinds)
        self.configs = PluginConfigs(plugin)
        self.sharing = {strategy: SharingClass(own, self.configs.label(strategy)) for strategy, own in labels.items()}
        self.mps = self.sharing["mps"]
        self.excluded: Mapping[str, tuple[str, ...]] = {
            key: tuple(sorted({own[key] for own in labels.values() if key in own}))
            for key in sorted({*chain.from_iterable(labels.values())})
        }
        """By label, the values that mark nodes which share their cards."""
        self.whole = {key: Constraint(excluded=marks) for key, marks in self.excluded.items()}
        if _is_set_by_plugin(self.excluded):
            self.whole = {**_WHOLE, **self.whole}
        self.are_discovered = _is_set_by_plugin(self.mps.labels)
        """Whether GPU feature discovery distinguishes MPS nodes, so that a node needs a label of it to be known."""
        self.telling = DISCOVERED | self.excluded.keys()
        """The labels that show the class of a node."""

    def marked(self, node: Node) -> SharingStrategy | None:
        """How a node shares its cards according to the labels of the classes; None without these labels."""
        for strategy, each in self.sharing.items():
            if any(node.labels.get(key) == value for key, value in each.labels.items()):
                return strategy
        return None

    def are_shown_by(self, node: Node) -> bool:
        """Whether a label of a node shows its class: one of GPU feature discovery, or a configured one of any value.

        Labels of shared cards do not, if no other label shows in which way the node shares them.
        """
        labels = node.labels
        if self.telling.isdisjoint(labels):
            return False
        if self.marked(node) is not None:
            return True
        if STRATEGY in labels:
            return labels[STRATEGY] in ("none", *SHARING)
        return all(constraint.holds(labels[key]) for key, constraint in _WHOLE.items() if key in labels)

    def traits(self, node: Node) -> Iterator[Trait]:
        """The traits by which a node shares cards."""
        config, marked = self.configs.of(node), self.marked(node)
        if config is not None and config.strategy not in (marked, "none") and self.are_discovered:
            marked = None  # the plugin reads its configuration, and no label: that of another strategy is left over
        if any(may_have(node, key) for key in self.telling) or may_have(node, CONFIG_LABEL):
            yield ("undecided",)
        if marked is not None:
            yield (marked,)
        if config is None or config.strategy == "none":
            if not self.mps.labels:  # no configuration of the plugin shows a daemon on the host
                yield ("any",)
            elif (  # only labels could show how the node shares its cards, and none does
                config is None
                and self.are_discovered
                and not self.are_shown_by(node)
                and not self.shared.isdisjoint(node.resources)
            ):
                yield ("undiscovered",)
        else:
            if marked is None:
                yield ("unlabelled",)
            several = self.configs.accept_several(config)
            for shared in config.resources:
                yield "shares", config.strategy, shared.name
                yield "accepting", config.strategy, shared.name, several
        gpus = [name for name in node.resources if name in self.gpus]
        if not any(node.resources[name] for name in gpus):
            for name in gpus:
                yield "unready", name

    def can_share(self, requirement: Requirement) -> bool:
        """Whether nodes that share their cards, and offer them under a name of their own, satisfy the requirement."""
        return any(
            (nodes is self.mps or nodes.labels) and not nodes.excluded_by(requirement, renamed=True)
            for nodes in self.sharing.values()
        )
