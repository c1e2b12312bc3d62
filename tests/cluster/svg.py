"""Drawings in SVG: text, lines and boxes in the colours of a page, light or dark.

A drawing paints its own background and follows the reader's preference (`prefers-color-scheme`), so that it is readable
in an `<img>` on any page. The same calls give the same text.
"""

from __future__ import annotations

from html import escape

_STYLE = """\
text{font:12px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,'DejaVu Sans',sans-serif;fill:#1f2328}
.paper{fill:#fff}.title{font-size:14px;font-weight:600}.small{font-size:11px;fill:#59636e}
.axis{stroke:#8c959f;fill:none}.grid{stroke:#d8dee4;fill:none}.bar-mark{stroke:#1f2328;stroke-width:2;fill:none}
.line{fill:none;stroke-width:2}.dashed{stroke-dasharray:5 4}.whisker{stroke-width:1.5;fill:none}
.s0{stroke:#0969da}.s1{stroke:#bc4c00}.s2{stroke:#6e7781}.f0{fill:#0969da}.f1{fill:#bc4c00}.f2{fill:#6e7781}
.ink{stroke:#1f2328}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.paper{fill:#0d1117}.small{fill:#9198a1}.axis{stroke:#6e7681}.grid{stroke:#262c36}
.bar-mark,.ink{stroke:#e6edf3}
.s0{stroke:#4493f8}.s1{stroke:#f0883e}.s2{stroke:#9198a1}.f0{fill:#4493f8}.f1{fill:#f0883e}.f2{fill:#9198a1}}
"""

Point = tuple[float, float]


class Drawing:
    """Elements of a drawing of a size in pixels; the origin is at the top left; `style` is additional CSS."""

    def __init__(self, width: float, height: float, title: str, style: str = "") -> None:
        self.width = width
        self.height = height
        self._title = title
        self._style = _STYLE + style
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
        size = f"{_n(self.width)} {_n(self.height)}"
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{_n(self.width)}" '
            f'height="{_n(self.height)}" role="img">'
        )
        paper = '<rect width="100%" height="100%" class="paper"/>'
        title = f"<title>{escape(self._title)}</title>"
        return "\n".join([head, title, f"<style>\n{self._style}</style>", paper, *self._elements, "</svg>"]) + "\n"


def _n(value: float) -> str:
    """A tenth of a pixel is enough."""
    return f"{value:.1f}".removesuffix(".0")
