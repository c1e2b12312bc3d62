"""The picture of a pod storm in the README: failed pods over time, without the webhook and with it.

`make demo-cluster` records a run in `build/pod-storm.json`. The record that the committed picture shows is
`docs/pod-storm.json`; `make docs` draws `docs/pod-storm.svg` from it.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path

SECONDS = 30
"""How long each half of a run is watched."""

DOCS = Path(__file__).parents[2] / "docs"

_WIDTH, _HEIGHT = 860, 368
_TOP, _BOTTOM = 92, 316
_LEFTS = (58, 476)
_PANEL = 360
_STEP = 100

_STYLE = (Path(__file__).parent / "pod-storm.css").read_text()

Counts = tuple[tuple[float, int], ...]
"""Seconds since `kubectl apply`, and how many pods had failed."""

Point = tuple[float, float]


class Drawing:
    """Elements of a drawing in pixels; the origin is at the top left."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._elements: list[str] = []

    def text(self, at: Point, content: str, style: str = "", anchor: str = "start") -> None:
        """A line of text; `anchor` is start, middle or end."""
        css = f' class="{style}"' if style else ""
        self._elements.append(
            f'<text x="{_n(at[0])}" y="{_n(at[1])}" text-anchor="{anchor}"{css}>{escape(content)}</text>'
        )

    def line(self, start: Point, end: Point, style: str) -> None:
        """A straight line."""
        places = " ".join(f"{_n(x)},{_n(y)}" for x, y in (start, end))
        self._elements.append(f'<polyline points="{places}" class="{style}"/>')

    def box(self, corner: Point, width: float, height: float, style: str) -> None:
        """A filled box; `corner` is its top left."""
        self._elements.append(
            f'<rect x="{_n(corner[0])}" y="{_n(corner[1])}" width="{_n(width)}" height="{_n(height)}" class="{style}"/>'
        )

    def write(self) -> str:
        """The whole drawing as a file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
            f'height="{_HEIGHT}" role="img">'
        )
        paper = '<rect width="100%" height="100%" class="paper"/>'
        title = f"<title>{escape(self._title)}</title>"
        return "\n".join([head, title, f"<style>\n{_STYLE}</style>", paper, *self._elements, "</svg>"]) + "\n"


def _n(value: float) -> str:
    """A tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Storm:
    """One run: what was counted without the webhook and with it, and what kubectl printed with it."""

    kubernetes: str
    without_webhook: Counts
    with_webhook: Counts
    denial: str

    @property
    def failed(self) -> int:
        """How many pods failed without the webhook within `SECONDS`."""
        return _at(self.without_webhook, SECONDS)

    @property
    def failed_with_webhook(self) -> int:
        """How many pods failed with the webhook within `SECONDS`."""
        return _at(self.with_webhook, SECONDS)


def to_json(storm: Storm) -> str:
    """A run as a JSON file."""
    counts = {name: [list(count) for count in getattr(storm, name)] for name in ("without_webhook", "with_webhook")}
    lines = [f'  "{name}": {json.dumps(value)}' for name, value in ({"kubernetes": storm.kubernetes} | counts).items()]
    return "{\n" + ",\n".join([*lines, f'  "denial": {json.dumps(storm.denial)}']) + "\n}\n"


def from_json(text: str) -> Storm:
    """A run from its JSON file."""
    data = json.loads(text)
    counts = {name: tuple((at, failed) for at, failed in data[name]) for name in ("without_webhook", "with_webhook")}
    return Storm(kubernetes=data["kubernetes"], denial=data["denial"], **counts)


def draw(storm: Storm) -> str:
    """Two panels on one scale: the failed pods of each half, second by second."""
    title = f"{storm.failed} pods fail in {SECONDS} seconds without the webhook, {storm.failed_with_webhook} with it"
    drawing = Drawing(title)
    top = (storm.failed // _STEP + 1) * _STEP
    drawing.text((16, 30), "kubectl apply: a Deployment with one replica that asks for nvidia.com/gpu: 2", "headline")
    halves = (
        ("Without the webhook", storm.without_webhook, "storm"),
        ("With the webhook", storm.with_webhook, "calm"),
    )
    for left, (name, counts, style) in zip(_LEFTS, halves, strict=True):
        drawing.text((left, _TOP - 26), name, "title")
        _draw_axes(drawing, left, top)
        _draw_bars(drawing, left, counts, top, style)
        drawing.text((left + 14, _TOP + 30), str(_at(counts, SECONDS)), f"number {style}")
        drawing.text((left + 14, _TOP + 48), f"failed pods {SECONDS} seconds after kubectl apply", "small")
    drawing.line((_LEFTS[1], _BOTTOM), (_LEFTS[1] + _PANEL, _BOTTOM), "calm-line")
    _draw_denial(drawing, _LEFTS[1] + 14, storm.denial)
    note = f"One run of make demo-cluster: Kubernetes {storm.kubernetes}, one GPU shared through MPS as ten replicas."
    drawing.text((16, _HEIGHT - 14), note, "small")
    return drawing.write()


def _draw_axes(drawing: Drawing, left: float, top: int) -> None:
    for tick in range(0, top + 1, _STEP):
        y = _BOTTOM - tick / top * (_BOTTOM - _TOP)
        drawing.line((left, y), (left + _PANEL, y), "grid")
        drawing.text((left - 8, y + 4), str(tick), "small", "end")
    for second in range(0, SECONDS + 1, 10):
        drawing.text((left + second / SECONDS * _PANEL, _BOTTOM + 18), f"{second} s", "small", "middle")


def _draw_bars(drawing: Drawing, left: float, counts: Counts, top: int, style: str) -> None:
    width = _PANEL / SECONDS
    for second in range(SECONDS):
        height = _at(counts, second + 1) / top * (_BOTTOM - _TOP)
        drawing.box((left + second * width + 1, _BOTTOM - height), width - 2, height, style)


def _draw_denial(drawing: Drawing, left: float, denial: str) -> None:
    text = "Error from server (Forbidden): … " + denial[denial.index("denied the request") :]
    lines = textwrap.wrap(text, 44, break_on_hyphens=False)  # label keys have hyphens
    height = 16 * len(lines) + 14
    drawing.box((left, _BOTTOM - 12 - height), _PANEL - 28, height, "terminal")
    for index, line in enumerate(lines):
        drawing.text((left + 12, _BOTTOM + 7 - height + 16 * index), line, "code")


def _at(counts: Counts, seconds: float) -> int:
    """The last count that was taken until then."""
    return max((failed for at, failed in counts if at <= seconds), default=0)


def main() -> None:
    """Draw the committed picture from the committed record."""
    (DOCS / "pod-storm.svg").write_text(draw(from_json((DOCS / "pod-storm.json").read_text())))


if __name__ == "__main__":
    main()
