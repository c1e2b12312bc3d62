"""Examples of GPS017."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A volume for logs below the pipe directory.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  volumes:
    - name: logs
      emptyDir: {}
  containers:
    - name: train
      image: registry.example/train:1
      volumeMounts:
        - name: logs
          mountPath: /mps/nvidia.com/gpu/pipe/log
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
  volumes:
    - name: logs
      emptyDir: {}
  containers:
    - name: train
      image: registry.example/train:1
      volumeMounts:
        - name: logs
          mountPath: /var/log/train
      resources:
        limits:
          nvidia.com/gpu: 1
""",
    ),
)
