"""The health listener: plain HTTP for `/livez`, `/readyz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aiohttp import web

from webhook.server.observe.metrics import Metrics

_METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Conditions = Callable[[], dict[str, bool]]
"""What readiness depends on, by name."""


class Health:
    """Answers probes and scrapes."""

    def __init__(self, conditions: Conditions, details: Mapping[str, Callable[[], str]], metrics: Metrics) -> None:
        self._conditions = conditions
        self._details = details
        self._metrics = metrics

    async def handle(self, request: web.BaseRequest) -> web.Response:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, text="only GET and HEAD are allowed here\n", headers={"Allow": "GET, HEAD"})
        match request.path:
            case "/livez":
                return web.Response(text="ok\n")
            case "/readyz":
                return self._readyz("verbose" in request.query)
            case "/metrics":
                return web.Response(body=self._metrics.text(), headers={"Content-Type": _METRICS_TYPE})
        return web.Response(status=404, text="not found; see /livez, /readyz and /metrics\n")

    def _readyz(self, verbose: bool) -> web.Response:
        conditions = self._conditions()
        ready = all(conditions.values())
        lines: list[str] = []
        if verbose:
            lines += [f"[{'+' if holds else '-'}]{name}" for name, holds in conditions.items()]
            lines += [f"[ ]{name}: {describe()}" for name, describe in self._details.items()]
        lines.append("ok" if ready else "not ready")
        return web.Response(status=200 if ready else 503, text="\n".join(lines) + "\n")
