"""Examples of GPS012."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod that needs the mount, because its MPS daemon runs on the host, belongs in a namespace that allows it.",
        facts="""\
namespaces:
  - name: web
    labels:
      pod-security.kubernetes.io/enforce: baseline
  - name: gpu-jobs
    labels:
      pod-security.kubernetes.io/enforce: privileged
""",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
  namespace: web
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
  namespace: gpu-jobs
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
