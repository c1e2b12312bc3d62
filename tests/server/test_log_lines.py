"""The fast line of a review and the general line of an event are the same text."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.offline import review_of
from tests.fixture import load_all
from tests.server.reviews import pod, review
from webhook.admission import Hook, respond
from webhook.policy.evaluate import Evaluator
from webhook.policy.messages import printable
from webhook.policy.settings.settings import Settings
from webhook.server.log import EventLog, ReviewLine
from webhook.server.reviews import review_line

pytestmark = pytest.mark.slow

FORMS = ["json", "text"]
LINE = ReviewLine(
    time=datetime.now(UTC),
    hook="mutate",
    uid="1",
    namespace="team-a",
    name="train",
    kind="Pod",
    operation="CREATE",
    user="someone",
    decision="allowed",
    allowed=True,
    microseconds=1,
)


def written(form: str, lines: Iterable[ReviewLine], level: str = "info") -> tuple[list[str], list[str]]:
    """The lines as `review` and as `event` write them, without their times."""
    texts: tuple[list[str], list[str]] = ([], [])
    with TemporaryDirectory() as folder:
        file = Path(folder, "log")
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT)
        log = EventLog(form, level, descriptor)
        for line in lines:
            fields = msgspec.structs.asdict(line)
            log.review(line)
            log.event(line.level, line.event, **{name: fields[name] for name in fields if name not in HEAD})
        log.close()
        os.close(descriptor)
        for number, text in enumerate(file.read_text().splitlines()):
            texts[number % 2].append(without_time(form, text))
    return texts


HEAD = ("time", "level", "event")


def without_time(form: str, text: str) -> str:
    if form == "text":
        return text.partition(" ")[2]
    event = json.loads(text)
    assert list(event)[:3] == list(HEAD)
    assert datetime.fromisoformat(event.pop("time")).tzinfo is UTC
    return json.dumps(event)


@pytest.mark.parametrize("form", FORMS)
def test_line_of_every_fixture_is_the_same(form: str) -> None:
    lines, evaluator = [], Evaluator.of(Settings())
    for fixture in load_all():
        hook = Hook.MUTATE if fixture.is_pod else Hook.VALIDATE
        lines.append(review_line(hook, respond(json.dumps(review_of(fixture)).encode(), hook, evaluator), 0.001))
    fast, general = written(form, lines)
    assert fast == general
    assert len(fast) == len(load_all())


TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(["##[group]x", "::error::x", ":", "::", "#", "\n", "é" * 300]))


@pytest.mark.parametrize("form", FORMS)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS, TEXTS, TEXTS, TEXTS), max_size=20))
def test_line_of_any_texts_is_the_same(form: str, texts: list[tuple[str, str, str, str, str, str]]) -> None:
    lines = [
        msgspec.structs.replace(
            LINE, uid=uid, namespace=namespace, name=name, kind=kind, operation=operation, user=user
        )
        for uid, namespace, name, kind, operation, user in texts
    ]
    fast, general = written(form, lines)
    assert fast == general
    assert len(fast) == len(texts)


HOSTILE = st.sampled_from(["##[group]x", "##", "[x]", "#", "::error::x", "\x1b[31m", "\u202e", '"', "é" * 300, "a"])


@given(st.lists(st.lists(HOSTILE, max_size=4).map("".join), min_size=1, max_size=40), st.sampled_from([2, "x", 1.5]))
def test_denial_of_hostile_names_needs_no_change(names: list[str], amount: object) -> None:
    resources = {"limits": {"nvidia.com/gpu": amount}}
    asked = review(pod(containers=[{"name": name, "resources": resources} for name in names]))
    line = review_line(Hook.MUTATE, respond(json.dumps(asked).encode(), Hook.MUTATE, Evaluator.of(Settings())), 0.001)
    assert line.message.startswith("GPS00")
    assert line.message == printable(line.message, 1024)
    fast, general = written("json", [line])
    assert fast == general


def test_line_of_lower_level_is_not_written() -> None:
    assert written("json", [LINE], level="warning") == ([], [])
