"""What a reader should know about a page that was read by OCR."""

from __future__ import annotations

from foundation.settings import OcrSettings
from foundation.types import FileWarning
from pipelines.parsing.ocr_types import Reading


def low_confidence(file_name: str, number: int, reading: Reading, settings: OcrSettings) -> list[FileWarning]:
    """A warning where the mean confidence of the page's words is below the setting."""
    if reading.confidence >= settings.low_confidence:
        return []
    message = (
        f"{file_name}: page {number} was read by OCR ({reading.engine}) with a confidence of "
        f"{reading.confidence:.0%}; its text may be wrong."
    )
    return [FileWarning("ocr_low_confidence", message, page=number)]
