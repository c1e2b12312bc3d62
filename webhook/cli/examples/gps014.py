"""Examples of GPS014."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "The resource exists only on nodes that share their GPUs, and the pod selects others.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  nodeSelector:
    nvidia.com/gpu.sharing-strategy: none
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu.shared: 1
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
          nvidia.com/gpu.shared: 1
""",
    ),
    Example(
        "The only node with GPUs has a taint.",
        facts="""\
nodes:
  - name: gpu-1
    labels:
      nvidia.com/gpu.sharing-strategy: mps
    taints:
      - key: team
        value: vision
        effect: NoSchedule
    resources:
      nvidia.com/gpu: 4
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
          nvidia.com/gpu: 1
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  tolerations:
    - key: team
      value: vision
      effect: NoSchedule
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
    Example(
        "No node offers as many whole cards.",
        facts="""\
nodes:
  - name: gpu-1
    labels:
      nvidia.com/gpu.sharing-strategy: none
    resources:
      nvidia.com/gpu: 8
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  nodeSelector:
    nvidia.com/gpu.sharing-strategy: none
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 16
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  nodeSelector:
    nvidia.com/gpu.sharing-strategy: none
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 8
""",
    ),
)
