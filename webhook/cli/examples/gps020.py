"""Examples of GPS020."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A PyTorchJob whose pods may get shares of one card.",
        wrong="""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata:
          labels:
            app: train
        spec:
          containers:
            - name: pytorch
              image: registry.example/train:1
              resources:
                limits:
                  nvidia.com/gpu: 1
""",
        right="""\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: train
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        metadata:
          labels:
            app: train
        spec:
          affinity:
            podAntiAffinity:
              requiredDuringSchedulingIgnoredDuringExecution:
                - topologyKey: kubernetes.io/hostname
                  labelSelector:
                    matchLabels:
                      app: train
          containers:
            - name: pytorch
              image: registry.example/train:1
              resources:
                limits:
                  nvidia.com/gpu: 1
""",
    ),
    Example(
        "Two ranks in a container with two replicas.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  containers:
    - name: train
      image: registry.example/train:1
      command: [torchrun, --nproc-per-node, "2", train.py]
      resources:
        limits:
          nvidia.com/gpu: 2
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
      command: [torchrun, --nproc-per-node, "1", train.py]
      resources:
        limits:
          nvidia.com/gpu: 2
""",
        settings="""\
limits:
  perContainer: 2
  perPod: 2
""",
    ),
)
