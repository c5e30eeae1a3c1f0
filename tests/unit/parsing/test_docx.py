from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import docx
import pytest
from docx.document import Document
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from parsing_checks import assert_exact, kinds
from PIL import Image

from foundation.errors import AsklineError, DamagedFile, EmptyFile, EncryptedFile, NoContent, ResourceLimit
from foundation.types import ParsedDocument
from pipelines.parsing import docx as parser


def parse(path: Path) -> ParsedDocument:
    document = parser.parse(path, path.name)
    assert_exact(document)
    return document


def written(tmp_path: Path, build: Callable[[Document], object]) -> Path:
    document = docx.Document()
    build(document)
    path = tmp_path / "a.docx"
    document.save(str(path))
    return path


def rewritten(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    result = path.with_name("changed.docx")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as target:
        for entry in source.infolist():
            data = source.read(entry)
            target.writestr(entry.filename, change(data) if entry.filename == part else data)
    return result


def test_body_order_headings_lists_headers_and_footers(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        document.sections[0].header.paragraphs[0].text = "Ward 3"
        document.sections[0].footer.paragraphs[0].text = "Confidential"
        document.add_heading("Guide", 0)
        document.add_paragraph("Intro.")
        document.add_heading("Dose", 2)
        document.add_paragraph("first", style="List Bullet")
        document.add_section()
        document.add_paragraph("Last.")

    document = parse(written(tmp_path, build))
    assert kinds(document) == [
        ("header", "Ward 3"),
        ("title", "Guide"),
        ("paragraph", "Intro."),
        ("title", "Dose"),
        ("list_item", "first"),
        ("paragraph", "Last."),
        ("footer", "Confidential"),
    ]
    assert [e.level for e in document.elements if e.kind == "title"] == [1, 2]


def test_hidden_text_and_deletions_are_dropped_and_insertions_kept(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        paragraph = document.add_paragraph("Take ")
        paragraph.add_run("secretly ").font.hidden = True
        namespaces = nsdecls("w")
        paragraph._p.append(
            parse_xml(f'<w:del {namespaces} w:id="1" w:author="a"><w:r><w:delText>10</w:delText></w:r></w:del>')
        )
        paragraph._p.append(parse_xml(f'<w:ins {namespaces} w:id="2" w:author="a"><w:r><w:t>5</w:t></w:r></w:ins>'))
        paragraph.add_run(" mg")

    assert parse(written(tmp_path, build)).text == "Take 5 mg"


def test_merged_cells_stand_once_and_a_nested_table_follows_its_row(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        table = document.add_table(3, 3)
        for row, texts in zip(table.rows, ["abc", "def", "ghi"], strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text
        table.cell(0, 0).merge(table.cell(0, 1)).text = "Name"
        table.cell(1, 2).merge(table.cell(2, 2)).text = "both"
        nested = table.cell(2, 0).add_table(1, 2)
        nested.cell(0, 0).text, nested.cell(0, 1).text = "x", "y"

    [(kind, text)] = kinds(parse(written(tmp_path, build)))
    assert kind == "table"
    assert text == "Name |  | c\nd | e | both\ng | h |\nx | y"


def test_a_text_box_is_read_once(shared_data: Path) -> None:
    document = parse(shared_data / "documents/office/docl__drawingml.docx")
    assert [text for _, text in kinds(document)].count("Text 2") == 1


def test_strict_office_xml_is_read(shared_data: Path) -> None:
    assert parse(shared_data / "documents/office/docl__Strict.docx").text == "Some text"


def test_an_entity_is_refused_before_anything_is_resolved(tmp_path: Path) -> None:
    plain = written(tmp_path, lambda document: document.add_paragraph("text"))
    declaration = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]>'
    changed = rewritten(plain, "word/document.xml", lambda data: data.replace(b"?>", b"?>" + declaration, 1))
    with pytest.raises(DamagedFile, match=r"changed\.docx: word/document\.xml declares"):
        parse(changed)


@pytest.mark.parametrize("encoding", [b"klingon", b"idna", b"rot13", b"gb18030"])
def test_a_part_in_an_encoding_that_no_xml_has_is_damaged_and_named(tmp_path: Path, encoding: bytes) -> None:
    plain = written(tmp_path, lambda document: document.add_paragraph("text"))
    changed = rewritten(plain, "word/document.xml", lambda data: re.sub(rb"(?i)utf-8", encoding, data, count=1))
    with pytest.raises(DamagedFile, match=r"changed\.docx: word/document\.xml is no well-formed XML"):
        parse(changed)


def test_a_zip_bomb_is_refused_unopened(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", bytes(200 << 20))
    with pytest.raises(ResourceLimit, match=r"bomb\.docx"):
        parse(path)


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (half, DamagedFile),
        (lambda data: b"", EmptyFile),
        (lambda data: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + data, EncryptedFile),
        (lambda data: data.replace(b"word/document.xml", b"word/documenX.xml"), DamagedFile),
    ],
)
def test_files_that_are_no_whole_document_say_what_they_are(
    tmp_path: Path, change: Callable[[bytes], bytes], error: type[AsklineError]
) -> None:
    path = written(tmp_path, lambda document: document.add_paragraph("text"))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(error, match=r"a\.docx"):
        parse(path)


def test_broken_xml_and_no_text_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NoContent):
        parse(written(tmp_path, lambda document: None))
    with pytest.raises(DamagedFile, match="well-formed"):
        parse(rewritten(tmp_path / "a.docx", "word/document.xml", half))


def numbered(document: Document, text: str, number: int, level: int = 0) -> None:
    paragraph = document.add_paragraph(text)
    properties = paragraph._p.get_or_add_pPr()
    properties.append(
        parse_xml(f'<w:numPr {nsdecls("w")}><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>')
    )


def test_items_have_the_numbers_that_word_shows(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        root = document.part.numbering_part.element
        levels = "".join(
            f'<w:lvl w:ilvl="{i}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/><w:lvlText w:val="{text}"/></w:lvl>'
            for i, (kind, text) in enumerate([("decimal", "%1."), ("lowerLetter", "%1.%2)"), ("bullet", "•")])
        )
        definition = f'<w:abstractNum {nsdecls("w")} w:abstractNumId="90">{levels}</w:abstractNum>'
        root.insert(0, parse_xml(definition))
        root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="90"><w:abstractNumId w:val="90"/></w:num>'))
        again = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
        root.append(parse_xml(f'<w:num {nsdecls("w")} w:numId="91"><w:abstractNumId w:val="90"/>{again}</w:num>'))
        for text, level in [("wash", 0), ("hands", 1), ("face", 1), ("dot", 2), ("dry", 0), ("feet", 1)]:
            numbered(document, text, 90, level)
        numbered(document, "new", 91)

    assert [text for _, text in kinds(parse(written(tmp_path, build)))] == [
        "1. wash", "1.a) hands", "1.b) face", "dot", "2. dry", "2.a) feet", "7. new",
    ]  # fmt: skip


def test_each_cell_stands_with_its_header_where_the_table_has_one(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        for marked in (True, False):
            table = document.add_table(2, 2)
            for cell, text in zip(table._cells, ["Drug", "Dose", "Metformin", "500 mg"], strict=True):
                cell.text = text
            if marked:
                table.rows[0]._tr.get_or_add_trPr().append(parse_xml(f"<w:tblHeader {nsdecls('w')}/>"))
            document.add_paragraph("between")

    tables = [text for kind, text in kinds(parse(written(tmp_path, build))) if kind == "table"]
    assert tables == ["Drug | Dose\nDrug: Metformin | Dose: 500 mg", "Drug | Dose\nMetformin | 500 mg"]


def test_equations_and_old_check_boxes_are_text(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'

        def run(text: str) -> str:
            return f"<m:r><m:t>{text}</m:t></m:r>"

        power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('n+1')}</m:sup></m:sSup>"
        fraction = f"<m:f><m:num>{run('a+b')}</m:num><m:den>{run('2')}</m:den></m:f>"
        root = f"<m:rad><m:deg/><m:e>{run('y')}</m:e></m:rad>"
        document.add_paragraph()._p.append(parse_xml(f"<m:oMath {math}>{power}{run('=')}{fraction}{root}</m:oMath>"))
        for state in ('<w:default w:val="0"/>', '<w:default w:val="0"/><w:checked/>'):
            run_of = document.add_paragraph().add_run()
            run_of._r.append(
                parse_xml(
                    f'<w:fldChar {nsdecls("w")} w:fldCharType="begin"><w:ffData><w:checkBox>{state}</w:checkBox>'
                    "</w:ffData></w:fldChar>"
                )
            )
            document.paragraphs[-1].add_run("smokes")

    assert [text for _, text in kinds(parse(written(tmp_path, build)))] == [
        "x^(n+1)=(a+b)/2√(y)", "☐ smokes", "☒ smokes",
    ]  # fmt: skip


def test_a_picture_that_may_show_text_is_told(tmp_path: Path) -> None:
    def build(document: Document) -> None:
        document.add_paragraph("See the picture.")
        picture = io.BytesIO()
        Image.effect_noise((200, 200), 90).save(picture, "PNG")
        document.add_picture(picture)

    assert [w.code for w in parse(written(tmp_path, build)).warnings] == ["image_not_read"]
