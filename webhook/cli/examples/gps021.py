"""Examples of GPS021."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "vLLM wants two GPUs in a container with one.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: serve
spec:
  containers:
    - name: serve
      image: registry.example/vllm:1
      args: [--model, org/model, --tensor-parallel-size, "2"]
      resources:
        limits:
          nvidia.com/gpu: 1
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: serve
spec:
  containers:
    - name: serve
      image: registry.example/vllm:1
      args: [--model, org/model, --tensor-parallel-size, "1"]
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
    Example(
        "A script starts more processes than the container has whole cards.",
        wrong="""\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example/train:1
          command: [bash, -c]
          args:
            - |
              export NCCL_DEBUG=INFO
              torchrun --nproc-per-node 8 train.py
          resources:
            limits:
              nvidia.com/gpu: 4
""",
        right="""\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: train
          image: registry.example/train:1
          command: [bash, -c]
          args:
            - |
              export NCCL_DEBUG=INFO
              torchrun --nproc-per-node 8 train.py
          resources:
            limits:
              nvidia.com/gpu: 8
""",
        settings="""\
resources:
  - name: nvidia.com/gpu
    kind: whole
""",
    ),
)
