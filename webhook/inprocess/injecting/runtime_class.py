"""The runtime class for pods that request a GPU: `webhook.policy.injections.runtime_class`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

# `key=value` of the node selector of the class, which must not contradict the pod's: the API server rejects such pods.
_CONTRADICTS = """variables.parameters[?'runtimeClassSelector'].orValue('').split(',').filter(e, e != '')
.exists(e, object.spec.?nodeSelector[?e.split('=')[0]].orValue(e.split('=')[1]) != e.split('=')[1])"""

VARIABLES: Final[Mapping[str, str]] = {
    "lacksClass": f"""variables.options.runtimeClass != '' && variables.asks && !has(object.spec.runtimeClassName)
&& (variables.options.knowsClasses != 'true'
|| variables.parameters[?'runtimeClass'].orValue('') == 'inject' && !{_CONTRADICTS})""",
}

OPERATIONS = """(!variables.lacksClass ? [] :
[JSONPatch{op: 'add', path: '/spec/runtimeClassName', value: variables.options.runtimeClass}])"""
