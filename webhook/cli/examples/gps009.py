"""Examples of GPS009."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "The host's shared memory, which a client of the device plugin's daemon does not need.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  hostIPC: true
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
""",
    ),
    Example(
        "On GKE, clients share the host's memory with the daemon.",
        settings="""\
profile: gke
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  nodeSelector:
    cloud.google.com/gke-gpu-sharing-strategy: mps
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
  hostIPC: true
  nodeSelector:
    cloud.google.com/gke-gpu-sharing-strategy: mps
  containers:
    - name: train
      image: registry.example/train:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
