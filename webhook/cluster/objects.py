"""The objects of a cluster for questions about it, as far as the caller's rights allow; what is missing is noted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from webhook.cluster.api_server import ApiServer, Metadata, ResponseTooLargeError, Rule
from webhook.cluster.pages import ForbiddenError, NotFoundError, Unread, answer, latest_pages
from webhook.cluster.watch import UNDECODABLE, ReadError
from webhook.policy.messages import printable
from webhook.policy.settings.formats import NAMESPACE as NAMESPACE_FORM
from webhook.policy.settings.formats import OBJECT

Object = dict[str, Any]

PAGE: Final = 500
"""Objects in one page. Memory is bounded by a page, since each command keeps a few fields of an object."""


LOG_LINES: Final = 200
LOG_BYTES: Final = 2**20
"""How much of a log is read, from its end."""


class Kind(NamedTuple):
    """A kind by its resource. `name` is in the singular, as in kubectl."""

    name: str
    plural: str
    group: str = ""
    version: str = "v1"
    is_namespaced: bool = True

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """The path of a list in a namespace, in all namespaces for None, or of one object.

        Raises NotFoundError for a name that no object has: the segment `..` would lead to another one.
        """
        places = ("namespaces", namespace) if namespace is not None and self.is_namespaced else ()
        for form, one in ((NAMESPACE_FORM, namespace if places else None), (OBJECT, name or None)):
            if one is not None and not form.allows(one):
                raise NotFoundError(f'"{printable(one)}" is no legal name: must be {form.description}')
        segments = (*places, self.plural, *([name] if name else ()))
        return "/".join((self.root, *(quote(one, safe="") for one in segments)))

    @property
    def root(self) -> str:
        """The path of the version of its API group, below which are its kinds."""
        segments = ("apis", self.group, self.version) if self.group else ("api", self.version)
        return "".join(f"/{quote(one, safe='')}" for one in segments)

    def rule(self, namespace: str | None = None) -> Rule:
        """The rule that allows a command to list the kind."""
        return Rule(self.group, self.plural, ("get", "list"), namespace=namespace or "")


POD: Final = Kind("pod", "pods")
NODE: Final = Kind("node", "nodes", is_namespaced=False)
NAMESPACE: Final = Kind("namespace", "namespaces", is_namespaced=False)
EVENT: Final = Kind("event", "events")
CONFIG_MAP: Final = Kind("configmap", "configmaps")
QUOTA: Final = Kind("resourcequota", "resourcequotas")
LIMIT_RANGE: Final = Kind("limitrange", "limitranges")
SECRET: Final = Kind("secret", "secrets")
SERVICE_ACCOUNT: Final = Kind("serviceaccount", "serviceaccounts")
CONTROLLER: Final = Kind("replicationcontroller", "replicationcontrollers")
DEPLOYMENT: Final = Kind("deployment", "deployments", "apps")
REPLICA_SET: Final = Kind("replicaset", "replicasets", "apps")
STATEFUL_SET: Final = Kind("statefulset", "statefulsets", "apps")
DAEMON_SET: Final = Kind("daemonset", "daemonsets", "apps")
JOB: Final = Kind("job", "jobs", "batch")
CRON_JOB: Final = Kind("cronjob", "cronjobs", "batch")
RUNTIME_CLASS: Final = Kind("runtimeclass", "runtimeclasses", "node.k8s.io", is_namespaced=False)
ENDPOINT_SLICE: Final = Kind("endpointslice", "endpointslices", "discovery.k8s.io")
MUTATING: Final = Kind(
    "mutatingwebhookconfiguration",
    "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)
VALIDATING: Final = Kind(
    "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)
POLICY: Final = Kind(
    "validatingadmissionpolicy", "validatingadmissionpolicies", "admissionregistration.k8s.io", is_namespaced=False
)
POLICY_BINDING: Final = Kind(
    "validatingadmissionpolicybinding",
    "validatingadmissionpolicybindings",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)


class LeftOut(NamedTuple):
    """A part of a cluster that a command did not read, and why: mostly the missing rule.

    `matters`: the answer may be another one with it. Not so for what the user chose to leave out.
    """

    what: str
    why: str
    matters: bool = True


class Objects(Protocol):
    """The objects of a cluster, live or saved. A part that cannot be read is absent, and `left_out` names it."""

    left_out: list[LeftOut]

    def pages(
        self, kind: Kind, namespace: str | None = None, query: Mapping[str, str] | None = None
    ) -> AsyncGenerator[list[Object], None]:
        """Yield the objects of a kind in pages: of one namespace, or of all for None. `query` holds selectors."""

    async def listed(
        self, kind: Kind, namespace: str | None = None, query: Mapping[str, str] | None = None
    ) -> list[Object] | None:
        """Return the objects of a kind; None if they cannot be read. For kinds of which a cluster has few."""
        found = [one async for page in self.pages(kind, namespace, query) for one in page]
        return None if self.lacks(kind, namespace) else found

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """Return one object; None if it does not exist or cannot be read."""

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:
        """Return whether a list of the kind could not be read."""

    def has_all(self, kind: Kind) -> bool:
        """Return whether all lists of the kind had each of their objects; saved ones may be some of them."""

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        """Return whether an object could not be read, so that it may exist although `one` returns None."""


async def all_of(objects: Objects, kind: Kind, namespace: str | None = None, **query: str) -> AsyncIterator[Object]:
    """Yield the objects of a kind one by one. `query` holds selectors."""
    async for page in objects.pages(kind, namespace, query):
        for one in page:
            yield one


async def is_absent(objects: Objects, kind: Kind, namespace: str | None, name: str) -> bool:
    """Whether an object does not exist; False where that is not known."""
    return await objects.one(kind, namespace, name) is None and not objects.hides(kind, namespace, name)


class ObjectsWithLogs(Objects, Protocol):
    """Objects, and the logs of containers."""

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> str | None:
        """Return the end of a container's log, or of that of its predecessor; None if it cannot be read."""


class ObjectsWithMetrics(Objects, Protocol):
    """Objects, and the metrics of pods."""

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        """Return the metrics that a pod gives through the API server; None without them.

        They and Secrets are no part of the documented rights, since those reach too much: no answer depends on them.
        """


class LiveObjects(ObjectsWithLogs, ObjectsWithMetrics):
    """The objects of an API server."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.left_out: list[LeftOut] = []
        self._incomplete: set[Kind] = set()

    async def pages(
        self, kind: Kind, namespace: str | None = None, query: Mapping[str, str] | None = None
    ) -> AsyncGenerator[list[Object], None]:
        try:
            path = kind.path(namespace)
            async with aclosing(latest_pages(self._api, path, kind.rule(namespace), PAGE, query)) as listed:
                async for page in listed:
                    if isinstance(page, Unread):
                        one = _METADATA.decode(page.item).metadata
                        self._incomplete.add(kind)
                        self._leave_out(_single(kind, one.namespace, one.name), page.why)
                        continue
                    yield [msgspec.json.decode(item) for item in page.items or ()]
        except NotFoundError:
            return  # the cluster does not have the kind
        except (ReadError, *UNDECODABLE) as error:
            self._incomplete.add(kind)
            self._leave_out(_listing(kind, namespace), str(error))

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:
        return any(one.what == _listing(kind, namespace) for one in self.left_out)

    def has_all(self, kind: Kind) -> bool:
        return kind not in self._incomplete

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        rule = Rule("", "pods/proxy", ("get",), namespace=namespace)
        try:
            path = f"{POD.path(namespace, pod)}:{port:d}/proxy/metrics"
            return (await answer(self._api, path, f"GET {path}", rule, "get")).decode(errors="replace")
        except NotFoundError:
            return None
        except (ReadError, ResponseTooLargeError) as error:
            self._leave_out(f"metrics of pods in namespace {namespace}", str(error), matters=False)
            return None

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        rule = Rule(kind.group, kind.plural, ("get",), namespace=namespace or "")
        try:
            path = kind.path(namespace, name)
        except NotFoundError:
            return None
        return await self._decoded(path, rule, _single(kind, namespace, name), matters=kind != SECRET)

    async def document(self, path: str) -> Object | None:
        """Return what the API server says about itself, such as its groups under `/apis`; None if it cannot be read."""
        # A path that is no object has a rule of another form, which every user has by `system:discovery`.
        return await self._decoded(path, None, path)

    async def _decoded(self, path: str, rule: Rule | None, what: str, *, matters: bool = True) -> Object | None:
        """The object at a path; None where there is none, or it cannot be read."""
        try:
            found: Object = msgspec.json.decode(await answer(self._api, path, f"GET {path}", rule or _NO_RULE, "get"))
        except NotFoundError:
            return None
        except (ReadError, ResponseTooLargeError, *UNDECODABLE) as error:
            why = str(error)
            if rule is None and isinstance(error, ForbiddenError):
                of_path = f'{{nonResourceURLs: ["{path}"], verbs: [get]}}'
                why = f"403: not allowed to get {path}; add this rule to a ClusterRole: {of_path}"
            self._leave_out(what, why, matters=matters)
            return None
        return found

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        return any(one.what == _single(kind, namespace, name) for one in self.left_out)

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> str | None:
        asked = {
            "container": container,
            "previous": "true" if previous else "false",
            "tailLines": str(LOG_LINES),
            "limitBytes": str(LOG_BYTES),
        }
        try:
            path = f"{POD.path(namespace, pod)}/log"
            body = await answer(
                self._api,
                f"{path}?{urlencode(asked)}",
                f"GET {path}",
                Rule("", "pods/log", ("get",), namespace=namespace),
                "get",
            )
        except (ReadError, ResponseTooLargeError) as error:
            self._leave_out(f"log of container {container} of pod {namespace}/{pod}", str(error))
            return None
        return body[-LOG_BYTES:].decode("utf-8", "replace")

    def _leave_out(self, what: str, why: str, *, matters: bool = True) -> None:
        if all(one.what != what for one in self.left_out):
            self.left_out.append(LeftOut(what, why, matters))


_NO_RULE: Final = Rule("", "", ("get",))


class _Metadata(Metadata):
    namespace: str | None = None


class _Object(Struct):
    metadata: _Metadata


_METADATA: Final = msgspec.json.Decoder(_Object)


def _listing(kind: Kind, namespace: str | None) -> str:
    """The name of a list in messages."""
    if not kind.is_namespaced:
        return kind.plural
    return f"{kind.plural} in namespace {namespace}" if namespace else f"{kind.plural} in all namespaces"


def _single(kind: Kind, namespace: str | None, name: str) -> str:
    """The name of one object in messages."""
    return f"{kind.name} {namespace}/{name}" if namespace else f"{kind.name} {name}"
