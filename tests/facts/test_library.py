"""The asynchronous half of the library kubernetes, without the other one."""

from __future__ import annotations

import subprocess
import sys

_READ = """
import sys
import webhook.cluster.client
print(*(name for name in sys.modules if name.split(".")[0] in ("kubernetes", "requests", "oauthlib", "websocket")))
"""


def test_client_imports_no_synchronous_half() -> None:
    read = subprocess.run([sys.executable, "-c", _READ], capture_output=True, text=True, check=True, timeout=60)
    names = read.stdout.split()
    assert "kubernetes.aio.client" in names
    others = [one for one in names if one != "kubernetes" and not one.startswith("kubernetes.aio")]
    assert not others, f"the library now needs {others}: see webhook/cluster/client.py"
