"""Write the pages of docs/reference about checks and injections. Run by `make docs`; a test fails on drift."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from webhook.policy.checks import CHECKS
from webhook.policy.injections import ALL
from webhook.server.observe.metrics import FAMILIES

REFERENCE = Path(__file__).parent / "reference"


def main() -> None:
    """Write every page."""
    for name, content in pages().items():
        (REFERENCE / name).write_text(content)


def pages() -> dict[str, str]:
    """The generated pages by file name."""
    return {"checks.md": checks(), "injections.md": injections(), "metrics.md": metrics()}


def metrics() -> str:
    """The page of all metrics."""
    lines = [
        "# Metrics",
        "",
        "Generated from the code by `make docs`. The health port serves them at `/metrics`, as text.",
        "",
        "| metric | type | labels | meaning |",
        "|---|---|---|---|",
    ]
    for family in FAMILIES:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        lines.append(f"| `{family.full_name}` | {family.kind.__name__.lower()} | {labels} | {family.help} |")
    lines += ["", "The usual metrics of the process (`process_*`) and of Python (`python_info`) are exported too."]
    return "\n".join(lines) + "\n"


def checks() -> str:
    """The page of all checks, from the modules that make them."""
    lines = [
        "# Checks",
        "",
        "Generated from the code by `make docs`. `gpushare-webhook explain CODE` prints the same.",
        "Severities are settings: by code, by namespace, and capped by the mode.",
        "",
        "| code | default | looks at | says |",
        "|---|---|---|---|",
    ]
    lines += [f"| [{c.code}](#{c.code.lower()}) | {c.severity.label} | {c.scope.value} | {c.title} |" for c in CHECKS]
    for check in CHECKS:
        lines += ["", f"## {check.code}", "", *paragraphs(check.says)]
    return "\n".join(lines) + "\n"


def injections() -> str:
    """The page of all injections, from the modules that make them."""
    lines = [
        "# Injections",
        "",
        "Generated from the code by `make docs`. Injections are made into pods on CREATE, in this order, and never",
        "over a value that the user set.",
    ]
    for injection in ALL:
        lines += ["", f"## {injection.name}", "", *paragraphs(injection.says)]
    return "\n".join(lines) + "\n"


def paragraphs(says: str) -> Iterator[str]:
    """An explanation as Markdown: its title, then a list of its parts."""
    title, _, rest = says.strip().partition("\n\n")
    yield f"**{title}**"
    yield ""
    for line in rest.splitlines():
        word, colon, text = line.partition(":")
        yield f"- **{word}:**{text}" if colon and word in PARTS else f"  {line}"


PARTS = ("Reads", "Adds", "Why", "Remedy", "Not when")

if __name__ == "__main__":
    main()
