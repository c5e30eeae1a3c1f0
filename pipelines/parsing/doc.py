"""Word 97-2003, converted to DOCX by doc2docx (pure Python, no office program) and read as that."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import doc2docx
from doc2docx.errors import Doc2DocxError, EncryptedDocumentError

from foundation.errors import DamagedFile, EncryptedFile
from foundation.types import FileWarning, ParsedDocument
from pipelines.parsing import docx

PARSER = "doc/1"

_NOT_READ = ("CHART_OMITTED", "SMARTART_OMITTED", "OLE_OMITTED", "OBJECT_OMITTED")


def parse(path: Path, file_name: str) -> ParsedDocument:
    """Parse an old Word file. Raises EncryptedFile, DamagedFile, ResourceLimit and NoContent."""
    with tempfile.TemporaryDirectory(prefix="askline-doc-") as folder:
        converted = Path(folder) / "document.docx"
        try:
            result = doc2docx.convert(path, converted)
        except EncryptedDocumentError as error:
            raise EncryptedFile(f"{file_name} is protected by a password.") from error
        except Doc2DocxError as error:
            raise DamagedFile(
                f"{file_name} is no Word 97-2003 document that can be read: {error}.",
                fix="Open it with an office program, save it as DOCX or PDF and upload that.",
            ) from error
        parsed = docx.parse(converted, file_name)
    warnings = parsed.warnings
    if any(diagnostic.code.endswith(_NOT_READ) for diagnostic in result.report.diagnostics):
        message = f"{file_name} holds charts or embedded objects, which were not read."
        warnings = [*warnings, FileWarning("embedded_not_read", message)]
    return replace(parsed, parser=PARSER, warnings=warnings)
