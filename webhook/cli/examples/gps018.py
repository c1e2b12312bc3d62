"""Examples of GPS018."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A percentage with its sign.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    gpushare-webhook/active-thread-percentage: "50%"
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    gpushare-webhook/active-thread-percentage: "50"
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
