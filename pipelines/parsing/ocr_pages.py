"""Reads several pages of a file by OCR at once, within the file's limits on pages and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType

from PIL import Image

from foundation.settings import OcrSettings
from pipelines.parsing.ocr_types import PageUnreadable, Reading

Size = tuple[float, float]
Outcome = Reading | PageUnreadable


class OcrPages:
    """Pages go in as pictures, one by one, and are read side by side; close it, or use it as a context manager.

    Few pictures are in memory at a time: `add` waits while enough pages are under way.
    """

    def __init__(self, settings: OcrSettings) -> None:
        self._settings = settings
        self._pool: ThreadPoolExecutor | None = None
        self._started = time.monotonic()
        self._pages: dict[int, Future[Reading]] = {}
        self._failed: dict[int, PageUnreadable] = {}

    def __enter__(self) -> OcrPages:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def add(self, number: int, draw: Callable[[], tuple[Image.Image, Size]]) -> None:
        """Read page `number`; `draw` gives its picture and its displayed size in points, or raises PageUnreadable.

        `draw` is called here, in the caller's thread, and not at all when a limit is reached.
        """
        try:
            self._check_limits()
            self._wait()
            image, size = draw()
        except PageUnreadable as error:
            self._failed[number] = error
            return
        from pipelines.parsing import ocr  # loads the engines' libraries, which few files need

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._settings.parallel_pages, thread_name_prefix="ocr")
        self._pages[number] = self._pool.submit(ocr.read_image, image, size, self._settings)

    def outcomes(self) -> dict[int, Outcome]:
        """What became of each page, by number; waits for all of them."""
        found: dict[int, Outcome] = dict(self._failed)
        for number, future in self._pages.items():
            try:
                found[number] = future.result()
            except PageUnreadable as error:
                found[number] = error
        return found

    def _check_limits(self) -> None:
        settings = self._settings
        if settings.engine == "off":
            raise PageUnreadable("OCR is switched off (ASKLINE_OCR__ENGINE)")
        if len(self._pages) >= settings.max_pages:
            raise PageUnreadable(f"{settings.max_pages} pages of the file were read by OCR (ASKLINE_OCR__MAX_PAGES)")
        if time.monotonic() - self._started > settings.timeout_s:
            raise PageUnreadable(f"OCR of the file took longer than {settings.timeout_s:g} s (ASKLINE_OCR__TIMEOUT_S)")

    def _wait(self) -> None:
        busy = [future for future in self._pages.values() if not future.done()]
        if len(busy) > self._settings.parallel_pages:
            busy[0].exception()
