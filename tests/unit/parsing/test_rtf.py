from __future__ import annotations

from pathlib import Path

import pytest
from parsing_checks import assert_exact, kinds

from foundation.errors import DamagedFile, EmptyFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing import rtf


def parse(tmp_path: Path, data: str | bytes) -> ParsedDocument:
    path = tmp_path / "a.rtf"
    path.write_bytes(data.encode("ascii") if isinstance(data, str) else data)
    document = rtf.parse(path, path.name)
    assert_exact(document)
    return document


def test_hidden_and_deleted_text_is_dropped_and_inserted_text_kept(tmp_path: Path) -> None:
    text = r"{\rtf1\ansi Take {\v secretly }{\deleted\revauthdel1 10}{\revised 5} mg\par}"
    assert parse(tmp_path, text).text == "Take 5 mg"


def test_letters_of_each_fonts_code_page_and_unicode(tmp_path: Path) -> None:
    fonts = r"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 B;}{\f2\fcharset204 C;}{\f3\fcharset2 Symbol;}}"
    body = (
        r"\f0 caf\'e9 {\f1 \'93\'fa\'96\'7b} {\f2 \'cf\'f0\'e8} {\f3\'b7} \u8364? \u-10179?\u-8704?\uc2\u233 xx!\par}"
    )
    assert parse(tmp_path, r"{\rtf1\ansi\ansicpg1252" + fonts + body).text == "café 日本 При • € 😀é!"


def test_headings_lists_notes_boxes_headers_and_footers(tmp_path: Path) -> None:
    document = parse(
        tmp_path,
        r"{\rtf1\ansi{\stylesheet{\s0 Normal;}{\s1\b heading 1;}}"
        r"{\info{\title T}}{\header Ward 3\par}{\footer Page\par}"
        r"\pard\s1 Guide\par\pard Intro{\footnote A note.}.\par\pard\outlinelevel1 Dose\par"
        r"\pard{\listtext 1.\tab}first\par\pard{\pntext\f3\'b7\tab}second\par"
        r"\pard Text{\shp{\*\shpinst{\sp{\sn x}{\sv y}}{\shptxt In a box\par}}}\par"
        r"{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}} {\pict\pngblip 010203}{\*\unknown gone}\par}",
    )
    assert kinds(document) == [
        ("header", "Ward 3"),
        ("title", "Guide"),
        ("paragraph", "Intro."),
        ("title", "Dose"),
        ("list_item", "1. first"),
        ("list_item", "second"),
        ("paragraph", "Text"),
        ("paragraph", "In a box"),
        ("paragraph", "a link"),
        ("paragraph", "A note."),
        ("footer", "Page"),
    ]
    assert [e.level for e in document.elements if e.kind == "title"] == [1, 2]


def test_a_table_names_its_cells_and_keeps_merged_and_nested_ones(tmp_path: Path) -> None:
    document = parse(
        tmp_path,
        r"{\rtf1 Before\par\trowd\trhdr\cellx1\cellx2\pard\intbl Drug\cell Dose\cell\row"
        r"\trowd\clvmgf\cellx1\cellx2\intbl a|b\cell 5 mg\par twice\cell\row"
        r"\trowd\clvmrg\cellx1\cellx2\intbl\cell 6 mg\cell\row\pard After\par"
        r"\trowd\cellx1\cellx2\intbl x\cell\pard\intbl\itap2 p\nestcell q\nestcell{\*\nesttableprops\nestrow}"
        r"\pard\intbl y\cell\row\pard End\par}",
    )
    assert kinds(document) == [
        ("paragraph", "Before"),
        ("table", "Drug | Dose\nDrug: a|b | Dose: 5 mg twice\nDrug: a|b | Dose: 6 mg"),
        ("paragraph", "After"),
        ("table", "x | y\np | q"),
        ("paragraph", "End"),
    ]


def test_pictures_in_binary_are_skipped_and_damage_ends(tmp_path: Path) -> None:
    assert parse(tmp_path, b"{\\rtf1 a {\\pict\\bin5 }}{\\\x00} b\\par}").text == "a  b"
    assert parse(tmp_path, "{\\rtf1 cut {\\b of").text == "cut of"
    assert parse(tmp_path, "{\\rtf1" + "{" * 100_000 + "deep").text == "deep"
    assert parse(tmp_path, "{\\rtf1 }}}}} x").text == "x"
    for data, error in ((b"", EmptyFile), (b"words", DamagedFile), (b"{\\rtf1 {\\v x}}", NoContent)):
        with pytest.raises(error):
            parse(tmp_path, data)
