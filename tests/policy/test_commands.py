"""Commands in text for people."""

from __future__ import annotations

from webhook.policy.messages import Command, Word


def test_command_with_illegal_name_has_no_words() -> None:
    command = Command("kubectl", "delete", "pod", Word("x; id\u202e", "pod"))
    assert command.words == ()
    assert command.doubts == ('no legal pod name: "x; id?"',)
    assert str(command) == "no command, since a name for it is not legal"


def test_command_is_quoted_for_a_shell() -> None:
    assert str(Command("kubectl", "apply", "-k", Word("a folder"))) == "kubectl apply -k 'a folder'"
