"""The JSON patch of a configuration: writes every entry with another bundle, fails if the object has changed."""

from __future__ import annotations

import base64
import copy
from typing import Any

import jsonpatch
import pytest

from webhook.pki.objects import HookConfiguration

NEW = b"-----BEGIN CERTIFICATE-----\nnew\n"
TEXT = base64.b64encode(NEW).decode()


def found(*texts: str | None) -> Any:
    """A configuration with an entry for each `caBundle`; None leaves the key out."""
    clients = [{"service": {"name": "guard"}, **({} if text is None else {"caBundle": text})} for text in texts]
    hooks = [{"name": f"{number}.example.com", "clientConfig": client} for number, client in enumerate(clients)]
    return {"metadata": {"name": "guard", "resourceVersion": "7"}, "webhooks": hooks}


def parsed(found: Any) -> HookConfiguration:
    return HookConfiguration.parse("/guard", found)


def patched(before: Any, there: Any) -> Any:
    """The current object after a patch that was made for an earlier one."""
    operations = parsed(before).operations(NEW)
    return jsonpatch.apply_patch(there, operations)


@pytest.mark.parametrize("texts", [(None,), ("",), ("b2xk", None, TEXT), (TEXT, "b2xk"), ("%%%", "b2xk")])
def test_patch_writes_bundle_into_every_entry(texts: tuple[str | None, ...]) -> None:
    assert patched(found(*texts), found(*texts)) == found(*(TEXT for _ in texts))


@pytest.mark.parametrize("texts", [(), (TEXT,), (TEXT, TEXT)])
def test_patch_is_empty_without_difference(texts: tuple[str, ...]) -> None:
    assert parsed(found(*texts)).operations(NEW) == []
    assert parsed({"metadata": {"resourceVersion": "1"}}).entries == ()


def test_patch_skips_entries_with_same_bundle() -> None:
    operations = parsed(found(TEXT, "b2xk")).operations(NEW)
    assert [operation["path"] for operation in operations] == [
        "/metadata/resourceVersion",
        "/webhooks/1/name",
        "/webhooks/1/clientConfig/caBundle",
    ]


def test_patch_fails_if_object_changed() -> None:
    later = found("b2xk")
    later["metadata"]["resourceVersion"] = "8"
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        patched(found("b2xk"), later)


def test_patch_fails_if_entry_has_other_name() -> None:
    other = copy.deepcopy(found("b2xk", "b2xk"))
    other["webhooks"].reverse()
    with pytest.raises(jsonpatch.JsonPatchTestFailed):
        patched(found("b2xk", "b2xk"), other)
