"""What is fuzzed: functions of bytes that raise an AssertionError, or any other exception, for a defect."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from tests.admission.test_any_bytes import answered
from tests.report.reports import written
from tests.report.safety import assert_safe_report
from webhook.admission import Hook
from webhook.diagnostics import Diagnostic, Unread
from webhook.dryrun.check import checked_objects
from webhook.dryrun.evaluation import evaluate
from webhook.dryrun.search.evaluator import OfflineEvaluator
from webhook.manifests import Manifest, Reason, Source
from webhook.manifests.folders import Patterns
from webhook.policy.settings.settings import Settings
from webhook.report.check import CheckFormat
from webhook.report.model import Entry
from webhook.report.writer import Page

Steps: TypeAlias = tuple[str | int, ...]

CORPUS = Path(__file__).parent / "corpus"
REVIEWS = Path(__file__).parents[1] / "reviews"

_PATIENCE = 20
"""Seconds that one input may take: far more than any of them needs, on any machine."""

_LONGEST_MESSAGE = 400
_NODES = 500
"""Values of a document whose positions are looked up."""

_EVALUATOR = OfflineEvaluator.of(Settings())


@dataclass(frozen=True, slots=True)
class Route:
    """A function that takes any bytes, folders of inputs to begin with, and words of its format."""

    run: Callable[[bytes], None]
    seeds: tuple[Path, ...]
    words: tuple[bytes, ...]

    def __call__(self, data: bytes) -> None:
        """Run it, and end it with a TimeoutError when it hangs."""
        with _patience():
            self.run(data)

    def inputs(self) -> list[bytes]:
        """The inputs to begin with."""
        return [file.read_bytes() for folder in self.seeds for file in sorted(folder.iterdir())]


@contextmanager
def _patience() -> Iterator[None]:
    def late(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still running after {_PATIENCE} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def manifests(data: bytes) -> None:
    """Read manifests, look up the position of each value, check each object and write the reports.

    The bytes are a file that is named, one that is found in a folder, a patch, and a kustomization.
    """
    for named in (True, False):
        _checked(Source("file.yaml", data, named))
    for part in ("file.yaml", "kustomization.yaml"):
        _checked(Source(part, data, named=False, is_part=True))


def _checked(source: Source) -> None:
    lines = source.data.count(b"\n") + 2  # The reader ends the last line where the file does not, as kubectl does.
    entries: list[Entry] = []
    for found in checked_objects(source):
        if isinstance(found, Unread):
            assert not source.named or found.reason == Reason.CHART, found
            assert type(found.reason) is str, found
            entries.append(found)
            continue
        if isinstance(found, Diagnostic):
            _is_clear(found, lines)
            entries.append(found)
            continue
        _resolves(found, lines)
        checked = evaluate(found, _EVALUATOR, "default")
        entries.append(checked if isinstance(checked, Diagnostic) else checked.result())
    for chosen in CheckFormat:
        assert_safe_report(written(chosen.writer(Page()), entries), chosen)


def _is_clear(problem: Diagnostic, lines: int) -> None:
    assert 1 <= problem.line <= lines, problem
    assert problem.column >= 1, problem
    assert 0 < len(problem.message) <= _LONGEST_MESSAGE, problem
    assert problem.message.isprintable(), problem


def _resolves(manifest: Manifest, lines: int) -> None:
    assert manifest.document >= 1
    assert 1 <= manifest.line <= lines
    for path, value in islice(_nodes(manifest.value, ()), _NODES):
        position = manifest.locate(path)
        assert 1 <= position.line <= lines, (path, position)
        assert position.column >= 1, (path, position)
        if not isinstance(value, dict | list):
            json.dumps(value, allow_nan=False).encode()


def _nodes(value: object, path: Steps) -> Iterator[tuple[Steps, object]]:
    yield path, value
    if isinstance(value, dict):
        for key, one in value.items():
            assert isinstance(key, str)
            yield from _nodes(one, (*path, key))
    elif isinstance(value, list):
        for index, one in enumerate(value):
            yield from _nodes(one, (*path, index))


def patterns(data: bytes) -> None:
    """Match paths with patterns as in a .gitignore file; the first line is a path."""
    path, *lines = data.decode("utf-8", "surrogateescape").split("\n")
    for one in (lines, lines[::-1]):
        read = Patterns(one)
        for folder in (True, False):
            assert read.match(path.replace("\0", ""), folder=folder) in (True, False, None)


def review(data: bytes) -> None:
    """Answer a review at each hook: decode, decide, encode; each patch applies to the object that was received."""
    for hook in Hook:
        answered(data, hook)


_YAML_WORDS: tuple[bytes, ...] = tuple(
    word.encode()
    for word in (
        "---\n", "...\n", "- ", "? ", ": ", "&a ", "*a", "<<: ", "!!int ", "!!binary ", "!!str ", "!!float ", "|\n",
        ">-\n", "#", "%YAML 1.1\n", "{", "}", "[", "]", ",", '"', "'", "\\u0041", "\\ud800", "\t", "\r\n", "\u2028",
        "\u0085", "\ufeff", "\x1b", "0x1F", "0b-1", "1_000", "1e999", ".inf", "~", "null", "items:", "kind: List\n",
        "apiVersion: v1\n", "kind: Pod\n", "# Source: a/templates/b.yaml\n", "kind: AdmissionReview\n", "request:\n",
        "apiVersion: admission.k8s.io/v1\n", "operation: CREATE\n", "object:\n", "patches:\n", "{% if x %}", "${x}",
        "spec:\n", "containers:\n", "resources:\n", "limits:\n",
        "nvidia.com/gpu: 2\n", "env:\n", "volumes:\n", "metadata:\n", "::error::", "##[error]", "{{ .Values.x }}",
    )
)  # fmt: skip
_REVIEW_WORDS: tuple[bytes, ...] = tuple(
    word.encode()
    for word in (
        '"request":', '"object":', '"oldObject":', '"spec":', '"containers":', '"initContainers":', '"resources":',
        '"limits":', '"requests":', '"nvidia.com/gpu":', '"nvidia.com/gpu.shared":', '"env":', '"value":', '"volumes":',
        '"volumeMounts":', '"tolerations":', '"affinity":', '"nodeSelector":', '"annotations":', '"metadata":',
        '"kind":', '"Pod"', '"Deployment"', '"UPDATE"', '"CREATE"', '"subResource":', '"ephemeralContainers":',
        "null", "[]", "{}", '""', "0", "-1", "1e9", '"1m"', '"1Ki"', "true", ",", '"\\u0000"', '"\\ud800"',
        '"CUDA_MPS_PIPE_DIRECTORY"', '"NVIDIA_VISIBLE_DEVICES"', '"/dev/shm"',
    )
)  # fmt: skip

_PATTERN_WORDS: tuple[bytes, ...] = tuple(
    word.encode()
    for word in ("*", "**", "**/", "/**", "/", "!", "#", "?", "[", "]", "[!a]", "[[:alpha:]]", "\\", " ", "a")
)

TARGETS: Mapping[str, Route] = {
    "yaml": Route(manifests, (CORPUS / "yaml",), _YAML_WORDS),
    "patterns": Route(patterns, (CORPUS / "patterns",), _PATTERN_WORDS),
    "review": Route(review, (CORPUS / "review", REVIEWS), _REVIEW_WORDS),
}
"""By name."""
