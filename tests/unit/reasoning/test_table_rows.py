"""Rows of tables inside documents: as bars, as Markdown, and where each row names its columns."""

from __future__ import annotations

import pytest

from query_service.reasoning.table_rows import Row, Table, cells_of

BARS = ["Vessel | Crew | Built", "Gannet | 9 | 1998", "Dunlin |  | 2021"]
MARKDOWN = ["| Vessel | Crew | Built |", "|---|---|---|", "| Gannet | 9 | 1998 |", "| Dunlin |  | 2021 |"]
NAMED = ["Vessel | Crew | Built", "Vessel: Gannet | Crew: 9 | Built: 1998", "Vessel: Dunlin | Built: 2021"]


def rows(lines: list[str], section: str | None = None) -> list[Row]:
    table = Table(section)
    return [row for line in lines if (row := table.read(line, adjoins=True)) is not None]


@pytest.mark.parametrize("lines", [BARS, MARKDOWN, NAMED])
def test_a_row_stands_under_its_header_however_it_is_written(lines: list[str]) -> None:
    gannet, dunlin = rows(lines)
    assert (gannet.header, gannet.cells) == (("Vessel", "Crew", "Built"), ("Gannet", "9", "1998"))
    assert dunlin.cells == ("Dunlin", "", "2021")


def test_a_passage_that_starts_inside_a_table_has_the_header_in_its_section() -> None:
    (row,) = rows(["Gannet | 9 | 1998"], "Fleet > Vessel | Crew | Built")
    assert row.named([1]) == "Crew: 9"


def test_text_with_another_number_of_cells_is_no_row() -> None:
    assert rows(["Vessel | Crew", "A sentence.", "Gannet | 9"]) == []
    assert cells_of("no bars here") == ()


def test_the_column_is_the_one_that_the_question_names_and_an_empty_cell_is_no_answer() -> None:
    gannet, dunlin = rows(BARS)

    def crew(header: str) -> float:
        return float(header == "Crew")

    assert gannet.asked("number", crew) == ((1,), True)
    assert dunlin.asked("number", crew) == ((), True)


def test_a_column_of_another_kind_does_not_answer() -> None:
    (row,) = rows(["Station | Blankets", "Ridge | 11"])
    assert row.asked("phone", lambda _: 1.0) == ((), False)


def test_a_cell_without_the_value_answers_in_a_column_of_such_values() -> None:
    _, card = rows(["Ticket | Child fare", "Single | EUR 3.20", "Season card | not sold"])
    assert card.asked("money", lambda _: 1.0) == ((1,), True)
