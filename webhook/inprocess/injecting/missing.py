"""The condition that a pod lacks something to inject.

A policy that changes a pod makes the API server ask all of them again, and each encodes and decodes the pod
(k8s.io/apiserver, pkg/admission/plugin/policy/mutating/dispatcher.go). The condition spares complete pods that. It is
true for every pod that the mutation changes, and for some others: it does not see which nodes a pod could land on.
"""

from __future__ import annotations

from typing import Final

from webhook.inprocess.cel import literal
from webhook.inprocess.injecting.clients import LIMITED, sets
from webhook.inprocess.injecting.tolerations import COVERED, FROM_NODES
from webhook.policy.pods.client_limits import ANNOTATIONS
from webhook.policy.pods.pod import PIPE_DIRECTORY

_LACKS_MOUNT = "!(has(c.volumeMounts) && c.volumeMounts.exists(m, m.mountPath == variables.pipes[n].path))"
_LACKS_PIPE = (
    f"(options.pipeDirectory == 'true' || options.pipeMount == 'true' && {_LACKS_MOUNT}) && "
    f"!({sets('c', repr(PIPE_DIRECTORY))})"
)
_LIMITS = literal({one.key: one.variable for one in ANNOTATIONS})
_LACKS_LIMIT = (
    "options.limits == 'true' && has(object.metadata.annotations) && "
    f"[{_LIMITS}].exists(limits, limits.exists(key, key in object.metadata.annotations && "
    f"!({sets('c', 'limits[key]')})))"
)

_RENAMED = (
    f"options.tolerateRenamed == 'true' && variables.renamed.exists(n, listed.exists(c, {LIMITED} && "
    "n in c.resources.limits) && [{'key': dyn(n), 'operator': dyn('Exists'), 'effect': dyn('NoSchedule')}]"
    f".exists(w, !{COVERED}))"
)

CONDITION: Final = (
    "[variables.options].exists(options, options.runtimeClass != '' && !has(object.spec.runtimeClassName) || "
    f"listed.exists(c, {LIMITED} && variables.shared.exists(n, n in c.resources.limits && "
    f"({_LACKS_PIPE} || {_LACKS_LIMIT}))) || {_RENAMED} || "
    f"(variables.tolerations + {FROM_NODES}).exists(w, !{COVERED}))"
)
"""The expression about the containers `listed`, with the variables of data."""
