"""The bill of materials is written only if it is complete; `make sbom` writes it with cyclonedx-py."""

from __future__ import annotations

import pytest

from release.image.sbom import Document, IncompleteError, combined

DIGEST = {"hashes": [{"alg": "SHA-256", "content": "0" * 64}], "type": "distribution", "url": "https://example.com/"}
HOMEPAGE = {"type": "website", "url": "https://example.com/uvloop"}


def installed(version: str = "0.23.0", **more: object) -> Document:
    return {"name": "uvloop", "version": version, "purl": f"pkg:pypi/uvloop@{version}", **more}


def locked() -> Document:
    return {"components": [{"purl": "pkg:pypi/uvloop@0.23.0", "externalReferences": [DIGEST]}]}


LICENCE = [{"license": {"id": "MIT"}}]


def test_library_gets_digests_of_its_locked_wheels() -> None:
    libraries = {"components": [installed(licenses=LICENCE, externalReferences=[HOMEPAGE])], "specVersion": "1.6"}
    document = combined(libraries, locked())
    assert document["specVersion"] == "1.6"
    assert document["components"] == [installed(licenses=LICENCE, externalReferences=[DIGEST, HOMEPAGE])]


@pytest.mark.parametrize(
    ("components", "problem"),
    [
        ([], "uvloop 0.23.0 is locked and not installed"),
        ([installed()], "uvloop 0.23.0 has no licence"),
        (
            [installed("0.24.0", licenses=LICENCE)],
            "uvloop 0.23.0 is locked and not installed\nuvloop 0.24.0 is installed and not locked",
        ),
    ],
    ids=["a missing library", "no licence", "another version"],
)
def test_incomplete_document_is_rejected(components: list[Document], problem: str) -> None:
    with pytest.raises(IncompleteError) as rejected:
        combined({"components": components}, locked())
    assert str(rejected.value) == problem
