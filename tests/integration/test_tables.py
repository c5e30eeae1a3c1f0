"""Tables as people name and fill them, from the upload to SQL: each under a name of its own, with every value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from by_http import put, put_all
from fastapi.testclient import TestClient
from workbooks import Raw, write_workbook

from foundation.stores import Stores

RunJob = Callable[..., Any]


def sql(client: TestClient, statement: str, engine: str = "postgres") -> list[list[Any]]:
    response = client.post("/sql", json={"statement": statement, "engine": engine})
    assert response.status_code == 200, response.text
    rows: list[list[Any]] = response.json()["rows"]
    return rows


def tables(client: TestClient) -> dict[str, dict[str, Any]]:
    """file name (and sheet) → table"""
    items = client.get("/tables").json()["items"]
    return {" ".join(filter(None, (item["file_name"], item["sheet"]))): item for item in items}


def test_every_name_gets_a_table_that_answers_under_it(client: TestClient, run_job: RunJob) -> None:
    long = "a very long name " * 12
    names = [
        "a-b.csv",
        "a_b.csv",
        "A B.csv",
        "select.csv",
        "order.csv",
        "pg_class.csv",
        "information_schema.csv",
        "documents.csv",
        "duckdb_tables.csv",
        "患者.csv",
        "Пациенты.csv",
        "2024.csv",
        "!!!.csv",
        f"{long[:190]}x.csv",
        f"{long[:190]}y.csv",
    ]
    put_all(client, *((name, f"id,value\n{number},v{number}\n".encode()) for number, name in enumerate(names)))
    assert run_job("ingest", scope="pending").success
    found = tables(client)
    assert set(found) == set(names)
    assert len({table["name"] for table in found.values()}) == len(names)
    for number, name in enumerate(names):
        table = found[name]
        assert len(table["name"].encode()) <= 60
        assert table["label"] == name.removesuffix(".csv")
        for engine in ("postgres", "warehouse"):
            assert sql(client, f'select id, value from "{table["name"]}"', engine) == [[number, f"v{number}"]], name
    assert (found["a-b.csv"]["name"], found["a_b.csv"]["name"], found["A B.csv"]["name"]) == ("a_b", "a_b_2", "a_b_3")
    assert sql(client, "select id from a_b union all select id from a_b_2 order by 1") == [[0], [1]]


def test_columns_of_any_name_work_and_keep_their_labels(client: TestClient, run_job: RunJob) -> None:
    header = ["id", "id", "select", "ctid", "größe", "番号", "", "x" * 200, "x" * 199 + "y", "Fee (USD)", "1st"]
    put(client, "odd.csv", (",".join(header) + "\n" + ",".join(f"v{i}" for i in range(11)) + "\n").encode())
    assert run_job("ingest", scope="pending").success
    [table] = client.get("/tables").json()["items"]
    columns = table["columns"]
    assert [column["label"] for column in columns] == [label or "column_7" for label in header]
    assert len({column["name"] for column in columns}) == 11
    for engine in ("postgres", "warehouse"):
        for number, column in enumerate(columns):
            assert sql(client, f'select "{column["name"]}" from odd', engine) == [[f"v{number}"]]
    assert columns[0]["samples"] == ["v0"]


def test_values_come_as_they_stand_in_the_file(client: TestClient, run_job: RunJob, tmp_path: Path) -> None:
    bom = "\ufeffcode;routing;dose;price;seen\n0010;021000021;5 mg;1.234,50;31.12.2024\n"
    bom += "0011;021000089;2 ml;0,99;01.02.2025\n"
    ragged = b'ward,beds\nA,1\nB\nC,3,extra\n"D,4\nE,5\n'
    formulas = [["item", "cost", "total"], ["a", 2, Raw("><f>B2*2</f><v>4</v>")], ["b", 3, Raw('t="e"><v>#DIV/0!</v>')]]
    book = write_workbook(tmp_path / "book.xlsx", {"Costs": formulas, "Notes": [["n"], [9007199254740993]]})
    put_all(client, ("bom.csv", bom.encode()), ("ragged.csv", ragged), ("book.xlsx", book.read_bytes()))
    assert run_job("ingest", scope="pending").success
    for engine in ("postgres", "warehouse"):
        found = sql(client, "select code, routing, dose, price, cast(seen as text) from bom order by code", engine)
        assert found == [
            ["0010", "021000021", "5 mg", 1234.5, "2024-12-31"],
            ["0011", "021000089", "2 ml", 0.99, "2025-02-01"],
        ]
        assert sql(client, "select item, total from book_costs order by item", engine) == [["a", 4], ["b", None]]
        assert sql(client, "select ward, beds from ragged order by beds nulls last", engine) == [
            ["A", 1],
            ['"D', 4],
            ["E", 5],
            ["B", None],
        ]
        irregular = "select line, in_table, text from ragged_irregular_rows order by line"
        assert sql(client, irregular, engine) == [[3, True, "B"], [4, False, "C,3,extra"], [5, True, '"""D",4']]
    rejects = client.get("/tables/ragged_irregular_rows").json()
    assert rejects["rejects"] is True
    assert rejects["link"]["rows_file"] == 3
    documents = client.get("/documents", params={"q": "ragged"}).json()["items"]
    assert {(w["code"], w["row"]) for w in documents[0]["warnings"]} == {
        ("short_row", 3),
        ("long_row", 4),
        ("quote_damaged", 5),
    }
    answer = client.post("/ask", json={"question": "How many beds are there in total in ragged?"}).json()
    assert [table for entry in answer["sql"] for table in entry["tables"]] == ["ragged"], answer["text"]


def test_a_table_that_is_parsed_otherwise_at_a_reindex_shows_and_what_is_gone_goes(
    client: TestClient, run_job: RunJob, stores: Stores
) -> None:
    put(client, "ragged.csv", b"ward,beds\nA,1\nB\n")
    assert run_job("ingest", scope="pending").success
    with stores.engine.begin() as connection:  # as a parser of before had left it: a table more, and one less
        connection.exec_driver_sql("delete from askline.datasets where ordinal = 1")
        connection.exec_driver_sql(
            "insert into askline.datasets (dataset_id, version_id, ordinal, kind, label, row_count, parquet_key, "
            "postgres_table) select 'dst_gone', version_id, 7, kind, label, row_count, 'none', 't_gone' "
            "from askline.datasets where ordinal = 0"
        )
    assert {table["name"] for table in client.get("/tables").json()["items"]} == {"ragged"}
    assert run_job("reindex", tags={"askline/force": "true"}).success
    assert {table["name"] for table in client.get("/tables").json()["items"]} == {"ragged", "ragged_irregular_rows"}
    assert sql(client, "select line from ragged_irregular_rows") == [[3]]
