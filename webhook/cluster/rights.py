"""Rights that a source of facts needs, in the words of a Role."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a ClusterRole, or of a Role if it has a namespace."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    name: str = ""
    namespace: str = ""

    def missing(self, verb: str) -> str:
        """Return what the API server forbids, and the rule that allows it, ready to be pasted."""
        what = f"{self.resource} {self.namespace}/{self.name}" if self.name else self.resource
        where = f"a Role in namespace {self.namespace}" if self.namespace else "a ClusterRole"
        names = f", resourceNames: [{self.name}]" if self.name else ""
        rule = f'{{apiGroups: ["{self.group}"], resources: [{self.resource}]{names}, verbs: [{", ".join(self.verbs)}]}}'
        return f"403: not allowed to {verb} {what}; add this rule to {where}: {rule}"
