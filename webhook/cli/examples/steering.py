"""Examples of the injection steering."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod asks for two GPUs by a name that stands for replicas on some nodes.",
        settings="""\
injections:
  steering:
    enabled: true
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 2
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 2
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - key: nvidia.com/gpu.sharing-strategy
                operator: NotIn
                values:
                  - mps
                  - time-slicing
              - key: nvidia.com/mps.capable
                operator: NotIn
                values:
                  - "true"
""",
    ),
)
