"""What a person does on the page, and what the tests of it share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Locator, Page

from cli.client import Client

SAMPLES = Path(__file__).parents[2] / "samples"
UPLOADED = ("niddk_eating_diabetes_508.pdf", "encounters.csv", "referral_policy.docx")
PATIENCE_MS = 180_000
"""For what the pipelines do, on a machine that does other work too."""


@dataclass
class Site:
    """A running Askline over the samples: its address, a client, a folder for files of one's own."""

    url: str
    dagster_url: str
    client: Client
    folder: Path
    uploaded: dict[str, str] = field(default_factory=dict)
    """File name → document id."""


@dataclass
class Watch:
    """What a page asked for and complained about."""

    foreign: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    refusals_expected: bool = False
    """Chromium logs every answer of 4xx as an error; a test that provokes one says so."""


def ask(page: Page, question: str) -> Locator:
    """Type, press Enter, wait: the answer's article."""
    answers = page.locator("article.answer")
    before = answers.count()
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    answer = answers.nth(before)
    problem = page.locator(".log .problem")
    answer.or_(problem).first.wait_for(timeout=60_000)
    assert problem.count() == 0, problem.all_inner_texts()
    return answer


def row_of(page: Page, file_name: str) -> Locator:
    return page.locator("table.cards tbody tr").filter(has_text=file_name)


def choose_file(page: Page, path: Path) -> Locator:
    """Upload by the file chooser: the file's line in the list of uploads."""
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="choose files").click()
    chooser.value.set_files(path)
    return page.locator(".uploads > li").filter(has_text=path.name)


def drop_file(page: Page, path: Path) -> Locator:
    """Upload by dropping the file on the place for it: its line in the list of uploads."""
    transfer = page.evaluate_handle(
        """([name, text]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([text], name));
          return transfer;
        }""",
        [path.name, path.read_text()],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": transfer})
    return page.locator(".uploads > li").filter(has_text=path.name)
