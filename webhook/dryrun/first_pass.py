"""The first pass over the inputs of a run, which finds what describes a cluster before anything is checked.

Inputs stay in memory between the passes: standard input can be read once, and no file is read twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from webhook.dryrun.inputs import Found
from webhook.manifests import Source
from webhook.policy.sharing.config import may_be_configuration

if TYPE_CHECKING:
    from webhook.report.evidence import Place

MOST_BYTES = 32 * 1024 * 1024
"""Bytes of the inputs that wait for the second pass. Inputs with more show nothing."""

_DESCRIBING = b"Node|RuntimeClass|DeviceClass|LocalQueue|GPUCluster|LimitRange|ResourceQuota"
_KINDS = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?(%b)(?:List)?\b""" % _DESCRIBING)
_NAMES = (b"devicePlugin", b"nvidia-device-plugin", b"device-plugin.config", b"fallbackStrategies")
"""What ClusterPolicies, labels of nodes and values of charts hold that choose a configuration of the device plugin."""

_SELECTOR = b"/node-selector"
"""What a Namespace has that adds a node selector to its pods."""

_CONFIG = re.compile(rb"""config\\?["']?[ \t]*:(?s:.){0,300}?default\\?["']?[ \t]*:""")
"""Values of the plugin's chart that name a ConfigMap and the default."""

_GKE = b"cloud.google.com/gke-"
_GKE_GPUS = rb"^[^#\n]*cloud\.google\.com/gke-(?:accelerator|gpu-)"


class FirstPass:
    """The inputs that have been read, the rest of them, and which of them may describe a cluster.

    `sources` may do so, as a search for words tells. `is_whole`: all inputs were read; otherwise `sources` is empty.
    `has_words`: some of what was read may describe a cluster. `gke`: the first line with a label by which pods choose
    the GPUs of GKE.
    """

    def __init__(self, found: Iterable[Found]) -> None:
        self.rest = iter(found)
        self.held: deque[Found] = deque()
        self.sources: list[Source] = []
        self.is_whole = True
        self.has_words = False
        self.gke: Place | None = None

    @property
    def shows_anything(self) -> bool:
        """Whether the inputs may show something about a cluster."""
        return self.has_words or self.gke is not None

    def given(self) -> Iterator[Found]:
        """Yield all inputs in their order, once."""
        while self.held:
            yield self.held.popleft()
        yield from self.rest


def first_pass(found: Iterable[Found]) -> FirstPass:
    """Read inputs up to MOST_BYTES."""
    read = FirstPass(found)
    size = 0
    for one in read.rest:
        read.held.append(one)
        if not isinstance(one, Source):
            continue
        if may_describe_cluster(one.data):
            read.has_words = True
            read.sources.append(one)
        if read.gke is None and _GKE in one.data:
            read.gke = _place_of_gke(one)
        size += len(one.data)
        if size > MOST_BYTES:
            read.is_whole = False
            read.sources.clear()
            return read
    return read


def may_describe_cluster(data: bytes) -> bool:
    """Whether bytes have a word that an object which describes a cluster has. Most manifests have none."""
    return _KINDS.search(data) is not None or _SELECTOR in data or may_configure_plugin(data)


def may_configure_plugin(data: bytes) -> bool:
    """Whether bytes have a word that configurations of the device plugin have, or objects that choose among them."""
    if any(name in data for name in _NAMES) or (b"config" in data and _CONFIG.search(data) is not None):
        return True
    return may_be_configuration(data)


def _place_of_gke(source: Source) -> Place | None:
    from webhook.report.evidence import Place  # few inputs are for GKE

    found = re.search(_GKE_GPUS, source.data, re.MULTILINE)
    return None if found is None else Place(source.file, source.first_line + source.data.count(b"\n", 0, found.start()))
