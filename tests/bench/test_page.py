"""The page and its plots are what the committed results give."""

from __future__ import annotations

import re
from dataclasses import replace
from xml.etree import ElementTree

from bench.page import PAGE, PLOTS, committed, plots, render
from bench.results import Results


def test_page_is_what_results_give() -> None:
    assert PAGE.read_text() == render(committed())


def test_plots_are_what_results_give() -> None:
    assert {file.name: file.read_text() for file in PLOTS.iterdir()} == plots(committed())


def test_page_shows_every_plot() -> None:
    assert sorted(re.findall(r"\]\(performance/([^)]+)\)", PAGE.read_text())) == sorted(plots(committed()))


def test_plots_are_well_formed_and_stay_inside_their_frame() -> None:
    for svg in plots(committed()).values():
        root = ElementTree.fromstring(svg)  # noqa: S314 - it was made here
        width, height = float(root.attrib["width"]), float(root.attrib["height"])
        places = [
            (float(element.attrib[x]), float(element.attrib[y]))
            for element in root.iter()
            for x, y in (("x", "y"), ("cx", "cy"))
            if x in element.attrib
        ]
        assert len(places) > 10
        assert [(x, y) for x, y in places if not (0 <= x <= width and 0 <= y <= height)] == []


def with_share(share: float) -> dict[str, Results]:
    return {name: replace(found, share=share) for name, found in committed().items()}


def test_short_runs_are_called_provisional() -> None:
    assert "**provisional**" in render(with_share(0.1))
    assert "**provisional**" not in render(with_share(1))


def test_skipped_peer_is_shown_with_its_reason() -> None:
    shown = {name: replace(found, skipped={"a peer": "no compiler"}) for name, found in committed().items()}
    assert "a peer: no compiler" in render(shown)
