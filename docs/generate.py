"""Write generated pages of docs/reference. `make docs` runs it; a test fails on drift."""

from __future__ import annotations

from pathlib import Path

from docs import checks, claims, command_line, settings, workloads
from webhook.server.metrics import Metrics

REFERENCE = Path(__file__).parent / "reference"


def main() -> None:
    """Write every page."""
    for file, content in pages().items():
        file.write_text(content, encoding="utf-8")


def pages() -> dict[Path, str]:
    """Return the generated pages by file."""
    return {
        REFERENCE / "checks.md": checks.index(),
        REFERENCE / "claims.md": claims.page(),
        REFERENCE / "command-line.md": command_line.page(),
        REFERENCE / "facts.md": settings.facts_page(),
        REFERENCE / "injections.md": checks.injections_index(),
        REFERENCE / "metrics.md": metrics(),
        REFERENCE / "settings.md": settings.settings_page(),
        REFERENCE / "workloads.md": workloads.page(),
        **checks.pages(),
        **claims.pages(),
    }


def metrics() -> str:
    """Return the page of all metrics."""
    lines = [
        "# Metrics",
        "",
        "This page lists the metrics that the health port serves at `/metrics`, besides `process_*` and `python_info`.",
        "[The first day](../how-to/first-day.md#2-report-everywhere) has queries.",
        "",
    ]
    for family in Metrics().families:
        labels = ", ".join(f"`{label}`" for label in family.labels)
        kind = family.kind + (f": {labels}" if labels else "")
        lines.append(f"- **`{family.name}`** ({kind}): {family.help}")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
