"""Placeholders of templates are recognised, and errors of structure name them."""

from __future__ import annotations

import pytest

from webhook.policy.pods.reading import MalformedError, elements, is_placeholder, members


@pytest.mark.parametrize(
    "text",
    ["{{ .Values.gpus }}", "{{gpus}}", "${GPUS}", "${GPUS:-1}", "$(params.gpus)", "$GPUS", "1{{ if .x }}0{{ end }}"],
)
def test_placeholder_in_text(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize("value", ["1", "", "$", "$5", "{a}", "a$GPUS", "(x)", None, 1, True, [], {}, ["${GPUS}"]])
def test_value_without_placeholder(value: object) -> None:
    assert not is_placeholder(value)


def test_malformed_error_names_placeholder() -> None:
    for read in (members, elements):
        with pytest.raises(MalformedError, match="found a template placeholder"):
            read({"containers": "${CONTAINERS}"}, "containers", ())
