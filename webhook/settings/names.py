"""The names that Kubernetes knows, as forms of text, and the paths of a settings file."""

from __future__ import annotations

from webhook.policy.checks import CHECKS
from webhook.settings.forms import Choice, Text

_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_KEY = f"(?:{_SUBDOMAIN}/)?{_NAME}"
_LONG_PREFIX = "[^/]{254,}/.*"

ANY = Text()
SOME = Text("text that is not empty", r"(?:.|\n)+")

RESOURCE = Text(
    "an extended resource's name such as nvidia.com/gpu",
    # Quotas put `requests.` before the domain, so that it is 9 characters shorter than others
    # (kubernetes/kubernetes pkg/apis/core/helper IsExtendedResourceName).
    f"{_SUBDOMAIN}/{_NAME}",
    308,
    but_not=r"requests\..*|[^/]*kubernetes\.io/.*|[^/]{245,}/.*",
)
LABEL_KEY = Text("a label's key such as example.com/team", _KEY, 317, _LONG_PREFIX)
LABEL_VALUE = Text("a label's value such as a100", f"(?:{_NAME})?", 63)
TAINT_KEY = Text("a taint's key such as nvidia.com/gpu", _KEY, 317, _LONG_PREFIX)
TAINT_KEYS = Text("a taint's key, in which * stands for any text", "[-A-Za-z0-9_./*]+", 317)
OPT_OUT_LABEL = Text(
    "a label such as example.com/no-mps or example.com/mps=off", f"{_KEY}(?:=(?:{_NAME})?)?", 381, _LONG_PREFIX
)
OPT_OUT_ANNOTATION = Text(
    "an annotation such as example.com/no-mps or example.com/mps=off",
    rf"{_KEY}(?:=(?:.|\n)*)?",
    but_not=r"[^/=]{254,}/(?:.|\n)*",
)
NAMESPACE = Text("a namespace's name: lowercase letters, digits and dashes", _LABEL, 63)
NAMESPACES = Text("a namespace's name, in which * stands for any text", "[-a-z0-9*]+", 63)
OBJECT = Text("an object's name: lowercase letters, digits, dashes and dots", _SUBDOMAIN, 253)
CLASSES = Text("a RuntimeClass's or handler's name, in which * stands for any text", "[-a-z0-9.*]+", 253)
NAMESPACED = Text("namespace/name of an object", f"{_LABEL}/{_SUBDOMAIN}", 317, "[^/]{64,}/.*")
KIND = Text("a kind such as JobSet", "[A-Z][A-Za-z0-9]*", 63)
GROUP = Text("an API group such as jobset.x-k8s.io, or empty", f"(?:{_SUBDOMAIN})?", 253)
TEMPLATE_PATH = Text(
    "a path such as spec.replicatedJobs[*].template",
    r"[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?(?:\.(?:\*|[A-Za-z][A-Za-z0-9_-]*(?:\[\*\])?))*",
)
FOLDER = Text(
    "an absolute path below / without : and without . or .. as a part",
    r"(?:/[^/:\x00-\x1f]+)+/?",
    but_not=r".*/\.{1,2}(?:/.*)?",
)
HOST = Text("an address or a host name such as 0.0.0.0, :: or localhost", r"[A-Za-z0-9_.:%-]+", 253)
CODE = Text("a check's code such as GPS001", "|".join(check.code for check in CHECKS))
# YAML as kubectl and Helm read it takes a bare `off` for false.
SEVERITY = Choice(("deny", "warn", "audit", "off"), also=((False, "off"),))
