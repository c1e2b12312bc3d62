"""Two objects of the installation, followed by name: the ConfigMap with its settings, and the cap on its mode.

The cap is the annotation of a ServiceAccount that no pod uses. The guard reads it as its parameter: an API server
watches ServiceAccounts for as long as it runs, but not ConfigMaps (kubernetes/kubernetes#130887).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, NamedTuple

from msgspec import Raw

from webhook.cluster.api_server import CONFIG_MAPS, IDENTIFIED, ApiServer
from webhook.cluster.objects import CONFIG_MAP, EVENT, SERVICE_ACCOUNT, Kind
from webhook.cluster.watch import Feed, Named
from webhook.guard import SUFFIX
from webhook.policy.messages import cut, printable
from webhook.runtime.retry import FailureLog, LogEvent, monotonic

USUAL: Final = "gpushare-webhook/gpushare-webhook"
"""The installation that the pages lead to, whose settings apply where no other is named."""

KEY: Final = "settings.yaml"
MODE: Final = "gpushare-webhook/mode"
"""The annotation that caps the mode."""

_LARGEST: Final = 2**20
"""Characters of the settings. The API server accepts no larger ConfigMap (kubernetes pkg/apis/core `MaxSecretSize`)."""

_MODE: Final = 64
"""Characters that are kept of the annotation: more than any mode has."""

_AWAITED: Final = 10.0
"""Seconds for which a starting server waits for an object: enough for one request that times out."""


def parse_settings(found: Raw) -> tuple[str, str]:
    """Read the settings of the ConfigMap, and nothing else; empty without the key. Raises one of UNDECODABLE."""
    one = CONFIG_MAPS.decode(found)
    text = (one.data or {}).get(KEY, "")
    if len(text) > _LARGEST:
        raise ValueError(f"{KEY} is larger than {_LARGEST} characters")
    return one.metadata.name, text


def parse_mode(found: Raw) -> tuple[str, str]:
    """Read the annotation of the ServiceAccount, and nothing else; empty without it. Raises one of UNDECODABLE."""
    metadata = IDENTIFIED.decode(found).metadata
    return metadata.name, (metadata.annotations or {}).get(MODE, "")[:_MODE]


class Subject(NamedTuple):
    """What is followed: the kind of the object, `suffix` of its name, and `parse`, which reads its text.

    `what` names the text, `missing` is the event that it is not there, and `otherwise` says what is in force then.
    `lacks`: what an empty text means, where it is a fault.
    """

    kind: Kind
    suffix: str
    parse: Callable[[Raw], tuple[str, str]]
    what: str
    missing: str
    otherwise: str
    lacks: str = ""


SETTINGS: Final = Subject(
    CONFIG_MAP,
    "",
    parse_settings,
    "installed settings",
    "installed settings are missing",
    "what it said last stays in force",
    f"has no key {KEY}",
)
CAP: Final = Subject(
    SERVICE_ACCOUNT,
    SUFFIX,
    parse_mode,
    "cap on the mode",
    "cap on the mode is missing",
    "nothing caps the mode",
)


class Followed:
    """Follows an object of an installation. Run `run` in a task.

    It calls `take` with each text, and with None while the object does not exist. When the API server is lost, the last
    state stays. `taken`: there is one.
    """

    def __init__(
        self,
        api: ApiServer,
        subject: Subject,
        namespace: str,
        installation: str,
        take: Callable[[str | None], Awaitable[None]],
        log: LogEvent,
    ) -> None:
        self._subject = subject
        self._name = name = f"{installation}{subject.suffix}"
        self._where = f"{subject.kind.kind} {namespace}/{name}"
        self._take = take
        reader = Named(api, subject.kind, namespace, name, subject.parse)
        self._feed = Feed(subject.what, reader, self._changed, log)
        self._lacking = FailureLog(log, subject.missing, f"{subject.missing.removesuffix('missing')}back")
        self._began = monotonic()
        self._waiting = True
        self.taken = False
        self.run = self._feed.run

    @property
    def state(self) -> str:
        """Where the text in force comes from, in words."""
        source = self._where if self.taken else "the file"
        return f"{source}, failing" if self._feed.failing or self._lacking else source

    def settled(self) -> bool:
        """Whether the text was read, or will not be in a moment. Once true, it stays true."""
        if self.taken or self._feed.listing or self._lacking or monotonic() - self._began >= _AWAITED:
            self._waiting = False
        return not self._waiting

    async def _changed(self) -> None:
        found = (self._feed.objects or {}).get(self._name)
        problem = "does not exist" if found is None else "" if found else self._subject.lacks
        if problem:
            self._lacking.report(f"{self._where} {problem}; {self._subject.otherwise}")
        else:
            self._lacking.recover()
        await self._take(found)
        self.taken = self.taken or not problem


_MESSAGE: Final = 1024
"""Characters of the message of an event (kubernetes pkg/apis/core/validation `NoteLengthLimit`)."""


async def record_refusal(api: ApiServer, namespace: str, name: str, problem: str, log: LogEvent) -> None:
    """Record an event of the ConfigMap whose settings are refused, as `kubectl describe` and `kubectl events` show."""
    now = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    event = {
        "metadata": {"generateName": f"{name}."},
        "involvedObject": {"apiVersion": "v1", "kind": "ConfigMap", "namespace": namespace, "name": name},
        "type": "Warning",
        "reason": "SettingsRefused",
        "message": cut(f"the last valid settings stay in force: {problem}", _MESSAGE),
        "source": {"component": "gpushare-webhook"},
        **dict.fromkeys(("firstTimestamp", "lastTimestamp"), now),
        "count": 1,
    }
    try:
        status, answer = await api.request("POST", EVENT.path(namespace), event)
    except OSError as error:
        status, answer = 0, {"message": str(error)}
    if status != HTTPStatus.CREATED:
        log("warning", "event not recorded", reason=f"{status} {printable(str(answer.get('message', '')))}")
