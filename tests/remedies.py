"""The remedies that several tests expect word by word."""

from __future__ import annotations

_WHOLE_CARDS = (
    ", or, if the cluster has whole cards, require them by node affinity: "
    'nvidia.com/gpu.sharing-strategy NotIn ["mps", "time-slicing"] and nvidia.com/mps.capable NotIn ["true"]'
)
ASK_FOR_ONE = f"ask for 1{_WHOLE_CARDS}"
ASK_FOR_ONE_IN_TEMPLATE = f"ask for 1 unless the namespace selects nodes{_WHOLE_CARDS}"
SPLIT_THE_POD = f"split the pod, or ask the administrator to raise limits.perPod{_WHOLE_CARDS}"

CLASS_MUST_EXIST = (
    'note: RuntimeClass "nvidia" must exist in the cluster, or the API server rejects the pods; '
    "see --context, --facts and injections.runtimeClass.enabled"
)
"""The note of `mutate` where nothing tells which RuntimeClasses exist."""
