"""Completion in real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.run import run
from webhook.cli import COMMANDS, main

pytestmark = pytest.mark.slow

PROGRAM = Path(sys.executable).with_name("gpushare-webhook")
PATH = f"{PROGRAM.parent}:{os.environ['PATH']}"
ENVIRONMENT = {"PATH": PATH, "HOME": "/nonexistent", "LANG": "C.UTF-8"}

Completions = Callable[[str], list[str]]


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    script = run("completion", shell).out
    assert f"_GPUSHARE_WEBHOOK_COMPLETE={shell}_complete" in script
    assert "gpushare-webhook" in script


def test_unknown_completion_instruction_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_GPUSHARE_WEBHOOK_COMPLETE", "nushell_complete")
    ended = run("check", "-f", "-")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == '_GPUSHARE_WEBHOOK_COMPLETE: there is no instruction "nushell_complete"; unset the variable\n'


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("ex", ["plain,export", "plain,explain"]),
        ("--v", ["plain,--version"]),
        ("snapshot --without n", ["plain,nodes", "plain,namespaces"]),
        ("check --context p", ["plain,prod"]),
        ("mutate --context t", ["plain,test"]),
        ("snapshot --kubeconfig a", ["file,a"]),
        ("check -f a", ["file,a"]),
        ("check a", ["file,a"]),
        ("snapshot --ins", ["plain,--installed-as"]),
        ("explain gps01", [f"plain,GPS01{digit}" for digit in (0, 1, 2, 3, 4, 7, 8, 9)]),
        ("explain GPS001 pipe", ["plain,pipeDirectory", "plain,pipeMount"]),
        ("config view -o y", ["plain,yaml"]),
        ("completion b", ["plain,bash"]),
        ("completion", ["plain,completion"]),
        ("version --output=j", ["plain,json"]),
    ],
)
def test_completion_of_values(completions: Completions, here: Path, words: str, completed: list[str]) -> None:
    (here / "kubeconfig").write_text("contexts: [{name: prod}, {name: test}]")
    assert completions(words) == completed


def test_completion_of_contexts_without_kubeconfig(completions: Completions) -> None:
    assert completions("check --context p") == []


@pytest.fixture(name="completions")
def _completions(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Completions:
    """Complete words as bash does. click writes bytes, which `run` does not take."""

    def complete(words: str) -> list[str]:
        monkeypatch.setenv("_GPUSHARE_WEBHOOK_COMPLETE", "bash_complete")
        typed = f"gpushare-webhook {words}"
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
        monkeypatch.setenv("KUBECONFIG", str(here / "kubeconfig"))
        monkeypatch.setattr(sys, "argv", ["gpushare-webhook"])
        with pytest.raises(SystemExit, match=r"^0$"):
            main()
        return capsys.readouterr().out.split()

    return complete


def test_completion_of_commands_imports_none_of_them() -> None:
    code = (
        "import sys\n"
        "from webhook.cli import main\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted(name for name in sys.modules if name.startswith('webhook.cli.')), file=sys.stderr)"
    )
    requested = {"_GPUSHARE_WEBHOOK_COMPLETE": "bash_complete", "COMP_WORDS": "gpushare-webhook ", "COMP_CWORD": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **requested},
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert ended.stdout.split() == [f"plain,{name}" for name in COMMANDS]
    assert "webhook.cli.check" not in ended.stderr
    assert "webhook.cli.serve" not in ended.stderr


@needs("bash")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("expl", ["explain"]),
        ("explain tolerations GPS021", ["GPS021"]),
        ("explain GPS001 toler", ["tolerations"]),
        ("check --context te", ["test"]),
        ("check -f man", ["by-the-shell"]),
    ],
)
def test_bash_completes(here: Path, typed: str, expected: list[str]) -> None:
    (here / ".kube").mkdir()
    (here / ".kube" / "config").write_text("contexts: [{name: prod}, {name: test}]")
    code = (
        "compopt() { COMPREPLY=(by-the-shell); }; source <(gpushare-webhook completion bash); "
        f"COMP_WORDS=(gpushare-webhook {typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); "
        "set -- $(complete -p gpushare-webhook); ${@: -2:1} gpushare-webhook; printf '%s\n' ${COMPREPLY[@]}"
    )
    environment = ENVIRONMENT | {"HOME": str(here)}
    out = subprocess.check_output(["bash", "--norc", "-c", code], env=environment, cwd=here, timeout=60, text=True)
    assert out.split() == expected


@needs("fish")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [("expl", ["explain"]), ("explain tolerations GPS021", ["GPS021"]), ("check -f man", ["manifest.yaml"])],
)
def test_fish_completes(here: Path, typed: str, expected: list[str]) -> None:
    (here / "manifest.yaml").touch()
    code = f"gpushare-webhook completion fish | source; complete -C 'gpushare-webhook {typed}'"
    environment = ENVIRONMENT | {"HOME": str(here)}
    out = subprocess.check_output(["fish", "--no-config", "-c", code], env=environment, cwd=here, timeout=60, text=True)
    assert [line.partition("\t")[0] for line in out.splitlines()] == expected
