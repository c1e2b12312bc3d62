"""Examples of the injection limits."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod lowers its share of the card's threads to a quarter.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    gpushare-webhook/active-thread-percentage: "25"
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
    gpushare-webhook/active-thread-percentage: "25"
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
      env:
        - name: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
          value: "25"
""",
    ),
)
