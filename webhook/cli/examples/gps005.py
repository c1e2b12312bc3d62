"""Examples of GPS005."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A volume in memory for PyTorch's workers.",
        wrong="""\
apiVersion: v1
kind: Pod
metadata:
  name: train
spec:
  volumes:
    - name: shm
      emptyDir:
        medium: Memory
  containers:
    - name: train
      image: registry.example/train:1
      volumeMounts:
        - name: shm
          mountPath: /dev/shm
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
        "Workers of Ray: KubeRay adds the volume, unless Ray keeps its objects elsewhere.",
        wrong="""\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
          - name: ray-head
            image: registry.example/ray:1
  workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams: {}
      template:
        spec:
          containers:
            - name: ray-worker
              image: registry.example/ray:1
              resources:
                limits:
                  nvidia.com/gpu: 1
""",
        right="""\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: ray
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers:
          - name: ray-head
            image: registry.example/ray:1
  workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      minReplicas: 1
      maxReplicas: 1
      rayStartParams:
        plasma-directory: /tmp
      template:
        spec:
          containers:
            - name: ray-worker
              image: registry.example/ray:1
              resources:
                limits:
                  nvidia.com/gpu: 1
""",
    ),
)
