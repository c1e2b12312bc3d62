"""An installation, and the ServiceAccount whose annotations hold the mode and the parameters of its policies.

An API server watches ServiceAccounts from its start to its end, for an admission plugin. It stops watching ConfigMaps
when no binding refers to one any more, and never starts again: policies that are installed a second time see the values
of the first time, or none (kubernetes/kubernetes#130887).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from webhook.inprocess.cel import text, texts
from webhook.policy.rules import MODES, Cap

PARAM_KIND: Final = {"apiVersion": "v1", "kind": "ServiceAccount"}

SUFFIX: Final = "-parameters"
"""The ending of its name."""

PREFIX: Final = "parameters.gpushare-webhook/"
"""The beginning of the annotations that the webhook writes: one for each parameter."""

PARAMETERS: Final = (
    "params.metadata.?annotations.orValue({}).transformMapEntry(key, value, "
    f"key.startsWith('{PREFIX}'), {{key.substring({len(PREFIX)}): value}})"
)
"""The expression of all parameters by key."""


def parameter(key: str, otherwise: str) -> str:
    """The expression of one parameter; another text where it is absent."""
    return f"params.metadata.?annotations[?{text(PREFIX + key)}].orValue({text(otherwise)})"


_CAPS: Final = ("gpushare-webhook/mode", f"{PREFIX}mode")
"""The annotation of an emergency, and the cap on the mode that the webhook writes."""


class Installation(NamedTuple):
    """A release that the policies belong to."""

    namespace: str
    name: str

    @property
    def param_ref(self) -> dict[str, str]:
        """The `paramRef` of bindings. Without the object, the policies do nothing."""
        name = f"{self.name}{SUFFIX}"
        return {"name": name, "namespace": self.namespace, "parameterNotFoundAction": "Allow"}


def uncapped(*modes: Cap) -> dict[str, str]:
    """The condition that no cap on the mode is below `modes`. As in the webhook, an unknown mode changes nothing."""
    below = texts([mode for mode in MODES if mode not in modes])
    caps = f"!{texts(_CAPS)}.exists(key, params.metadata.?annotations[?key].orValue('enforce') in {below})"
    return {"name": "mode", "expression": caps}
