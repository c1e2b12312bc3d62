"""Examples of GPS011."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A sandbox for a client of MPS.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  runtimeClassName: gvisor
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
  runtimeClassName: nvidia
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
    Example(
        "A class that the cluster does not have.",
        facts="""\
runtimeClasses:
  - name: nvidia
    handler: nvidia
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  runtimeClassName: nvidia-gpu
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
  runtimeClassName: nvidia
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
