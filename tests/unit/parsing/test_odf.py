from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from parsing_checks import assert_exact, kinds

from foundation.errors import DamagedFile, EncryptedFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing import odf

_OASIS = "urn:oasis:names:tc:opendocument:xmlns:"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{_OASIS}{name}:1.0"'
    for prefix, name in {
        **{"office": "office", "text": "text", "table": "table", "draw": "drawing", "style": "style"},
        **{"presentation": "presentation", "fo": "xsl-fo-compatible"},
    }.items()
)


def written(tmp_path: Path, body: str, styles: str = "", master: str = "", manifest: str = "<m/>") -> Path:
    path = tmp_path / "a.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        automatic = f"<office:automatic-styles>{styles}</office:automatic-styles>"
        archive.writestr(
            "content.xml",
            f"<office:document-content {NAMESPACES}>{automatic}<office:body>{body}</office:body>"
            "</office:document-content>",
        )
        archive.writestr("styles.xml", f"<office:document-styles {NAMESPACES}>{master}</office:document-styles>")
        archive.writestr("META-INF/manifest.xml", manifest)
    return path


def parse(path: Path) -> ParsedDocument:
    document = odf.parse(path, path.name)
    assert_exact(document)
    return document


def test_a_text_in_body_order_without_deletions_and_hidden_words(tmp_path: Path) -> None:
    styles = (
        '<style:style style:name="H" style:family="text"><style:text-properties text:display="none"/></style:style>'
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="1"'
        ' style:num-suffix="."/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    )
    master = (
        "<office:master-styles><style:master-page><style:header><text:p>Ward 3</text:p></style:header>"
        "<style:footer><text:p>Confidential</text:p></style:footer></style:master-page></office:master-styles>"
    )
    body = (
        "<office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        '<text:h text:outline-level="1">Guide</text:h>'
        "<text:p>Take<text:s text:c='2'/>5<text:line-break/>mg <text:span text:style-name='H'>secret</text:span>daily"
        "<text:note text:note-class='footnote'><text:note-citation>1</text:note-citation><text:note-body>"
        "<text:p>A note.</text:p></text:note-body></text:note>."
        "<office:annotation><text:p>remark</text:p></office:annotation></text:p>"
        '<text:list text:style-name="L"><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>inner'
        "</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>two</text:p></text:list-item>"
        "</text:list><text:p>Text<draw:frame><draw:text-box><text:p>In a box</text:p></draw:text-box></draw:frame>"
        "</text:p></office:text>"
    )
    assert kinds(parse(written(tmp_path, body, styles, master))) == [
        ("header", "Ward 3"),
        ("title", "Guide"),
        ("paragraph", "Take  5\nmg daily."),
        ("list_item", "1. one"),
        ("list_item", "inner"),
        ("list_item", "2. two"),
        ("paragraph", "Text"),
        ("paragraph", "In a box"),
        ("paragraph", "A note."),
        ("footer", "Confidential"),
    ]


def test_a_table_names_its_cells_through_merges_repeats_and_nesting(tmp_path: Path) -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"

    covered = "<table:covered-table-cell/>"
    nested = "<table:table-cell><text:p>drops</text:p><table:table><table:table-row>" + cell("x") + cell("y")
    nested += "</table:table-row></table:table></table:table-cell>"
    body = (
        "<office:text><table:table><table:table-header-rows><table:table-row>"
        + cell("Drug") + cell("Form") + cell("Dose")
        + "</table:table-row></table:table-header-rows><table:table-row>"
        + cell("A", 'table:number-rows-spanned="2"') + cell("same", 'table:number-columns-repeated="2"')
        + f"</table:table-row><table:table-row>{covered}{nested}" + cell("2 ml")
        + "</table:table-row><table:table-row table:number-rows-repeated='1048576'><table:table-cell"
        " table:number-columns-repeated='16384'/></table:table-row></table:table></office:text>"
    )  # fmt: skip
    assert kinds(parse(written(tmp_path, body))) == [
        (
            "table",
            "Drug | Form | Dose\nDrug: A | Form: same | Dose: same\nDrug: A | Form: drops | Dose: 2 ml\nx | y",
        )
    ]


def test_slides_are_pages_with_titles_and_notes(tmp_path: Path) -> None:
    def frame(text: str, kind: str = "") -> str:
        return f"<draw:frame {kind}><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"

    body = (
        "<office:presentation><draw:page>" + frame("Point") + frame("Doses", 'presentation:class="title"')
        + "<presentation:notes>" + frame("Say it slowly.") + "</presentation:notes></draw:page>"
        + "<draw:page><draw:custom-shape><text:p>On a shape</text:p></draw:custom-shape></draw:page>"
        + "</office:presentation>"
    )  # fmt: skip
    document = parse(written(tmp_path, body))
    assert [(e.page, kind, text) for e, (kind, text) in zip(document.elements, kinds(document), strict=True)] == [
        (1, "title", "Doses"),
        (1, "paragraph", "Point"),
        (1, "paragraph", "Say it slowly."),
        (2, "paragraph", "On a shape"),
    ]
    assert document.page_count == 2


def test_passwords_entities_and_emptiness_have_their_own_words(tmp_path: Path) -> None:
    with pytest.raises(EncryptedFile):
        parse(written(tmp_path, "", manifest="<m><encryption-data/></m>"))
    with pytest.raises(NoContent):
        parse(written(tmp_path, "<office:text><text:p/></office:text>"))
    path = tmp_path / "bomb.odt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("content.xml", '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>')
    with pytest.raises(DamagedFile, match="entities"):
        parse(path)
