"""Examples of the injection pipeMount."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A container asks for a replica; the mount follows the variable of `pipeDirectory`.",
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
  annotations:
    cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes: gpushare-mps-nvidia-com-gpu
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
      volumeMounts:
        - name: gpushare-mps-nvidia-com-gpu
          mountPath: /mps/nvidia.com/gpu/pipe
  volumes:
    - name: gpushare-mps-nvidia-com-gpu
      hostPath:
        path: /run/nvidia/mps/nvidia.com/gpu/pipe
        type: DirectoryOrCreate
""",
    ),
)
