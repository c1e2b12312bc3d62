"""Examples of GPS002."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod takes two shares, one for each of its containers.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: chat
spec:
  containers:
    - name: serve
      image: registry.example/serve:1
      resources:
        limits:
          nvidia.com/gpu: 1
    - name: embed
      image: registry.example/embed:1
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
      image: registry.example/serve:1
      resources:
        limits:
          nvidia.com/gpu: 1
---
apiVersion: v1
kind: Pod
metadata:
  name: embed
spec:
  containers:
    - name: embed
      image: registry.example/embed:1
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
