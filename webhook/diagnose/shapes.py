"""The fields that questions read of the objects of long lists: a tenth of the time that a whole object takes.

A field that a reader of such a list newly reads belongs here; tests ask each question of live and of saved objects.
"""

from __future__ import annotations

from typing import Any, Final, TypedDict

import msgspec

from webhook.cluster.objects import Shape


class _Metadata(TypedDict, total=False):  # without managed fields
    name: Any
    generateName: Any
    namespace: Any
    labels: Any
    annotations: Any
    ownerReferences: Any
    deletionTimestamp: Any


class _Owned(TypedDict, total=False):
    metadata: _Metadata


class _Status(TypedDict, total=False):
    phase: Any
    reason: Any
    message: Any
    conditions: Any
    initContainerStatuses: Any
    containerStatuses: Any
    replicas: Any


class _Container(TypedDict, total=False):
    name: Any
    image: Any
    command: Any
    resources: Any
    restartPolicy: Any


class _Volume(TypedDict, total=False):
    hostPath: Any


class _HoldingSpec(TypedDict, total=False):
    nodeName: Any
    restartPolicy: Any
    runtimeClassName: Any
    overhead: Any
    resources: Any
    initContainers: list[_Container] | None
    containers: list[_Container] | None
    volumes: list[_Volume] | None


class _Holding(TypedDict, total=False):
    metadata: _Metadata
    spec: _HoldingSpec
    status: _Status


class _Checked(TypedDict, total=False):
    metadata: _Metadata
    spec: Any
    template: Any
    status: _Status


class _NodeStatus(TypedDict, total=False):
    capacity: Any
    allocatable: Any
    nodeInfo: Any


class _Node(TypedDict, total=False):
    metadata: _Metadata
    spec: Any
    status: _NodeStatus


OWNED: Final[Shape] = msgspec.json.Decoder(_Owned)
"""Of an object between a pod and its topmost owner: its metadata."""

HOLDING: Final[Shape] = msgspec.json.Decoder(_Holding)
"""Of a pod: its owner, its state, what it requests, and the program of the GPU stack that it runs."""

CHECKED: Final[Shape] = msgspec.json.Decoder(_Checked)
"""Of a pod or a built-in workload: its state, and all that checks read."""

NODE_SHAPE: Final[Shape] = msgspec.json.Decoder(_Node)
"""Of a node: its labels, taints and amounts, and the names of its system."""
