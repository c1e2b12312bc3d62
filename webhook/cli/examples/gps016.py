"""Examples of GPS016."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "An init container that converts a model on the GPU.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: serve
spec:
  initContainers:
    - name: convert
      image: registry.example/convert:1
      resources:
        limits:
          nvidia.com/gpu: 1
  containers:
    - name: serve
      image: registry.example/serve:1
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
  initContainers:
    - name: convert
      image: registry.example/convert:1
  containers:
    - name: serve
      image: registry.example/serve:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
