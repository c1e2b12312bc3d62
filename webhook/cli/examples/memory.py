"""Examples of the injection memory."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A replica of one node has 4 GiB, and that of the other 10 GiB.",
        settings="""\
injections:
  memory:
    enabled: true
""",
        facts="""\
nodes:
  - name: small
    labels:
      nvidia.com/gpu.sharing-strategy: mps
      nvidia.com/gpu.memory: "16384"
      nvidia.com/gpu.replicas: "4"
    resources:
      nvidia.com/gpu: 4
  - name: large
    labels:
      nvidia.com/gpu.sharing-strategy: mps
      nvidia.com/gpu.memory: "40960"
      nvidia.com/gpu.replicas: "4"
    resources:
      nvidia.com/gpu: 4
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    gpushare-webhook/memory: 6Gi
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
    gpushare-webhook/memory: 6Gi
spec:
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
      env:
        - name: CUDA_MPS_PINNED_DEVICE_MEM_LIMIT
          value: 0=6144M
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - key: nvidia.com/gpu.memory
                operator: In
                values:
                  - "40960"
              - key: nvidia.com/gpu.replicas
                operator: In
                values:
                  - "4"
""",
    ),
)
