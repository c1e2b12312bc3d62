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
    Example(
        "More memory than the largest share: a quarter of 40 GiB.",
        settings="""\
injections:
  memory:
    enabled: true
""",
        facts="""\
nodes:
  - name: gpu-1
    labels:
      nvidia.com/gpu.sharing-strategy: mps
      nvidia.com/gpu.replicas: "4"
      nvidia.com/gpu.memory: "40960"
    resources:
      nvidia.com/gpu: 4
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    gpushare-webhook/memory: 12Gi
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
    gpushare-webhook/memory: 10Gi
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
