"""Examples of GPS023."""

from __future__ import annotations

from webhook.cli.examples.example import Example

EXAMPLES = (
    Example(
        "A typo in a field of a built-in kind: the pod has no limits, and gets no GPU.",
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
        limit:
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
        "A typo in the kind: no path leads to the pods of the object.",
        wrong="""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSets
metadata:
  name: train
spec:
  replicatedJobs:
    - name: workers
      template:
        spec:
          template:
            spec:
              containers:
                - name: train
                  image: registry.example/train:1
                  resources:
                    limits:
                      nvidia.com/gpu: 1
""",
        right="""\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
spec:
  replicatedJobs:
    - name: workers
      template:
        spec:
          template:
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
        "The request stands in text with which Argo Workflows patches the pod.",
        wrong="""\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: train-
spec:
  entrypoint: train
  templates:
    - name: train
      container:
        image: registry.example/train:1
      podSpecPatch: |
        containers:
          - name: main
            resources:
              limits:
                nvidia.com/gpu: 1
""",
        right="""\
apiVersion: argoproj.io/v1alpha1
kind: Workflow
metadata:
  generateName: train-
spec:
  entrypoint: train
  templates:
    - name: train
      container:
        image: registry.example/train:1
        resources:
          limits:
            nvidia.com/gpu: 1
""",
    ),
)
