"""`completion`: a completion script for a shell, or for `kubectl gpushare`; and how shells get completions."""

from __future__ import annotations

import os
import sys
from typing import ClassVar

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from webhook.cli.screen import show

COMPLETE = "_GPUSHARE_WEBHOOK_COMPLETE"
"""The environment variable with which a shell requests completions."""

_PROGRAM = "gpushare-webhook"


@click.command(name="completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "kubectl"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print a completion script for a shell, or for kubectl.

    The script for kubectl completes the words after `kubectl gpushare`: save it on PATH as kubectl_complete-gpushare,
    and make it executable.

    \b
    Example:
      source <(gpushare-webhook completion bash)
    """
    completer = get_completion_class(shell)
    if completer is None:  # pragma: no cover - the choice lists what click has, and kubectl
        raise AssertionError(shell)
    show(completer(context.find_root().command, {}, _PROGRAM, COMPLETE).source() + "\n")


@add_completion_class
class KubectlComplete(ShellComplete):
    """Completions as kubectl requests them for a plugin: the words as arguments, the last of them incomplete.

    Each line is a value and its description. The last line is a directive of Cobra, on which kubectl is built
    (kubernetes/kubernetes#105867).
    """

    name: ClassVar[str] = "kubectl"
    source_template: ClassVar[str] = """\
#!/bin/sh
# Completes the words after `kubectl gpushare`. kubectl looks for kubectl_complete-gpushare, an executable on PATH.
%(complete_var)s=kubectl_complete exec kubectl-gpushare "$@\""""

    def get_completion_args(self) -> tuple[list[str], str]:
        *words, incomplete = sys.argv[1:] or [""]
        return words, incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        return f"{item.value}\t{item.help}" if item.help else item.value

    def complete(self) -> str:
        """Return all lines. The directive lets the shell complete file names, or keeps it from that."""
        items = self.get_completions(*self.get_completion_args())
        if any(item.type in ("file", "dir") for item in items):
            return _FILES
        return "\n".join([*map(self.format_completion, items), _NO_FILES])


@add_completion_class
class BashCompleteWithColons(BashComplete):
    """Completions for bash, which ends a word at a colon: those of EKS contexts have several.

    The program gets the line up to the cursor instead of bash's words. bash replaces only what follows the last colon.
    """

    source_template: ClassVar[str] = """\
%(complete_func)s() {
    local type value line=${COMP_LINE:0:COMP_POINT} kept=
    local word=${line##*[[:space:]]}
    [[ $word == -*=* ]] && word=${word#*=}
    [[ $COMP_WORDBREAKS == *:* ]] && kept=${word%%"${word##*:}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        case $type in
            plain) COMPREPLY+=("${value#"$kept"}") ;;
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
        esac
    done < <(COMP_LINE=$line %(complete_var)s=bash_complete "$1")
}
complete -o nosort -F %(complete_func)s %(prog_name)s"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE", "")
        _, *words = split_arg_string(line) or [""]
        incomplete = words.pop() if words and not line[-1].isspace() else ""
        return words, incomplete


@add_completion_class
class FishCompleteWithCommas(FishComplete):
    """Completions for fish. click's script cuts a description, or a list of codes, at a comma."""

    source_template: ClassVar[str] = FishComplete.source_template.replace(
        'string split "," $completion', 'string split --max 1 "," $completion'
    )


_FILES = ":0"
_NO_FILES = ":4"
