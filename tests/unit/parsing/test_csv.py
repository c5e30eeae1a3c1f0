"""CSV files: every delimiter, encoding and damage ends in the right rows or in an error that names the line."""

from __future__ import annotations

import json
import subprocess
import sys
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from foundation.errors import DamagedFile, EmptyFile, ResourceLimit
from foundation.types import ParsedTable, ParsedWorkbook
from pipelines.parsing.csv_arrow import LARGE
from pipelines.parsing.csv_file import parse_csv
from pipelines.parsing.tables import iter_rows


@pytest.fixture
def parse(tmp_path: Path) -> Any:
    def run(content: bytes | str, **limits: int) -> ParsedWorkbook:
        path = tmp_path / "landed"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return parse_csv(path, "visits.csv", tmp_path, **limits)

    return run


def rows(table: ParsedTable) -> list[tuple[Any, ...]]:
    found = list(iter_rows(table.parquet_path, table.columns))
    assert len(found) == table.row_count
    return found


def test_a_table_is_typed_named_and_profiled(parse: Any) -> None:
    text = "Id,Start,Cost,Zip,Note\n1,2024-01-31T09:30:00Z,10.50,08123,\n2,2024-02-01T00:00:00Z,7,77010,a\n"
    [table] = parse(text).tables
    assert (table.label, table.sheet, table.row_count, table.ordinal) == ("", None, 2, 0)
    assert [(c.name, c.label, c.type) for c in table.columns] == [
        ("id", "Id", "bigint"),
        ("start", "Start", "timestamp"),
        ("cost", "Cost", "decimal"),
        ("zip", "Zip", "text"),
        ("note", "Note", "text"),
    ]
    assert rows(table)[0] == (1, datetime.fromisoformat("2024-01-31 09:30:00"), Decimal("10.50"), "08123", None)
    cost, note = table.columns[2], table.columns[4]
    assert (cost.precision, cost.scale, cost.minimum, cost.maximum) == (4, 2, "7.00", "10.50")
    assert (note.nulls, note.distinct, note.samples) == (1, 1, ("a",))


def test_samples_are_the_most_frequent_values_and_distinct_values_are_exact_up_to_a_thousand(parse: Any) -> None:
    lines = [f"{i},{i % 1_000},{'b' if i % 3 else 'a'}" for i in range(1_001)]
    many, thousand, few = parse("\n".join(["x,y,z", *lines])).tables[0].columns
    assert (many.distinct, len(many.samples)) == (None, 5)
    assert (thousand.distinct, len(thousand.samples), thousand.samples[0]) == (1_000, 50, "0")
    assert (few.distinct, few.samples) == (2, ("b", "a"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_where_cells_hold_the_other_ones(parse: Any, delimiter: str) -> None:
    cells = [["name", "note", "amount"], ["Ann", "a,b;c|d", "1"], ["Bob", "x", "2"]]
    text = "\n".join(delimiter.join(f'"{c}"' if delimiter in c else c for c in row) for row in cells)
    assert rows(parse(text).tables[0]) == [("Ann", "a,b;c|d", 1), ("Bob", "x", 2)]


def test_semicolons_with_decimal_commas_are_not_read_as_commas(parse: Any) -> None:
    [table] = parse("name;price\nA;1,50\nB;12,25\n").tables
    assert rows(table) == [("A", Decimal("1.50")), ("B", Decimal("12.25"))]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_quotes_hold_delimiters_line_ends_and_doubled_quotes(parse: Any, end: str) -> None:
    text = f'a,b{end}"one, two","he said ""no""{end}twice"{end}x,y{end}'
    assert rows(parse(text).tables[0]) == [("one, two", f'he said "no"{end}twice'), ("x", "y")]


def test_quotes_escaped_with_a_backslash_and_spaces_before_quotes_are_understood(parse: Any) -> None:
    assert rows(parse('a,b\n"say \\"no\\", then go",1\n"x",2\n').tables[0]) == [('say "no", then go', 1), ("x", 2)]
    assert rows(parse('a, b\n1, "x, y"\n2, "z"\n').tables[0]) == [(1, "x, y"), (2, "z")]
    assert rows(parse('a,b\n"C:\\dir\\",1\n').tables[0]) == [("C:\\dir\\", 1)]


def test_excels_sep_line_names_the_delimiter_and_is_no_row(parse: Any) -> None:
    workbook = parse("sep=;\na;b\n1;x,y\n2\n")
    assert rows(workbook.tables[0]) == [(1, "x,y"), (2, None)]
    assert [w.row for w in workbook.warnings] == [4]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_encodings_are_found(parse: Any, encoding: str) -> None:
    text = "Name,Größe\nJosé Müller,5 µg\nZoë Çelik,10 µg\nAnn,7 µg\n"
    [table] = parse(text.encode(encoding)).tables
    assert table.columns[1].label == "Größe"
    assert rows(table)[0] == ("José Müller", "5 µg")


def test_an_encoding_that_shows_only_late_in_the_file_is_found_and_told(parse: Any) -> None:
    text = "a,b\n" + "plain,1\n" * 50_000 + "Café Müller,2\n"
    workbook = parse(text.encode("cp1252"))
    assert rows(workbook.tables[0])[-1] == ("Café Müller", 2)
    assert [w.code for w in workbook.warnings] == ["encoding_guessed"]


def test_a_broken_byte_in_utf8_text_is_told_with_its_line(parse: Any) -> None:
    workbook = parse(b"a,b\n" + "Müller,1\n".encode() * 5 + b"X\xff,2\n")
    assert rows(workbook.tables[0])[-2:] == [("Müller", 1), ("X\ufffd", 2)]
    assert [(w.code, w.row) for w in workbook.warnings] == [("encoding_damaged", 7)]


def test_a_utf16_file_that_is_cut_inside_a_character_keeps_its_rows(parse: Any) -> None:
    workbook = parse("a,b\n1,x\n2,yz".encode("utf-16")[:-1])
    assert rows(workbook.tables[0]) == [(1, "x"), (2, "y\ufffd")]
    assert [w.code for w in workbook.warnings] == ["encoding_damaged"]


def test_short_rows_are_padded_named_by_line_up_to_twenty_and_listed_all(parse: Any) -> None:
    workbook = parse('a,b,c\n1,"x\ny",3\n' + "1,2\n" * 25)
    table, rejects = workbook.tables
    assert table.row_count == 26 and rows(table)[-1] == (1, "2", None)
    assert [w.row for w in workbook.warnings[:20]] == list(range(4, 24))
    assert len(workbook.warnings) == 21 and workbook.warnings[20].message.startswith("5 more")
    assert [row[0] for row in rows(rejects)] == list(range(4, 29))


def test_a_row_with_surplus_fields_is_kept_with_its_line_beside_the_table(parse: Any) -> None:
    workbook = parse('a,b\n1,"x\ny"\n2,z\n3,Smith, John\n4,w\n5,"u,v",w\n')
    table, rejects = workbook.tables
    assert rows(table) == [(1, "x\ny"), (2, "z"), (4, "w")]
    assert (table.rejects, rejects.rejects, rejects.ordinal, rejects.label) == (False, True, 1, "Irregular rows")
    reason = "3 fields where the header has 2"
    assert rows(rejects) == [(5, reason, False, "3,Smith, John"), (7, reason, False, '5,"u,v",w')]
    assert [(w.code, w.row) for w in workbook.warnings] == [("long_row", 5), ("long_row", 7)]


def test_surplus_fields_without_a_value_and_a_header_that_is_too_short_lose_nothing(parse: Any) -> None:
    assert rows(parse("a,b\n1,2,\n3,4\n").tables[0]) == [(1, 2), (3, 4)]
    workbook = parse("a,b\n1,2,x\n3,4,y\n")
    assert [c.name for c in workbook.tables[0].columns] == ["a", "b", "column_3"]
    assert workbook.warnings[0].code == "short_header"


def test_a_broken_quote_costs_its_own_line_and_no_other(parse: Any) -> None:
    workbook = parse('a,b\n1,x\n2,"y\n3,z\n"4"5,w\n6,"v ""q"" v"\n')
    table, rejects = workbook.tables
    assert rows(table) == [(1, "x"), (2, '"y'), (3, "z"), (45, "w"), (6, 'v "q" v')]
    assert [(row[0], row[2]) for row in rows(rejects)] == [(3, True), (5, True)]
    assert [(w.code, w.row) for w in workbook.warnings] == [("quote_damaged", 3), ("quote_damaged", 5)]
    long = parse('a,b\n2,"y\n' + "3,z\n" * 1_000, max_cell_chars=500)
    assert (long.tables[0].row_count, long.tables[1].row_count) == (1_001, 1)


def test_a_large_file_gives_the_same_by_either_reader(tmp_path: Path) -> None:
    lines = [f'{i},"note {i}, with ""quotes"" and\na line",{i % 7 or ""},0{i % 10},{i}.5' for i in range(40_000)]
    whole = "\ufeffSome title\nid,note,week,code,amount\n" + "\n".join(lines) + "\n"
    found = []
    for name, extra in (("regular", ""), ("ragged", "1,2,3,4,5,6\n")):
        path = tmp_path / name
        path.write_text(whole + extra, newline="")
        assert path.stat().st_size > LARGE
        (tmp_path / f"{name}.out").mkdir()
        workbook = parse_csv(path, "visits.csv", tmp_path / f"{name}.out")
        assert len(workbook.tables) == (2 if extra else 1)
        found.append((workbook.tables[0].label, workbook.tables[0].columns, rows(workbook.tables[0])))
    assert found[0] == found[1]
    assert len(found[0][2]) == 40_000 and found[0][2][7] == (7, 'note 7, with "quotes" and\na line', None, "07", 7.5)


def test_a_cell_above_the_limit_fails_with_its_line(parse: Any) -> None:
    with pytest.raises(ResourceLimit, match="line 3: a cell has more than 100 characters"):
        parse("a,b\n1,x\n2," + "y" * 101, max_cell_chars=100)


def test_too_many_columns_fail(parse: Any) -> None:
    with pytest.raises(ResourceLimit, match="2,000 columns"):
        parse(",".join(f"c{i}" for i in range(2_000)) + "\n")


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf", b",,\n,,\n"])
def test_a_file_without_any_value_is_empty(parse: Any, content: bytes) -> None:
    with pytest.raises(EmptyFile, match=r"visits\.csv"):
        parse(content)


def test_binary_data_is_no_table(parse: Any) -> None:
    with pytest.raises(DamagedFile, match="binary"):
        parse(bytes(range(256)) * 10)


def test_a_header_alone_is_a_table_without_rows(parse: Any) -> None:
    [table] = parse("a,b\n").tables
    assert (table.row_count, [c.name for c in table.columns], rows(table)) == (0, ["a", "b"], [])


def test_title_rows_name_the_table_and_a_header_with_one_label_is_no_title(parse: Any) -> None:
    workbook = parse("Stanley Cups,,\nTeam,Location,Cups\nBlues,STL,1\n")
    assert (workbook.tables[0].label, rows(workbook.tables[0])) == ("Stanley Cups", [("Blues", "STL", 1)])
    assert workbook.warnings[0].code == "title_row"
    assert rows(parse("name,\nx,1\ny,2\n").tables[0]) == [("x", 1), ("y", 2)]


def test_blank_lines_are_no_rows_but_rows_of_empty_cells_are(parse: Any) -> None:
    assert rows(parse("a,b\n\n1,2\n   \n,\n3,4\n\n").tables[0]) == [(1, 2), (None, None), (3, 4)]


def test_a_column_without_label_and_value_is_left_out(parse: Any) -> None:
    [table] = parse("a,,b,\n1,,2,\n3,,4,\n").tables
    assert [c.name for c in table.columns] == ["a", "b"] and rows(table) == [(1, 2), (3, 4)]


def test_nul_characters_which_no_database_stores_are_left_out(parse: Any) -> None:
    workbook = parse(b"a,b,c\n\0,2,x\0y\n")
    assert rows(workbook.tables[0]) == [(None, 2, "xy")]
    assert workbook.warnings[0].code == "control_characters"


def test_rows_keep_their_order_over_many_batches_and_late_evidence_changes_the_type(parse: Any) -> None:
    count = 50_000
    text = "n,d\n" + "".join(f"{i},2024-01-01\n" for i in range(count)) + "x,2024-13-01\n"
    [table] = parse(text).tables
    assert [c.type for c in table.columns] == ["text", "text"]
    assert rows(table)[0] == ("0", "2024-01-01") and rows(table)[-2] == (str(count - 1), "2024-01-01")


def test_nothing_but_the_tables_stays_in_the_output_folder(parse: Any, tmp_path: Path) -> None:
    parse("a,b\n1,2\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["landed", "table_0.parquet"]


@pytest.mark.slow
def test_memory_does_not_grow_with_rows(tmp_path: Path) -> None:
    path = tmp_path / "big.csv"
    with path.open("w") as file:
        file.write(",".join(f"c{i}" for i in range(12)) + "\n")
        for i in range(1_000_000):
            file.write(f"{i},{i % 7}.25,2024-01-31T09:30:00Z,true,note {i},{i * 7919},x,y,z,0{i},{i / 7},\n")
    code = (
        "import sys, resource; from pipelines.parsing.csv_file import parse_csv;"
        f"w = parse_csv({str(path)!r}, 'big.csv', {str(tmp_path)!r}); assert w.tables[0].row_count == 1_000_000;"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peak = int(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    megabytes = peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
    assert megabytes < 600


def expectations(shared_data: Path, folder: str) -> list[dict[str, Any]]:
    lines = (shared_data / "documents" / "EXPECTED_dev.jsonl").read_text().splitlines()
    return [case for case in map(json.loads, lines) if case["file"].startswith(folder)]


def test_real_files_keep_what_their_expectations_name(shared_data: Path, tmp_path: Path) -> None:
    cases = expectations(shared_data, "csv/")
    assert cases
    for case in cases:
        path = shared_data / "documents" / case["file"]
        workbook = parse_csv(path, path.name, tmp_path)
        shown = [cell for t in workbook.tables for row in rows(t) for cell in row]
        shown += [text for t in workbook.tables for text in (t.label, *(c.label for c in t.columns))]
        text = unicodedata.normalize("NFKC", "\n".join(str(value) for value in shown))
        missing = [needle for needle in case["must_contain"] if unicodedata.normalize("NFKC", needle) not in text]
        assert not missing, case["file"]


def test_dates_and_codes_of_real_synthea_files_get_their_types(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "text_to_sql" / "synthea_csv" / "encounters.csv"
    [table] = parse_csv(path, path.name, tmp_path).tables
    types = {c.name: c.type for c in table.columns}
    assert types["start"] == "timestamp" and types["total_claim_cost"] == "decimal" and types["id"] == "text"
    birthdates = parse_csv(path.with_name("patients.csv"), "patients.csv", tmp_path).tables[0]
    assert all(isinstance(row[1], date) for row in rows(birthdates))
