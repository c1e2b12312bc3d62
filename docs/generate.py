"""Write generated pages of docs/reference. `make docs` runs it; a test fails on drift."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docs import command_line
from webhook.policy.checks import CHECKS
from webhook.policy.injections import ALL
from webhook.server.observe.metrics import FAMILIES

REFERENCE = Path(__file__).parent / "reference"


def main() -> None:
    """Write every page."""
    for name, content in pages().items():
        (REFERENCE / name).write_text(content, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the generated pages by file name."""
    return {
        "checks.md": checks(),
        "command-line.md": command_line.page(),
        "injections.md": injections(),
        "metrics.md": metrics(),
    }


def metrics() -> str:
    """Return the page of all metrics."""
    lines = [
        "# Metrics",
        "",
        "Generated from the code by `make docs`. The health port serves them at `/metrics` as text.",
        "",
        "| metric | type | labels | description |",
        "|---|---|---|---|",
    ]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        lines.append(f"| `{family.full_name}` | {family.kind.__name__.lower()} | {labels} | {family.help} |")
    lines += [
        "",
        "The page also has the standard Prometheus metrics of the process (`process_*`) and of Python (`python_info`).",
    ]
    return "\n".join(lines) + "\n"


def checks() -> str:
    """Return the page of all checks."""
    lines = [
        "# Checks",
        "",
        "Generated from the code by `make docs`. `gpushare-webhook explain CODE` prints the same.",
        "Settings can change a severity by code and by namespace, and the mode caps it.",
        "",
        "| code | default | applies to | reports |",
        "|---|---|---|---|",
    ]
    lines += [f"| [{c.code}](#{c.code.lower()}) | {c.severity.label} | {c.scope.value} | {c.title} |" for c in CHECKS]
    for check in CHECKS:
        lines += ["", f"## {check.code}", "", *paragraphs(check.description)]
    return "\n".join(lines) + "\n"


def injections() -> str:
    """Return the page of all injections."""
    lines = [
        "# Injections",
        "",
        "Generated from the code by `make docs`. The mutating hook makes these injections into pods on",
        "CREATE, in this order. It never replaces a value that the user set.",
    ]
    for injection in ALL:
        lines += ["", f"## {injection.name}", "", *paragraphs(injection.description)]
    return "\n".join(lines) + "\n"


def paragraphs(says: str) -> Iterator[str]:
    """Yield an explanation as Markdown: its title, then a list of its parts."""
    title, _, rest = says.strip().partition("\n\n")
    yield f"**{title}**"
    yield ""
    for line in rest.splitlines():
        word, colon, text = line.partition(":")
        yield f"- **{word}:**{text}" if colon and word in PARTS else f"  {line}"


PARTS = ("Reads", "Adds", "Why", "Remedy", "Not when")

if __name__ == "__main__":
    main()
