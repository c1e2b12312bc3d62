"""Examples of GPS019."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "The pod reaches `/validate` as its author wrote it. The right one is what `/mutate` makes of it.",
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
  runtimeClassName: nvidia
  tolerations:
    - key: nvidia.com/gpu
      operator: Exists
      effect: NoSchedule
  volumes:
    - name: gpushare-mps-nvidia-com-gpu
      hostPath:
        path: /run/nvidia/mps/nvidia.com/gpu/pipe
        type: DirectoryOrCreate
  containers:
    - name: train
      image: registry.example/train:1
      env:
        - name: CUDA_MPS_PIPE_DIRECTORY
          value: /mps/nvidia.com/gpu/pipe
      volumeMounts:
        - name: gpushare-mps-nvidia-com-gpu
          mountPath: /mps/nvidia.com/gpu/pipe
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
