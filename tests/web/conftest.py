"""The whole stack in a temporary folder, and pages of Chromium that tolerate no foreign request and no error."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from page_actions import SAMPLES, UPLOADED, Site, Watch
from playwright.sync_api import Browser, Page, sync_playwright

from cli.client import Client
from cli.ingest import upload
from cli.stack import Stack
from foundation.settings import DagsterSettings, ServiceSettings, Settings

CHROMIUM = Path("/usr/bin/chromium")
_ARGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    " --disable-component-update --disable-sync"
).split()
_LOADED = "Failed to load resource"


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="askline-web-"))
    settings = Settings(
        data_dir=folder / "data", service=ServiceSettings(port=18600), dagster=DagsterSettings(port=18700)
    )
    stack = Stack(settings, lambda line: None)
    try:
        addresses = stack.start()
        client = Client(addresses.service_url)
        paths = [SAMPLES / name for name in UPLOADED]
        records = upload(client, paths, {"licence": "see LICENCES.md"}, timeout_s=240, quiet=True)
        assert [record["status"] for record in records] == ["indexed"] * len(paths), records
        uploaded = {record["file_name"]: record["document_id"] for record in records}
        yield Site(addresses.service_url, addresses.dagster_url, client, folder, uploaded)
    finally:
        stack.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"{CHROMIUM} is not there; `apt-get install chromium` brings it")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGS)
        yield opened
        opened.close()


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def open_page(site: Site, browser: Browser, watch: Watch) -> Iterator[Callable[..., Page]]:
    """A new page of its own context at a path; at the end nothing foreign was asked for and nothing complained of."""
    contexts = []

    def open_(path: str = "/", *, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("request", lambda request: _note_foreign(watch, site, request.url))
        # A violation of the content security policy is logged as an error too.
        page.on("console", lambda m: watch.complaints.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        page.goto(site.url + path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert watch.foreign == []
    expected = [c for c in watch.complaints if watch.refusals_expected and c.startswith(_LOADED)]
    assert [c for c in watch.complaints if c not in expected] == []


def _note_foreign(watch: Watch, site: Site, address: str) -> None:
    if not address.startswith(("data:", "blob:")) and httpx.URL(address).netloc != httpx.URL(site.url).netloc:
        watch.foreign.append(address)
