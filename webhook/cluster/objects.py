"""The objects of a cluster, in pages and by name, as far as the caller's rights allow; what is missing is noted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Annotated, Any, Final, NamedTuple, Protocol, TypeAlias
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Meta, Raw, Struct

from webhook.cluster.api_server import (
    IDENTIFIED,
    JSON,
    METADATA,
    OBJECTS,
    UNDECODABLE,
    ApiServer,
    ResponseTooLargeError,
)
from webhook.cluster.reading import entries, word
from webhook.policy.messages import printable
from webhook.policy.settings.formats import NAMESPACE as NAMESPACE_FORM
from webhook.policy.settings.formats import OBJECT, Text

Object = dict[str, Any]

PAGE: Final = 500
"""Objects in one page. Memory is bounded by a page, since each command keeps a few fields of an object."""


LOG_LINES: Final = 200
LOG_BYTES: Final = 2**20
"""How much of a log is read, from its end."""


class ReadError(Exception):
    """The objects cannot be read now. The message says why."""


class NotFoundError(ReadError):
    """The server does not serve this path, or has no such object."""


class UnreadableError(ReadError):
    """A response is too large, or is not the JSON of its kind."""


class ExpiredError(ReadError):
    """The server no longer has the version that the pages of a list are taken from.

    `rest` is a token with which the list continues from the same place, with the objects of now; empty without one.
    """

    def __init__(self, message: str, rest: str) -> None:
        super().__init__(message)
        self.rest = rest


class Kind(NamedTuple):
    """A kind, and the resource by which the API server serves it."""

    kind: str
    plural: str
    group: str = ""
    version: str = "v1"
    is_namespaced: bool = True

    def path(self, namespace: str | None = None, name: str = "") -> str:
        """The path of a list in a namespace, in all namespaces for None, or of one object.

        Raises NotFoundError for a name that no object has: the segment `..` would lead to another one.
        """
        segments = [self.root]
        if namespace is not None and self.is_namespaced:
            segments += ["namespaces", _segment(namespace, NAMESPACE_FORM)]
        segments.append(quote(self.plural, safe=""))
        return "/".join([*segments, _segment(name, OBJECT)] if name else segments)

    @property
    def name(self) -> str:
        """Its name in the singular, as in kubectl."""
        return self.kind.lower()

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path of the version of its API group, below which are its kinds."""
        segments = ("apis", self.group, self.version) if self.group else ("api", self.version)
        return "".join(f"/{quote(one, safe='')}" for one in segments)


class Rule(NamedTuple):
    """One rule of a ClusterRole, or of a Role if it has a namespace. `below` is a subresource such as `/log`."""

    kind: Kind
    verbs: tuple[str, ...]
    namespace: str | None = None
    name: str = ""
    below: str = ""

    def missing(self, verb: str) -> str:
        """Return what the API server forbids, and the rule that allows it, ready to be pasted."""
        resource = f"{self.kind.plural}{self.below}"
        what = f"{resource} {self.namespace or ''}/{self.name}" if self.name else resource
        where = f"a Role in namespace {self.namespace}" if self.namespace else "a ClusterRole"
        names = f", resourceNames: [{self.name}]" if self.name else ""
        verbs = ", ".join(self.verbs)
        rule = f'{{apiGroups: ["{self.kind.group}"], resources: [{resource}]{names}, verbs: [{verbs}]}}'
        return f"403: not allowed to {verb} {what}; add this rule to {where}: {rule}"


def _segment(name: str, form: Text) -> str:
    if not form.allows(name):
        raise NotFoundError(f'"{printable(name)}" is no legal name: must be {form.description}')
    return quote(name, safe="")


POD: Final = Kind("Pod", "pods")
NODE: Final = Kind("Node", "nodes", is_namespaced=False)
NAMESPACE: Final = Kind("Namespace", "namespaces", is_namespaced=False)
EVENT: Final = Kind("Event", "events")
CONFIG_MAP: Final = Kind("ConfigMap", "configmaps")
QUOTA: Final = Kind("ResourceQuota", "resourcequotas")
LIMIT_RANGE: Final = Kind("LimitRange", "limitranges")
SECRET: Final = Kind("Secret", "secrets")
SERVICE_ACCOUNT: Final = Kind("ServiceAccount", "serviceaccounts")
DEPLOYMENT: Final = Kind("Deployment", "deployments", "apps")
REPLICA_SET: Final = Kind("ReplicaSet", "replicasets", "apps")
STATEFUL_SET: Final = Kind("StatefulSet", "statefulsets", "apps")
DAEMON_SET: Final = Kind("DaemonSet", "daemonsets", "apps")
JOB: Final = Kind("Job", "jobs", "batch")
CRON_JOB: Final = Kind("CronJob", "cronjobs", "batch")
RUNTIME_CLASS: Final = Kind("RuntimeClass", "runtimeclasses", "node.k8s.io", is_namespaced=False)
ENDPOINT_SLICE: Final = Kind("EndpointSlice", "endpointslices", "discovery.k8s.io")
MUTATING: Final = Kind(
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)
VALIDATING: Final = Kind(
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)
POLICY: Final = Kind(
    "ValidatingAdmissionPolicy", "validatingadmissionpolicies", "admissionregistration.k8s.io", is_namespaced=False
)
POLICY_BINDING: Final = Kind(
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    "admissionregistration.k8s.io",
    is_namespaced=False,
)


# Lists in pages, and what refusals mean.


class Page(NamedTuple):
    """Objects of a list, as they were received, and the version of the list.

    `unread` says why an object cannot be read; the items are then its metadata alone, as PartialObjectMetadata.
    """

    version: str
    items: Sequence[Raw]
    unread: str = ""


class ListMeta(Struct, rename="camel"):
    """The version where a watch resumes: from an empty one it would start over, and miss deletions.

    `continue_` is the token of the next page.
    """

    resource_version: Annotated[str, Meta(min_length=1)]
    continue_: str = msgspec.field(default="", name="continue")


class _List(Struct):
    metadata: ListMeta
    items: list[Raw] | None = None


class _Continued(Struct, frozen=True):
    continue_: str = msgspec.field(default="", name="continue")


class Failure(Struct):
    """What the API server says about a failure. With status 410, the metadata tells where the list continues."""

    message: str = ""
    metadata: _Continued = _Continued()


_LISTS = msgspec.json.Decoder(_List)
FAILURES = msgspec.json.Decoder(Failure)

_FACTOR: Final = 4
"""How much smaller a page is after a response that cannot be read, and how much larger after a small one."""

_SMALL: Final = 2 * 2**20
"""Bytes of a response after which a larger page fits as well."""


async def pages(
    api: ApiServer, path: str, rule: Rule, size: int, query: Mapping[str, str] | None = None, *, continues: bool = False
) -> AsyncGenerator[Page, None]:
    """Yield the pages of a list, of `size` objects or fewer where these are too large. Raises ReadError.

    An object that cannot be read even alone, because it is too large or nested too deeply, costs itself: its metadata
    shows its name, and where the list continues.

    `continues`: where the version of the list expires, the later pages have newer objects. Each object comes once,
    since the list continues after the last one. A list that expires twice at one place fails.
    """
    limit, rest, is_new = size, "", False
    while True:
        asked = {**(query or {}), "limit": str(limit)} | ({"continue": rest} if rest else {})
        url, unread = f"{path}?{urlencode(asked)}", ""
        try:
            found, length = await _list(api, url, rule)
        except UnreadableError as error:
            if limit > 1:
                limit = max(1, limit // _FACTOR)
                continue
            unread = str(error)
            found, length = await _list(api, url, rule, METADATA)
        except ExpiredError as error:
            if not (continues and is_new and error.rest):
                raise
            rest, is_new = error.rest, False
            continue
        yield Page(found.metadata.resource_version, found.items or (), unread)
        if length < _SMALL and not unread:
            limit = min(size, limit * _FACTOR)
        if rest and rest == found.metadata.continue_:
            raise ReadError(f"list of {path}: it does not end")
        rest, is_new = found.metadata.continue_, True
        if not rest:
            return


async def _list(api: ApiServer, url: str, rule: Rule, accept: str = JSON) -> tuple[_List, int]:
    """One page, and its size in bytes."""
    body = await answer(api, url, rule, "list", accept)
    try:
        return _LISTS.decode(body), len(body)
    except UNDECODABLE as error:
        raise UnreadableError(f"{_asked(url, 'list')}: not a list of the API server: {error}") from None


async def answer(api: ApiServer, path: str, rule: Rule | None, verb: str, accept: str = JSON) -> bytes:
    """The body of a response with status 200. Raises ReadError for any other."""
    try:
        status, body = await api.read(path, accept)
    except ResponseTooLargeError as error:
        raise UnreadableError(str(error)) from None
    except OSError as error:
        raise ReadError(str(error)) from None
    if status == 200:
        return body
    asked, said = _asked(path, verb), Failure()
    with suppress(*UNDECODABLE):  # such as a proxy's page
        said = FAILURES.decode(body)
    match status:
        case 403 if rule is not None:
            raise ReadError(rule.missing(verb))
        case 404:
            raise NotFoundError(f"{asked}: 404 not found")
        case 410:
            # The token is that of kubernetes apiserver pkg/storage/etcd3 `interpretListError`.
            raise ExpiredError(f"{asked}: it expires before its last page is read", said.metadata.continue_)
    raise ReadError(f"{asked}: {status} {printable(said.message)}".rstrip())


def _asked(path: str, verb: str) -> str:
    """The name of a request in messages."""
    return f"{'list of' if verb == 'list' else 'GET'} {path.partition('?')[0]}"


# For questions about a cluster.


class LeftOut(NamedTuple):
    """A part of a cluster that a command did not read, and why: mostly the missing rule.

    `matters`: the answer may be another one with it. Not so for what the user chose to leave out.
    """

    what: str
    why: str
    matters: bool = True


_DECODED: Final = 50
"""Objects that are decoded in one go: those of a whole page take five times the memory of its bytes."""

Shape: TypeAlias = msgspec.json.Decoder[Any]
"""Decodes the fields that a question reads of each object of a long list: the others take most of the time."""


class Objects(Protocol):
    """The objects of a cluster, live or saved. A part that cannot be read is absent, and `left_out` names it."""

    left_out: list[LeftOut]

    def pages(
        self, kind: Kind, namespace: str | None = None, shape: Shape = OBJECTS, /, **query: str
    ) -> AsyncGenerator[list[Object], None]:
        """Yield the objects of a kind in pages: of one namespace, or of all for None. `query` holds selectors.

        They have at least the fields of `shape`.
        """

    async def listed(self, kind: Kind, namespace: str | None = None, **query: str) -> list[Object] | None:
        """Return the objects of a kind; None if they cannot be read. For kinds of which a cluster has few."""
        found = [one async for one in all_of(self, kind, namespace, **query)]
        return None if self.lacks(kind, namespace) else found

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        """Return one object; None if it does not exist or cannot be read."""

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:
        """Return whether a list of the kind could not be read."""

    def has_all(self, kind: Kind) -> bool:
        """Return whether all lists of the kind had each of their objects; saved ones may be some of them."""

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        """Return whether an object could not be read, so that it may exist although `one` returns None."""

    async def served(self, kinds: Iterable[Kind]) -> Kind | None:
        """Return the first of some versions of a kind that the API server serves, with the plural that it names.

        Saved objects are of any version.
        """
        return next(iter(kinds), None)

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> str | None:
        """Return the end of a container's log, or of that of its predecessor; None if it cannot be read."""
        return None

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        """Return the metrics that a pod gives through the API server; None without them.

        The right to them is none of the documented ones, since it reaches too much: no answer depends on them.
        """
        return None

    def leave_out(self, what: str, why: object, *, matters: bool = True) -> None:
        """Note a part that cannot be read, once."""
        if all(one.what != what for one in self.left_out):
            self.left_out.append(LeftOut(what, str(why), matters))


async def all_of(
    objects: Objects, kind: Kind, namespace: str | None = None, shape: Shape = OBJECTS, /, **query: str
) -> AsyncIterator[Object]:
    """Yield the objects of a kind one by one, as `Objects.pages` does."""
    async for page in objects.pages(kind, namespace, shape, **query):
        for one in page:
            yield one


class LiveObjects(Objects):
    """The objects of an API server."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.left_out: list[LeftOut] = []
        self._incomplete: set[Kind] = set()
        self._documents: dict[str, Object | None] = {}

    async def pages(
        self, kind: Kind, namespace: str | None = None, shape: Shape = OBJECTS, /, **query: str
    ) -> AsyncGenerator[list[Object], None]:
        try:
            rule = Rule(kind, ("get", "list"), namespace)
            async with aclosing(pages(self._api, kind.path(namespace), rule, PAGE, query, continues=True)) as listed:
                async for page in listed:
                    if page.unread:
                        self._incomplete.add(kind)
                        for one in map(IDENTIFIED.decode, page.items):
                            self.leave_out(_single(kind, one.metadata.namespace, one.metadata.name), page.unread)
                    else:
                        for at in range(0, len(page.items), _DECODED):
                            yield [_shaped(item, shape) for item in page.items[at : at + _DECODED]]
        except NotFoundError:
            return  # the cluster does not have the kind
        except (ReadError, *UNDECODABLE) as error:
            self._incomplete.add(kind)
            self.leave_out(_listing(kind, namespace), error)

    def lacks(self, kind: Kind, namespace: str | None = None) -> bool:
        return any(one.what == _listing(kind, namespace) for one in self.left_out)

    def has_all(self, kind: Kind) -> bool:
        return kind not in self._incomplete

    async def one(self, kind: Kind, namespace: str | None, name: str) -> Object | None:
        what = _single(kind, namespace, name)
        return self._decoded(await self._get(kind, namespace, name, what), what)

    async def document(self, path: str) -> Object | None:
        """Return what the API server says about itself, such as its groups under `/apis`; None if it cannot be read.

        Every user may read it, by `system:discovery`.
        """
        if path not in self._documents:
            self._documents[path] = self._decoded(await self._answer(path, None, path), path)
        return self._documents[path]

    def hides(self, kind: Kind, namespace: str | None, name: str) -> bool:
        return any(one.what == _single(kind, namespace, name) for one in self.left_out)

    async def served(self, kinds: Iterable[Kind]) -> Kind | None:
        # A user may read which kinds there are, but gets a 403 for a list of one that does not exist.
        for kind in kinds:
            for one in entries(await self.document(kind.root), "resources"):
                is_own = one.get("kind") == kind.kind and "/" not in word(one, "name")  # and no subresource
                if is_own and "list" in (one.get("verbs") or ("list",)):
                    return kind._replace(plural=word(one, "name"), is_namespaced=bool(one.get("namespaced", True)))
        return None

    async def log(self, namespace: str, pod: str, container: str, *, previous: bool) -> str | None:
        asked = {
            "container": container,
            "previous": str(previous).lower(),
            "tailLines": LOG_LINES,
            "limitBytes": LOG_BYTES,
        }
        what = f"log of container {container} of pod {namespace}/{pod}"
        body = await self._get(POD, namespace, pod, what, "/log", f"/log?{urlencode(asked)}")
        return None if body is None else body[-LOG_BYTES:].decode(errors="replace")

    async def metrics(self, namespace: str, pod: str, port: int) -> str | None:
        what, below = f"metrics of pods in namespace {namespace}", f":{port:d}/proxy/metrics"
        body = await self._get(POD, namespace, pod, what, "/proxy", below)
        return None if body is None else body.decode(errors="replace")

    async def _get(
        self, kind: Kind, namespace: str | None, name: str, what: str, sub: str = "", below: str = ""
    ) -> bytes | None:
        """The body of an object, or of a subresource below its path; None where there is none, or it cannot be read."""
        rule = Rule(kind, ("get",), namespace, below=sub)
        with suppress(NotFoundError):
            return await self._answer(f"{kind.path(namespace, name)}{below}", rule, what, matters=sub != "/proxy")
        return None

    async def _answer(self, path: str, rule: Rule | None, what: str, *, matters: bool = True) -> bytes | None:
        try:
            return await answer(self._api, path, rule, "get")
        except NotFoundError:
            return None
        except ReadError as error:
            self.leave_out(what, error, matters=matters)
            return None

    def _decoded(self, body: bytes | None, what: str) -> Object | None:
        try:
            return None if body is None else OBJECTS.decode(body)
        except UNDECODABLE as error:
            self.leave_out(what, f"not an object of the API server: {error}")
            return None


def _shaped(item: Raw, shape: Shape) -> Object:
    try:
        found: Object = shape.decode(item)
    except msgspec.ValidationError:  # its reader says which field has a wrong type
        found = OBJECTS.decode(item)
    return found


def _listing(kind: Kind, namespace: str | None) -> str:
    """The name of a list in messages."""
    if not kind.is_namespaced:
        return kind.plural
    return f"{kind.plural} in namespace {namespace}" if namespace else f"{kind.plural} in all namespaces"


def _single(kind: Kind, namespace: str | None, name: str) -> str:
    """The name of one object in messages."""
    return f"{kind.name} {namespace}/{name}" if namespace else f"{kind.name} {name}"
