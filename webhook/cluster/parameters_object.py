"""The annotations with the parameters of policies, which the webhook alone writes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from webhook.cluster.api_server import ApiServer, Object, Rule
from webhook.policy.messages import printable
from webhook.runtime.failure_log import FailureLog, LogEvent
from webhook.runtime.retry import Backoff, monotonic, wait_for_event

Parameters: TypeAlias = Mapping[str, str]

_INTERVAL: Final = 60.0
"""Seconds between two reads if nothing changes here: another client may have changed the object."""

_AWAITED: Final = 1.0
"""Seconds until the parameters of a starting replica may be known."""

_FIRST_RETRY: Final = 0.1
"""Seconds, about, until the first retry. A conflict means that another replica has just written."""


_TOO_OFTEN: Final = 8
"""Conflicts in a row that are no longer a coincidence."""


class _Metadata(Struct, rename="camel"):
    resource_version: str
    annotations: dict[str, str] = {}


class _Annotated(Struct):
    metadata: _Metadata


class _RefusedError(Exception):
    """The API server refuses a request. The message says why, and what to do."""


class ParametersObject:
    """Keeps the annotations of a ServiceAccount up to date whose keys begin with a prefix. Run `run` in a task.

    `wanted` returns the parameters, or None while they are unknown: the annotations then stay as they are. `changed` is
    set when they may have changed. Each replica reads the object then, and once per minute, and writes it only if it
    differs. `seen` gets all other annotations after each read. The chart creates the object, so that it goes with the
    release.
    """

    def __init__(
        self,
        api: ApiServer,
        namespace: str,
        name: str,
        prefix: str,
        wanted: Callable[[], Parameters | None],
        changed: asyncio.Event,
        log: LogEvent,
        seen: Callable[[Mapping[str, str]], None],
    ) -> None:
        self._seen = seen
        self._api = api
        self._path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}"
        self._prefix = prefix
        self._rule = Rule("", "serviceaccounts", ("get", "patch"), name, namespace)
        self._wanted = wanted
        self._changed = changed
        self._log = log
        self._backoff = Backoff(_FIRST_RETRY)
        self._failing = FailureLog(log, "parameters cannot be written", "parameters are written again")
        self._confirmed: float | None = None

    @property
    def age(self) -> float | None:
        """Seconds since the object was last seen with the parameters of this replica; None if it never was."""
        return None if self._confirmed is None else monotonic() - self._confirmed

    async def run(self) -> None:
        while True:
            self._changed.clear()
            wanted = self._wanted()
            if wanted is None:
                await wait_for_event(self._changed, _AWAITED)
            elif await self._confirm(wanted):
                await wait_for_event(self._changed, _INTERVAL)
            else:
                await self._backoff.wait()

    async def _confirm(self, wanted: Parameters) -> bool:
        """Whether the object has these parameters now. Failures are logged."""
        try:
            if not await self._write(wanted):
                if self._backoff.failures >= _TOO_OFTEN:
                    self._failing.report(f"PATCH {self._path}: it changes before each write, or the patch is invalid")
                return False
        except (OSError, _RefusedError) as error:
            self._failing.report(error)
            return False
        self._confirmed = monotonic()
        self._backoff.reset()
        self._failing.recover()
        return True

    async def _write(self, wanted: Parameters) -> bool:
        """Write the parameters unless they are there; False if the object has changed meanwhile."""
        metadata = self._parsed(await self._call("GET")).metadata
        others = {key: value for key, value in metadata.annotations.items() if not key.startswith(self._prefix)}
        self._seen(others)
        annotations = others | {self._prefix + key: value for key, value in wanted.items()}
        if metadata.annotations == annotations:
            return True
        operations: list[Object] = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": metadata.resource_version},
            {"op": "add", "path": "/metadata/annotations", "value": annotations},
        ]
        if await self._call("PATCH", operations) is None:
            return False
        self._log("info", "parameters written", **wanted)
        return True

    def _parsed(self, found: Object | None) -> _Annotated:
        try:
            return msgspec.convert(found, _Annotated)
        except msgspec.ValidationError as error:
            raise _RefusedError(f"GET {self._path}: not an object of the API server: {error}") from None

    async def _call(self, method: str, body: list[Object] | None = None) -> Object | None:
        """The object of a response; None for a patch that no longer applies. Raises OSError and _RefusedError."""
        status, answer = await self._api.request(method, self._path, body)
        match status:
            case HTTPStatus.OK:
                return answer
            case HTTPStatus.CONFLICT | HTTPStatus.UNPROCESSABLE_ENTITY if body:
                return None
            case HTTPStatus.NOT_FOUND:
                where = f"ServiceAccount {self._rule.namespace}/{self._rule.name}"
                raise _RefusedError(f"{where} does not exist; run helm upgrade, which creates it")
            case HTTPStatus.FORBIDDEN:
                raise _RefusedError(self._rule.missing(method.lower()))
        raise _RefusedError(f"{method} {self._path}: {status} {printable(answer.get('message', ''))}".rstrip())
