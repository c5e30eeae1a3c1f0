from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pptx
import pytest
from parsing_checks import assert_exact
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.presentation import Presentation
from pptx.util import Inches

from foundation.errors import DamagedFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing import pptx as parser
from pipelines.parsing.box_grid import TextBox, grids, table_rows
from pipelines.parsing.table_lines import ABOVE, LEFT

SIZE = (Inches(1), Inches(1), Inches(4), Inches(1))


def parse(tmp_path: Path, build: Callable[[Presentation], object]) -> ParsedDocument:
    presentation = pptx.Presentation()
    build(presentation)
    path = tmp_path / "a.pptx"
    presentation.save(str(path))
    document = parser.parse(path, path.name)
    assert_exact(document)
    return document


def shown(document: ParsedDocument) -> list[tuple[int | None, str, str]]:
    return [(e.page, e.kind, document.text[e.start : e.end]) for e in document.elements]


def test_slides_are_pages_with_titles_lists_groups_tables_and_notes(tmp_path: Path) -> None:
    def build(presentation: Presentation) -> None:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes[1].text_frame.text = "first\nsecond"
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(*SIZE).text_frame.text = "In a group"
        slide.shapes.title.text_frame.text = "Doses"
        slide.notes_slide.notes_text_frame.text = "Say it slowly."
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide._element.set("show", "0")
        table = slide.shapes.add_table(3, 3, *SIZE).table
        for r, row in enumerate([["Drug", "Form", "Dose"], ["A", "tablet", "5 mg"], ["", "drops", "2 ml"]]):
            for c, text in enumerate(row):
                table.cell(r, c).text = text
        table.cell(1, 0).merge(table.cell(2, 0))

    document = parse(tmp_path, build)
    assert shown(document) == [
        (1, "title", "Doses"),
        (1, "list_item", "first"),
        (1, "list_item", "second"),
        (1, "paragraph", "In a group"),
        (1, "paragraph", "Say it slowly."),
        (
            2,
            "table",
            "Drug | Form | Dose\nDrug: A | Form: tablet | Dose: 5 mg\nDrug: A | Form: drops | Dose: 2 ml",
        ),
    ]
    assert document.page_count == 2
    assert [w.code for w in document.warnings] == ["hidden_slide"]


def test_a_chart_is_the_table_of_its_data(tmp_path: Path) -> None:
    def build(presentation: Presentation) -> None:
        data = CategoryChartData()
        data.categories = ["2023", "2024"]
        data.add_series("Beds", (10, 12.5))
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *SIZE, data)

    assert parse(tmp_path, build).text == ("Category | Beds\nCategory: 2023 | Beds: 10\nCategory: 2024 | Beds: 12.5")


def test_no_text_and_no_presentation_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NoContent):
        parse(tmp_path, lambda presentation: presentation.slides.add_slide(presentation.slide_layouts[6]))
    path = tmp_path / "b.pptx"
    path.write_bytes(b"PK\x05\x06" + bytes(18))
    with pytest.raises(DamagedFile):
        parser.parse(path, path.name)


def test_boxes_that_touch_are_cells_of_a_table() -> None:
    def box(left: int, top: int, text: str, width: int = 100, height: int = 20) -> TextBox:
        return TextBox(left, top, width, height, text)

    table = [box(0, 0, "Head", width=200), box(0, 20, "a", height=40), box(100, 20, "b"), box(100, 40, "c")]
    apart = box(500, 300, "apart")
    assert [len(group) for group in grids([table[0], apart, *table[1:]])] == [4, 1]
    assert table_rows(table) == [["Head", LEFT], ["a", "b"], [ABOVE, "c"]]
    assert table_rows([box(0, 0, "a"), box(100, 0, "b"), box(200, 0, "c"), box(300, 0, "d")]) is None
