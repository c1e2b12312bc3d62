"""The hooks that the API server calls, and their paths."""

from __future__ import annotations

from enum import Enum


class Hook(Enum):
    """One hook. `hostpath`: whether its path is the one for namespaces that allow hostPath; None without such paths."""

    MUTATE = ("/mutate", "mutate", True)
    MUTATE_WITHOUT_HOSTPATH = ("/mutate/without-hostpath", "mutate", False)
    VALIDATE = ("/validate", "validate", None)

    def __init__(self, path: str, label: str, hostpath: bool | None) -> None:
        self.path = path
        self.label = label
        self.hostpath = hostpath

    @property
    def mutates(self) -> bool:
        return self is not Hook.VALIDATE
