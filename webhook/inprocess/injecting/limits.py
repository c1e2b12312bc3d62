"""Limits of the MPS client, from the pod's annotations: `webhook.policy.injections.limits`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.inprocess.injecting.clients import LONGEST
from webhook.policy.pods.client_limits import ANNOTATIONS
from webhook.policy.pods.pod import MEMORY, PIPE_DIRECTORY, PRIORITY, THREADS

_TEXT = "variables.annotations[?'{key}'].orValue('')"

# The whole part without leading zeros, and the fraction without trailing ones, as a number is written.
_PERCENTAGE = rf"""[{_TEXT}].filter(t, t.matches('^[0-9]{{{{1,3}}}}(\\.[0-9]{{{{1,6}}}})?$'))
.map(t, [string(int(t.find('^[0-9]+'))), t.find('\\.[0-9]*[1-9]')])
.filter(n, n != ['0', ''] && (int(n[0]) < 100 || n == ['100', '']))
.map(n, {{{{'name': dyn('{THREADS}'), 'value': dyn(n[0] + n[1])}}}})"""

# Parts such as `0=4G`: device, amount and unit. A part without a device is about device 0; each device stands once.
_MEMORY = rf"""[{_TEXT}].filter(t, t.size() <= {LONGEST}).map(t, t.split(',', 65))
.filter(l, l.all(p, p.matches('^ *([0-9]{{{{1,3}}}}=)?[0-9]{{{{1,9}}}}[MG]B? *$')))
.map(l, l.map(p, [
string(p.contains('=') ? int(p.find('[0-9]+')) : 0), string(int(p.find('[0-9]+[MG]').find('[0-9]+'))),
p.find('[MG]')]))
.filter(l, l.all(n, int(n[0]) < 64 && n[1] != '0') && l.map(n, n[0]).distinct().size() == l.size())
.map(l, {{{{'name': dyn('{MEMORY}'), 'value': dyn(l.map(n, n[0] + '=' + n[1] + n[2]).join(','))}}}})"""

_PRIORITY = rf"[{_TEXT}].filter(t, t in ['0', '1']).map(t, {{{{'name': dyn('{PRIORITY}'), 'value': dyn(t)}}}})"

_BY_VARIABLE = {THREADS: _PERCENTAGE, MEMORY: _MEMORY, PRIORITY: _PRIORITY}


def _expression() -> str:
    lists = [_BY_VARIABLE[one.variable].format(key=one.key) for one in ANNOTATIONS]
    return "variables.options.limits != 'true' ? [] :\n" + "\n+ ".join(lists)


VARIABLES: Final[Mapping[str, str]] = {"annotatedLimits": _expression()}
"""The entries of `env` that well-formed annotations set, in the order in which they are added."""

IS_ADDED = f"variables.entries.exists(l, l.exists(e, e.name != '{PIPE_DIRECTORY}'))"
