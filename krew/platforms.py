"""The platforms of the plugin, and the Pythons that it runs with."""

from __future__ import annotations

from dataclasses import dataclass

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""The versions of CPython whose compiled libraries an archive contains."""


@dataclass(frozen=True, slots=True)
class Platform:
    """An operating system and machine as krew names them. `tags` are the platform tags of wheels that run there.

    `libc` names the C library where the tags are of one only.
    """

    os: str
    arch: str
    tags: tuple[str, ...]
    libc: str = ""

    @property
    def name(self) -> str:
        """The name in the file names of archives."""
        return f"{self.os}-{self.arch}"

    def __str__(self) -> str:
        return f"{self.os}/{self.arch}" + (f" with {self.libc}" if self.libc else "")


PLATFORMS = (
    Platform("linux", "amd64", ("manylinux_2_28_x86_64", "manylinux2014_x86_64"), "glibc"),
    Platform("linux", "arm64", ("manylinux_2_28_aarch64", "manylinux2014_aarch64"), "glibc"),
    Platform("darwin", "amd64", ("macosx_11_0_x86_64",)),
    Platform("darwin", "arm64", ("macosx_11_0_arm64",)),
)
