"""Examples of GPS002."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A pod takes two shares, one for each of its containers. Two pods may take one each.",
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
    Example(
        "The containers need a whole card each, and the cluster has nodes that do not share theirs.",
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
  name: chat
spec:
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - {key: nvidia.com/gpu.sharing-strategy, operator: NotIn, values: [mps, time-slicing]}
              - {key: nvidia.com/mps.capable, operator: NotIn, values: ["true"]}
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
    ),
)
