"""The commands that the pages show are run, or a comment before them says why they cannot run here."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from pathlib import Path

import pytest

from release.rehearsal import guide
from tests.project import page_shell
from tests.project.clone import copied, reader
from tests.project.pages import CLUSTER, SHELL, Block, page_block, pages, shell_blocks
from tests.project.repository import ROOT, blocks, module, name, tracked

BLOCKS = [block for page in pages() for block in shell_blocks(page)]
IN_CLONE = {
    page: [block for block in BLOCKS if block.page == page and block.runs_in_clone]
    for page in dict.fromkeys(block.page for block in BLOCKS if block.runs_in_clone)
}
KEYS = {"run", "not run", "exits", "serves", "needs"}
CI = ".ci/run"
REGISTRY = "a package registry"
CLONE = "/path/to/gpushare-webhook"

NOT_RUN = {
    "needs a container engine": {"buildah"},
    "needs packages of Debian": {"apt-get", "make rehearse-release"},
    "needs a registry": {"export", "helm", "docker", "podman", "cosign", "crane", "oras", "skopeo", "syft", "trivy"},
    "needs the internet": {"curl", "git", "go"},
    "needs a GPU": {"nvidia-smi"},
    "searches at random": {"make fuzz"},
}
"""The reasons for which a block is not run, each with the only programs, or targets of make, that it excuses."""


def in_words(block: Block) -> str:
    return block.where


@pytest.mark.parametrize("block", BLOCKS, ids=in_words)
def test_comments_before_block_are_known(block: Block) -> None:
    assert block.notes.keys() <= KEYS
    assert not block.notes.keys() >= {"run", "not run"}
    assert block.notes.get("needs", REGISTRY) == REGISTRY
    assert block.script.strip(), "a console block has its commands behind `$ `"


@pytest.mark.parametrize("block", [one for one in BLOCKS if "not run" in one.notes], ids=in_words)
def test_block_that_is_not_run_cannot_run_here(block: Block) -> None:
    excused = NOT_RUN[block.notes["not run"]]
    assert {" ".join(words[:2]) if words[0] == "make" else words[0] for words in block.commands()} <= excused
    for program, subcommand, *words in block.commands():
        assert program != "helm" or subcommand in ("push", "test") or any("oci://" in word for word in words)


@pytest.mark.parametrize("page", pages(), ids=lambda page: name(page))
def test_only_shell_blocks_have_prompts(page: Path) -> None:
    """A command in another block would not be run."""
    others = [content for language, content in blocks(page) if language not in SHELL]
    assert [line for content in others for line in content.splitlines() if line.lstrip().startswith("$ ")] == []


def ci_targets() -> set[str]:
    """The targets that CI makes, and those that they depend on."""
    lines = re.findall(r"^make (.*)", (ROOT / CI).read_text(), re.MULTILINE)
    found = [word for line in lines for word in line.split() if re.fullmatch(r"[\w-]+", word)]
    makefiles = [ROOT / "Makefile", *tracked("*.mk")]
    text = "".join(file.read_text() for file in makefiles)
    rules = re.findall(r"^([\w-]+):(?!=)([^#\n]*(?:#.*\n\t@\$\(MAKE\) .*)?)", text, re.MULTILINE)
    needs = {target: needed.split() for target, needed in rules}
    for target in found:
        found += [needed for needed in needs.get(target, []) if needed not in found]
    return set(found)


@pytest.mark.parametrize("block", [one for one in BLOCKS if one.notes.get("run") == CI], ids=in_words)
def test_block_of_ci_has_targets_that_ci_makes(block: Block) -> None:
    for program, *words in block.commands():
        assert program == "make"
        assert {word for word in words if "=" not in word} <= ci_targets()


def page_blocks_read(test: str) -> list[tuple[str, str]]:
    """The arguments of the calls of `page_block` in a test, named as pytest does."""
    path, _, function = test.partition("::")
    found = [node for node in ast.walk(module(path)) if isinstance(node, ast.FunctionDef) and node.name == function]
    calls = [node for one in found for node in ast.walk(one) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "page_block"]
    return [(ast.literal_eval(call.args[0]), ast.literal_eval(call.args[1])) for call in named]


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [one for one in BLOCKS if one.notes.get("run", CI) not in (CI, CLUSTER, guide.TARGET)], ids=in_words
)
def test_block_is_read_by_test_that_it_names(block: Block) -> None:
    words = [word for page, word in page_blocks_read(block.notes["run"]) if page == block.page]
    assert [word for word in words if word in block.script and page_block(block.page, word) == block]


def test_rehearsal_runs_release_guide_from_build_to_installation() -> None:
    blocks = [block for block in BLOCKS if block.notes.get("run") == guide.TARGET]
    assert [step.block for step in guide.steps()] == blocks
    assert [step.heading.split()[0] for step in guide.steps()] == ["4.", "5.", "6.", "7.", "8."]


def shell_of(page: str) -> str:
    """The fixture with the shell of a page."""
    return "online" if any("needs" in block.notes for block in IN_CLONE[page]) else "alone"


ALWAYS = ("README.md", "docs/tutorial/first-steps.md")
"""The pages that a newcomer follows."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=() if page in ALWAYS else pytest.mark.exhaustive) for page in IN_CLONE]
)
def test_commands_of_page_run(page: str, clone: Path, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """In one shell, in order. pytest collects only: `make test` runs the tests that a page names."""
    folder = copied(clone, tmp_path)
    blocks = [replace(block, script=block.script.replace(CLONE, str(folder))) for block in IN_CLONE[page]]
    environment = reader(folder) | {"PYTEST_ADDOPTS": "--collect-only --quiet"}
    shell: list[str] = request.getfixturevalue(shell_of(page))
    ran = page_shell.run(blocks, folder, tmp_path / "record", shell, environment)
    for block, result in zip(blocks, ran, strict=True):
        page_shell.check(block, result)


def test_pages_of_newcomers_are_among_those_run() -> None:
    assert IN_CLONE.keys() >= set(ALWAYS)


def test_pages_show_output() -> None:
    """That of the README and of the tutorial is compared above."""
    showing = [block.page for block in BLOCKS if block.output is not None and block.runs_in_clone]
    assert showing.count("README.md") == 1
    assert showing.count("docs/tutorial/first-steps.md") == 4
