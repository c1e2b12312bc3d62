"""Deployments for command lines: small files, one of which requests two replicas."""

from __future__ import annotations

from pathlib import Path

_TEXT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
  namespace: team-{team:02}
  labels:
    app: {name}
spec:
  replicas: 2
  selector:
    matchLabels:
      app: {name}
  template:
    metadata:
      labels:
        app: {name}
    spec:
      containers:
        - name: server
          image: registry.example.test/inference:1.{number}
          args: ["--port=8000", "--model=/models/{number:04}"]
          env:
            - name: MODEL
              value: model-{number:04}
          ports:
            - containerPort: 8000
          resources:
            requests:
              cpu: 500m
              memory: 1Gi
            limits:
              memory: 2Gi
              nvidia.com/gpu: "{gpus}"
"""

WRONG = "asks-for-two"
"""The name of the Deployment that a rule has to find."""


def good(number: int) -> str:
    """A Deployment that requests one replica, as YAML."""
    return _TEXT.format(name=f"inference-{number:04}", team=number % 20, number=number, gpus=1)


def wrong(number: int) -> str:
    """A Deployment that requests two."""
    return _TEXT.format(name=WRONG, team=number % 20, number=number, gpus=2)


def several(count: int) -> list[str]:
    """`count` Deployments; the one in the middle is wrong."""
    return [wrong(number) if number == count // 2 else good(number) for number in range(count)]


def write_file(file: Path, deployments: list[str]) -> Path:
    """One file with all of them."""
    file.write_text("---\n".join(deployments))
    return file


def write_folder(folder: Path, deployments: list[str]) -> Path:
    """A folder with a file for each."""
    folder.mkdir()
    for number, text in enumerate(deployments):
        (folder / f"{number:04}.yaml").write_text(text)
    return folder
