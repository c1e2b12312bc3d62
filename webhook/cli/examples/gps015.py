"""Examples of GPS015."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod that ends at once.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  terminationGracePeriodSeconds: 0
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
spec:
  terminationGracePeriodSeconds: 30
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
