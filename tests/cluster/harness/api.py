"""The API server as tests talk to it: JSON over HTTPS, and kubectl."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.cluster.harness.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.cluster.harness.place import Place

Object = dict[str, Any]
Body = Object | list[Any] | None

_PATCHES = {
    "json": "json-patch+json",
    "merge": "merge-patch+json",
    "strategic": "strategic-merge-patch+json",
    "apply": "apply-patch+yaml",
}


class ApiError(Exception):
    """An error response of the API server: `code`, `reason` and `message` of its Status object."""

    def __init__(self, status: Object) -> None:
        self.status = status
        self.code = int(status.get("code", 0))
        self.reason = str(status.get("reason", ""))
        self.message = str(status.get("message", ""))
        super().__init__(f"{self.code} {self.reason}: {self.message}")


class HttpsConnection(http.client.HTTPSConnection):
    """An HTTPS connection whose socket is made in the cluster's place."""

    def __init__(self, place: Place, port: int, context: ssl.SSLContext, seconds: float) -> None:
        super().__init__(place.address, port, timeout=seconds, context=context)
        self._place, self._context_here, self._seconds = place, context, seconds

    def connect(self) -> None:
        plain = self._place.connect(self.host, self.port, self._seconds)
        plain.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
        )  # Otherwise the body waits 40 ms for the acknowledgement of the headers.
        self.sock = self._context_here.wrap_socket(plain, server_hostname=self.host)


class Api:
    """Requests to one API server as one user, one connection each unless `connection` is used."""

    def __init__(self, place: Place, port: int, token: str, authority: Path) -> None:
        self._place, self._port, self._token = place, port, token
        self._authority = authority

    def connection(self, seconds: float = 60) -> http.client.HTTPSConnection:
        """A connection that is not open yet; the caller closes it."""
        return HttpsConnection(
            self._place, self._port, ssl.create_default_context(cafile=str(self._authority)), seconds
        )

    def headers(self, content: str = "json") -> dict[str, str]:
        """The headers of a request; `content` is the part after `application/`."""
        return {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            "Content-Type": f"application/{content}",
        }

    def request(
        self, method: str, path: str, body: Body = None, *, content: str = "json", seconds: float = 60
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of an answer, whatever its status."""
        connection = self.connection(seconds)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), self.headers(content))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def call(self, method: str, path: str, body: Body = None, *, content: str = "json") -> Object:
        """The object in the API server's answer. Raises `ApiError` for a status above 299."""
        code, _, answer = self.request(method, path, body, content=content)
        found: Object = json.loads(answer) if answer.startswith(b"{") else {"code": code, "message": answer.decode()}
        if code > 299:
            raise ApiError(found)
        return found

    def send(self, method: str, path: str, text: str, headers: Mapping[str, str]) -> Object:
        """The answer to a request with any body and further headers. Raises ApiError for a status above 299."""
        connection = self.connection()
        try:
            connection.request(method, path, text, {**self.headers(), **headers})
            answer = connection.getresponse()
            found: Object = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status > 299:
            raise ApiError(found)
        return found

    def warnings(self, method: str, path: str, body: Body, content: str = "json") -> list[str]:
        """The warnings in the answer to a request that the API server accepts."""
        code, headers, answer = self.request(method, path, body, content=content)
        assert code < 300, answer
        return [value.replace('\\"', '"') for name, value in headers.items() if name.lower() == "warning"]

    def get(self, path: str) -> Object:
        """One object or list."""
        return self.call("GET", path)

    def find(self, path: str) -> Object | None:
        """One object; None if it does not exist."""
        try:
            return self.get(path)
        except ApiError as problem:
            if problem.code == 404:
                return None
            raise

    def items(self, path: str) -> list[Object]:
        """The items of a list."""
        return list(self.get(path)["items"])

    def create(self, path: str, body: Object) -> Object:
        """Create an object in the collection `path`; `?dryRun=All` may follow it."""
        return self.call("POST", path, body)

    def patch(self, path: str, body: Object | list[Any], *, form: str = "merge") -> Object:
        """Patch an object; `form` is `json`, `merge`, `strategic` or `apply`."""
        return self.call("PATCH", path, body, content=_PATCHES[form])

    def delete(self, path: str) -> Object:
        """Delete an object or a collection."""
        return self.call("DELETE", path)

    def create_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> str:
        """Create a namespace, wait for the objects that controllers add to it, and return its path."""
        self.create("/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels or {})}})
        path = f"/api/v1/namespaces/{name}"
        for added in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            self.wait_for(f"{path}/{added}", "to be made", bool)
        return path

    @contextmanager
    def created(self, collection: str, body: Object) -> Iterator[Object]:
        """A new object, deleted at the end."""
        stored = self.create(collection, body)
        try:
            yield stored
        finally:
            self.delete(f"{collection}/{body['metadata']['name']}")

    @contextmanager
    def patched(self, path: str, change: Object) -> Iterator[None]:
        """A merge patch, whose fields get their former values back at the end."""
        former = _former(self.get(path), change)
        self.patch(path, change)
        try:
            yield
        finally:
            self.patch(path, former)

    @contextmanager
    def deleted(self, path: str) -> Iterator[None]:
        """Delete an object, and create it again at the end."""
        stored = self.get(path)
        self.delete(path)
        try:
            yield
        finally:
            own = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
            metadata = {key: value for key, value in stored["metadata"].items() if key not in own}
            self.create(path.rpartition("/")[0], {**stored, "metadata": metadata})

    def ready(self) -> bool:
        """Whether the API server answers and says that it is ready."""
        try:
            return self.request("GET", "/readyz", seconds=5)[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def wait_for(self, path: str, what: str, condition: Callable[[Object], Any], *, seconds: float = 180) -> Object:
        """The object as soon as it exists and fulfils the condition."""
        last: Object | None = None

        def look() -> Object | None:
            nonlocal last
            last = self.find(path)
            return last if last is not None and condition(last) else None

        try:
            return wait_for(f"{path} {what}", look, seconds=seconds)
        except TimeoutError as late:
            raise TimeoutError(f"{late}; last seen:\n{json.dumps(last, indent=1)}") from None


def _former(stored: Object, change: Object) -> Object:
    """The merge patch that undoes another one."""
    return {
        key: _former(stored.get(key) or {}, value) if isinstance(value, dict) else stored.get(key)
        for key, value in change.items()
    }


class Kubectl:
    """kubectl as the administrator."""

    def __init__(self, place: Place, program: Path, kubeconfig: Path) -> None:
        cache = place.folder / "kubectl-cache"
        self._command = place.command([str(program), f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}"])

    def run(self, *arguments: str, manifest: Object | str = "") -> subprocess.CompletedProcess[str]:
        """Run it and return its result, whatever the exit status; `manifest` is its input, for `-f -`."""
        text = manifest if isinstance(manifest, str) else json.dumps(manifest)
        command = [*self._command, *arguments]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)

    def __call__(self, *arguments: str, manifest: Object | str = "") -> str:
        """Run it and return its output. Raises `RuntimeError` with its error output when it fails."""
        done = self.run(*arguments, manifest=manifest)
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout
