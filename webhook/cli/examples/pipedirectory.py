"""Examples of the injection pipeDirectory."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A container asks for a replica.",
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
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
      env:
        - name: CUDA_MPS_PIPE_DIRECTORY
          value: /mps/nvidia.com/gpu/pipe
""",
    ),
)
