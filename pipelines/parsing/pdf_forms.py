"""Values that someone filled into a PDF form: they are in no page's text."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from pipelines.parsing.assembly import clean
from pipelines.parsing.pdf_page import Line, Transform, Word, transform_box

_TEXT_FIELDS = {pdfium.FPDF_FORMFIELD_TEXTFIELD, pdfium.FPDF_FORMFIELD_COMBOBOX, pdfium.FPDF_FORMFIELD_LISTBOX}
_BUTTONS = {pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON}
_FONT_SIZE = 10.0
"""Fields rarely say theirs; only the layout's thresholds need one."""


def form_lines(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, transform: Transform) -> list[Line]:
    """One line `label: value` for each filled field, every word boxed by its field; [] without a form."""
    form = document.formenv
    if form is None:
        return []
    lines = []
    for index in range(pdfium.FPDFPage_GetAnnotCount(page.raw)):
        annotation = pdfium.FPDFPage_GetAnnot(page.raw, index)
        if not annotation:
            continue
        try:
            text = _field_text(form.raw, annotation)
            rect = pdfium.FS_RECTF()
            if text and pdfium.FPDFAnnot_GetRect(annotation, rect):
                box = transform_box(transform, (rect.left, rect.bottom, rect.right, rect.top))
                lines.append(Line([Word(word, box) for word in text.split()], _FONT_SIZE, bold=False))
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return lines


def _field_text(form: Any, annotation: Any) -> str:
    kind = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    label = _string(pdfium.FPDFAnnot_GetFormFieldAlternateName, form, annotation).strip()
    if kind in _TEXT_FIELDS:
        value = _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation).strip()
        return f"{label}: {value}" if label and value else value
    # A cross that nobody named says nothing; its meaning is printed beside it, and where is not known.
    is_checked = kind in _BUTTONS and bool(pdfium.FPDFAnnot_IsChecked(form, annotation))
    return f"{label}: ☒" if is_checked and label else ""


def _string(read: Callable[..., int], form: Any, annotation: Any) -> str:
    length = read(form, annotation, None, 0)
    if length <= 2:
        return ""
    buffer = (ctypes.c_ushort * (length // 2))()
    read(form, annotation, buffer, length)
    return clean(bytes(buffer).decode("utf-16-le", errors="ignore").rstrip("\0"))
