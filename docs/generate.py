"""Write generated pages of docs/reference. `make docs` runs it; a test fails on drift."""

from __future__ import annotations

from pathlib import Path

from docs import checks, command_line, workloads
from webhook.cli.explanation import markdown
from webhook.cli.explanation.contents import of_injection
from webhook.policy.injections import ALL
from webhook.policy.injections.injection import Injection
from webhook.server.observe.metrics import FAMILIES

REFERENCE = Path(__file__).parent / "reference"


def main() -> None:
    """Write every page."""
    (REFERENCE / "checks").mkdir(exist_ok=True)
    for name, content in pages().items():
        (REFERENCE / name).write_text(content, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return the generated pages by file name."""
    return {
        "checks.md": checks.index(),
        **checks.pages(),
        "command-line.md": command_line.page(),
        "injections.md": injections(),
        "metrics.md": metrics(),
        "workloads.md": workloads.page(),
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


INJECTIONS = """\
# Injections

Generated from the code by `make docs`. The mutating hook makes these injections into pods on CREATE, in this order. It
never replaces a value that the user set. `gpushare-webhook explain NAME` prints the part about one of them;
[settings](settings.md) lists all keys.
"""


def injections() -> str:
    """Return the page of all injections."""
    return "\n".join([INJECTIONS, *map(_injection, ALL)])


def _injection(injection: Injection) -> str:
    return f"## {injection.name}\n\n**{injection.title}.**\n\n{markdown.body(of_injection(injection), 3)}"


if __name__ == "__main__":
    main()
