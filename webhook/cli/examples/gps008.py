"""Examples of GPS008."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "Two users in a pod that may take two replicas.",
        settings="""\
limits:
  perPod: 2
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: chat
spec:
  containers:
    - name: serve
      image: registry.example/serve:1
      securityContext:
        runAsUser: 1000
      resources:
        limits:
          nvidia.com/gpu: 1
    - name: embed
      image: registry.example/embed:1
      securityContext:
        runAsUser: 2000
      resources:
        limits:
          nvidia.com/gpu: 1
""",
        right="""\
apiVersion: v1
kind: Pod
metadata:
  name: chat
spec:
  containers:
    - name: serve
      image: registry.example/serve:1
      securityContext:
        runAsUser: 1000
      resources:
        limits:
          nvidia.com/gpu: 1
    - name: embed
      image: registry.example/embed:1
      securityContext:
        runAsUser: 1000
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
    Example(
        "The administrator has configured one user for all clients of MPS.",
        settings="""\
users:
  runAsUser: 1000
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
      securityContext:
        runAsUser: 2000
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
      securityContext:
        runAsUser: 1000
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
