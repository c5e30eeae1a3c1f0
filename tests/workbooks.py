"""A writer of minimal XLSX files, so that a test can hold any XML in a cell."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = 'xmlns="http://schemas.openxmlformats.org/package/2006/relationships"'
_TYPES = 'xmlns="http://schemas.openxmlformats.org/package/2006/content-types"'


class Raw(str):
    """A cell's further attributes and content, e.g. `t="e"><v>#DIV/0!</v>`."""


class Date(float):
    """Days since 1899-12-30, in a cell with a date format."""


def write_workbook(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[object]]],
    hidden: Sequence[str] = (),
    merged: Sequence[str] = (),
    formats: Sequence[str] = (),
) -> Path:
    """Rows of cells from A1 by sheet name; a cell is str, number, bool, None, Date or Raw. `merged`: `A1:C1`.

    formats: number formats, of which the first is that of a Raw cell with `s="2"`.
    """
    merges = "".join(f'<mergeCell ref="{ref}"/>' for ref in merged)
    merges = f"<mergeCells>{merges}</mergeCells>" if merges else ""
    listed, targets, parts = "", "", {}
    for i, (name, rows) in enumerate(sheets.items(), start=1):
        state = ' state="hidden"' if name in hidden else ""
        listed += f'<sheet name="{escape(name)}" sheetId="{i}" r:id="rId{i}"{state}/>'
        targets += _relation(f"rId{i}", "worksheet", f"worksheets/sheet{i}.xml")
        body = "".join(_row(number, row) for number, row in enumerate(rows, start=1))
        parts[f"xl/worksheets/sheet{i}.xml"] = f"<worksheet {_MAIN}><sheetData>{body}</sheetData>{merges}</worksheet>"
    targets += _relation("rIdStyles", "styles", "styles.xml")
    office = _relation("rId1", "officeDocument", "xl/workbook.xml")
    parts |= {
        "[Content_Types].xml": f'<Types {_TYPES}><Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f"<Relationships {_RELATIONS}>{office}</Relationships>",
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f"<Relationships {_RELATIONS}>{targets}</Relationships>",
        "xl/styles.xml": f"<styleSheet {_MAIN}>{_styles(formats)}</styleSheet>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, text in parts.items():
            archive.writestr(part, text)
    return path


def _styles(formats: Sequence[str]) -> str:
    codes = "".join(f'<numFmt numFmtId="{200 + n}" formatCode={quoteattr(code)}/>' for n, code in enumerate(formats))
    more = "".join(f'<xf numFmtId="{200 + n}" applyNumberFormat="1"/>' for n in range(len(formats)))
    cells = f'<cellXfs><xf numFmtId="0"/><xf numFmtId="22" applyNumberFormat="1"/>{more}</cellXfs>'
    return f"<numFmts>{codes}</numFmts>{cells}" if codes else cells


def _relation(identity: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{identity}" Type="{_OFFICE}/{kind}" Target="{target}"/>'


def _row(number: int, cells: Sequence[object]) -> str:
    return f'<row r="{number}">{"".join(_cell(f"{chr(65 + i)}{number}", c) for i, c in enumerate(cells))}</row>'


def _cell(ref: str, cell: object) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Raw):
        return f'<c r="{ref}" {cell}</c>'
    if isinstance(cell, bool):
        return f'<c r="{ref}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, Date):
        return f'<c r="{ref}" s="1"><v>{float(cell)}</v></c>'
    if isinstance(cell, str):
        return f'<c r="{ref}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
    return f'<c r="{ref}"><v>{cell}</v></c>'


def write_ods(path: Path, sheets: Mapping[str, Sequence[Sequence[str]]], hidden: Sequence[str] = ()) -> Path:
    """Rows of cells by sheet name; a cell is the inside of a `table-cell` tag and its text, `office:… >text`."""
    body = ""
    for name, rows in sheets.items():
        lines = "".join(
            f"<table:table-row>{''.join(f'<table:table-cell {c}</table:table-cell>' for c in row)}</table:table-row>"
            for row in rows
        )
        style = ' table:style-name="off"' if name in hidden else ""
        body += f'<table:table table:name="{escape(name)}"{style}>{lines}</table:table>'
    names = " ".join(
        f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{short}:1.0"'
        for short in ("office", "table", "text", "style")
    )
    off = '<style:table-properties table:display="false"/>'
    off = f'<style:style style:name="off" style:family="table">{off}</style:style>'
    content = (
        f"<office:document-content {names}><office:automatic-styles>{off}</office:automatic-styles>"
        f"<office:body><office:spreadsheet>{body}</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    return path
