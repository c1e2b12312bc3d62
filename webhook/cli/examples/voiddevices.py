"""Examples of the injection voidDevices."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "The image of a sidecar might ask for all GPUs.",
        settings="""\
injections:
  voidDevices:
    enabled: true
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
      resources:
        limits:
          nvidia.com/gpu: 1
    - name: log-shipper
      image: registry.example/log-shipper:1
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
    - name: log-shipper
      image: registry.example/log-shipper:1
      env:
        - name: NVIDIA_VISIBLE_DEVICES
          value: void
""",
    ),
)
