"""Examples of GPS006."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A percentage above 100.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
    - name: train
      image: registry.example/train:1
      env:
        - name: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
          value: "150"
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
  containers:
    - name: train
      image: registry.example/train:1
      env:
        - name: CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
          value: "15"
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
    Example(
        "More memory than a replica's share: a quarter of 16 GiB.",
        facts="""\
nodes:
  - name: gpu-1
    labels:
      nvidia.com/gpu.sharing-strategy: mps
      nvidia.com/gpu.replicas: "4"
      nvidia.com/gpu.memory: "16384"
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
      env:
        - name: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
          value: 0=8G
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
  containers:
    - name: train
      image: registry.example/train:1
      env:
        - name: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
          value: 0=3G
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
