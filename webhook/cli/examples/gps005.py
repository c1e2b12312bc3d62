"""Examples of GPS005."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A volume in memory for PyTorch's workers.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
  containers:
    - name: train
      image: registry.example/train:1
      volumeMounts:
        - name: shm
          mountPath: /dev/shm
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
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
