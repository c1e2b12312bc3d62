"""The formats of `check -o`: one module for each, which is imported when it is chosen."""

from __future__ import annotations

from enum import Enum

from webhook.report.writer import Page, Writer


class CheckFormat(Enum):
    """A format of `check`. The value is the word that `-o` takes and the name of the module."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"

    def writer(self, page: Page) -> Writer:
        match self:
            case CheckFormat.TEXT:
                from webhook.report.check.text import QuietWriter, TextWriter

                return QuietWriter(page) if page.is_quiet else TextWriter(page)
            case CheckFormat.JSON:
                from webhook.report.check.json import JsonWriter

                return JsonWriter()
            case CheckFormat.JUNIT:
                from webhook.report.check.junit import JunitWriter

                return JunitWriter()
            case CheckFormat.SARIF:
                from webhook.report.check.sarif import SarifWriter

                return SarifWriter(page.tree)
            case CheckFormat.GITHUB:
                from webhook.report.check.github import GithubWriter

                return GithubWriter(page)
