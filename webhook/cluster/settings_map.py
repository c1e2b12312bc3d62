"""The ConfigMap of the installation, followed by name: the text of its settings, and the cap on the mode."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Raw, Struct

from webhook.cluster.api_server import ApiServer, Metadata, Rule
from webhook.cluster.readers import Named
from webhook.cluster.watch import Changed, Listed, WatchLog, follow
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import monotonic

KEY: Final = "settings.yaml"
MODE: Final = "gpushare-webhook/mode"
"""The annotation that caps the mode."""

_LARGEST: Final = 2**20
"""Characters of the settings. The API server accepts no larger ConfigMap (kubernetes pkg/apis/core `MaxSecretSize`)."""

_MODE: Final = 64
"""Characters that are kept of the annotation: more than any mode has."""

_AWAITED: Final = 10.0
"""Seconds for which a starting server waits for the settings: enough for one request that times out."""


@dataclass(frozen=True, slots=True)
class InstalledSettings:
    """What the ConfigMap says. None stands for a key or an annotation that it does not have."""

    text: str | None
    mode: str | None


class _Annotations(Struct):
    mode: str | None = msgspec.field(default=None, name=MODE)


class _Metadata(Metadata):
    annotations: _Annotations | None = None


class _Data(Struct):
    settings: Annotated[str, Meta(max_length=_LARGEST)] | None = msgspec.field(default=None, name=KEY)


class _ConfigMap(Struct):
    metadata: _Metadata
    data: _Data | None = None


_CONFIG_MAPS: Final = msgspec.json.Decoder(_ConfigMap)


def parse(found: Raw) -> tuple[str, InstalledSettings]:
    """Read the ConfigMap. Nothing else of it is kept. Raises one of UNDECODABLE."""
    one = _CONFIG_MAPS.decode(found)
    mode = None if one.metadata.annotations is None else one.metadata.annotations.mode
    text = None if one.data is None else one.data.settings
    return one.metadata.name, InstalledSettings(text, None if mode is None else mode[:_MODE])


class SettingsMap:
    """Follows the ConfigMap. Run `run` in a task; it calls `take` with each state of the ConfigMap.

    When the ConfigMap is deleted or the API server is lost, the last state stays. `taken`: there is one.
    """

    def __init__(
        self,
        api: ApiServer,
        namespace: str,
        name: str,
        take: Callable[[InstalledSettings], Awaitable[None]],
        log: LogEvent,
    ) -> None:
        self.where = f"ConfigMap {namespace}/{name}"
        self._name = name
        self._take = take
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        self._reader = Named(api, path, name, parse, Rule("", "configmaps", ("get", "watch"), name, namespace))
        self._api = api
        self._log = WatchLog(log, "installed settings")
        self._lacking = FailureLog(log, "installed settings are missing", "installed settings are back")
        self._began = monotonic()
        self._waiting = True
        self.taken = False

    @property
    def state(self) -> str:
        """Where the settings in force come from, in words."""
        source = self.where if self.taken else "the file"
        return f"{source}, failing" if self._log.listing or self._log.watching or self._lacking else source

    def pending(self) -> bool:
        """Whether the settings may be read in a moment. Once false, it stays false."""
        if self.taken or self._log.listing or self._lacking or monotonic() - self._began >= _AWAITED:
            self._waiting = False
        return self._waiting

    async def run(self) -> None:
        async with aclosing(follow(self._api, self._reader, self._log)) as observations:
            async for observed in observations:
                match observed:
                    case Listed(objects):
                        await self._observe(objects.get(self._name))
                    case Changed(_, value):
                        await self._observe(value)

    async def _observe(self, found: InstalledSettings | None) -> None:
        if found is None:
            self._lacking.report(f"{self.where} does not exist; what it said last stays in force")
            return
        if found.text is None:
            self._lacking.report(f"{self.where} has no key {KEY}; what it said last stays in force")
        else:
            self._lacking.recover()
        await self._take(found)
        self.taken = self.taken or found.text is not None
