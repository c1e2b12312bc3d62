"""The first pass over the inputs of a run, which finds what describes a cluster before anything is checked.

Inputs stay in memory between the passes: standard input can be read once, and no file is read twice.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator

from webhook.dryrun.inputs import Found
from webhook.manifests import Source
from webhook.policy.sharing.fields import may_be_configuration
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
        """Read inputs up to MOST_BYTES."""
        self.rest = iter(found)
        self.held: deque[Found] = deque()
        self.sources: list[Source] = []
        self.is_whole = True
        self.has_words = False
        self.gke: Place | None = None
        size = 0
        for one in self.rest:
            self.held.append(one)
            if not isinstance(one, Source):
                continue
            data = one.data
            # Most manifests have none of the words.
            if _KINDS.search(data) is not None or _SELECTOR in data or may_configure_plugin(data):
                self.has_words = True
                self.sources.append(one)
            if self.gke is None and _GKE in data and (label := re.search(_GKE_GPUS, data, re.MULTILINE)):
                self.gke = Place(one.file, one.first_line + data.count(b"\n", 0, label.start()))
            size += len(data)
            if size > MOST_BYTES:
                self.is_whole = False
                self.sources.clear()
                return

    def given(self) -> Iterator[Found]:
        """Yield all inputs in their order, once."""
        while self.held:
            yield self.held.popleft()
        yield from self.rest


def may_configure_plugin(data: bytes) -> bool:
    """Whether bytes have a word that configurations of the device plugin have, or objects that choose among them."""
    if any(name in data for name in _NAMES) or (b"config" in data and _CONFIG.search(data) is not None):
        return True
    return may_be_configuration(data)
