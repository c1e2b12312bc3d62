"""An aiohttp server on uvloop with a constant answer over TLS: the floor for what any webhook on them can cost.

Run: `python bench/peers/constant.py CERTIFICATE KEY HOST PORT [PATCH]`; with port 0 it takes a free one. It prints
`{"event": "ready", "port": ...}` once it listens. PATCH is a JSON patch that goes into every answer.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
import sys

import uvloop
from aiohttp import web

# The first uid in a review is the request's own. Its place is all that this server looks for: the API server refuses an
# answer with another uid (k8s.io/apiserver, `VerifyAdmissionResponse`).
_BEFORE = b'"uid":"'
_LENGTH = 36
_HEAD = b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"'
_ALLOWED = '","allowed":true'


async def serve(certificate: str, key: str, host: str, port: int, patch: str = "") -> None:
    """Serve until the process ends."""
    sent = f',"patchType":"JSONPatch","patch":"{base64.b64encode(patch.encode()).decode()}"' if patch else ""
    tail = f"{_ALLOWED}{sent}}}}}".encode()

    async def answer(request: web.BaseRequest) -> web.Response:
        """Allow every review."""
        body = await request.read()
        start = body.find(_BEFORE) + len(_BEFORE)
        return web.Response(body=_HEAD + body[start : start + _LENGTH] + tail, content_type="application/json")

    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(certificate, key)
    runner = web.ServerRunner(web.Server(answer, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, host, port, ssl_context=secure).start()
    print(json.dumps({"event": "ready", "port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    certificate, key, host, port, *patch = sys.argv[1:]
    uvloop.run(serve(certificate, key, host, int(port), *patch))
