"""`python -m bench.foundation`: the versions of this interpreter that counts of instructions depend on."""

from __future__ import annotations

import platform
import re
import ssl
import sysconfig
from importlib.metadata import version

_LIBRARIES = ("msgspec", "aiohttp", "uvloop", "multidict", "yarl", "prometheus-client")


def foundation() -> str:
    """Interpreter, how it was built, C library, machine and the libraries on the path of a review."""
    configured = str(sysconfig.get_config_var("CONFIG_ARGS") or "")
    flags = re.findall(r"--(?:enable-optimizations|with-lto\S*|enable-shared|with-pydebug)", configured)
    libc = " ".join(platform.libc_ver()) or "unknown libc"
    built = " ".join([platform.python_compiler(), *sorted(flags)])
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    tls = " ".join(ssl.OPENSSL_VERSION.split()[:2])
    python = f"{platform.python_implementation()} {platform.python_version()} ({built})"
    return f"{python}, {libc}, {platform.machine()}, {tls}, {libraries}"


if __name__ == "__main__":
    print(foundation())
