"""The pipe directory for containers that request a replica: `webhook.policy.injections.pipe_directory`."""

from __future__ import annotations

from webhook.policy.pods.pod import PIPE_DIRECTORY

ENTRIES = f"""(variables.options.pipeDirectory == 'true'
? [{{'name': dyn('{PIPE_DIRECTORY}'), 'value': dyn(variables.pipes[k.resource].path)}}] : [])"""
"""The entries that the client `k` should have in `env`."""

IS_ADDED = f"variables.entries.exists(l, l.exists(e, e.name == '{PIPE_DIRECTORY}'))"
