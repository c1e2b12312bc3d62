"""The names of the library kubernetes that the client uses, without the synchronous half of the library.

`kubernetes/__init__.py` imports the synchronous client, with requests, oauthlib and websocket: 232 modules, 7 MiB and a
tenth of the time of a live command. So an empty package with the same path takes its place.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec

if "kubernetes" not in sys.modules and (_found := find_spec("kubernetes")) is not None:
    _bare = ModuleSpec("kubernetes", None, is_package=True)
    _bare.submodule_search_locations = _found.submodule_search_locations
    sys.modules["kubernetes"] = module_from_spec(_bare)

from kubernetes.aio.client import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

__all__ = ["ConfigException", "Configuration", "RESTClientObject", "load_incluster_config", "load_kube_config"]
