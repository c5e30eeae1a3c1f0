from __future__ import annotations

from pathlib import Path

import pytest
from parsing_checks import assert_exact, kinds

from foundation.errors import DamagedFile, EmptyFile, NoContent
from foundation.types import ParsedDocument
from pipelines.parsing import html


def parse(tmp_path: Path, data: bytes | str) -> ParsedDocument:
    path = tmp_path / "a.html"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    document = html.parse(path, path.name)
    assert_exact(document)
    return document


def test_what_a_reader_sees_in_the_pages_order(tmp_path: Path) -> None:
    document = parse(
        tmp_path,
        "<html><head><title>Ward guide</title><style>p{}</style><script>var evil=1</script></head><body>"
        "<h1>Guide</h1><p>Take <b>5</b>&nbsp;mg<br>daily.<script>evil()</script><!-- no --></p>"
        "<ul><li>one<li>two</ul><ol start=3><li>three<li>four</ol><dl><dt>Fever<dd>above 38</dl>"
        "<pre>a\n  b</pre><p hidden>no</p><p style='display: none'>no</p><noscript>no</noscript>"
        "<img alt='A red pill' src=x><template>no</template></body></html>",
    )
    assert kinds(document) == [
        ("title", "Guide"),
        ("paragraph", "Take 5\u00a0mg\ndaily."),
        ("list_item", "one"),
        ("list_item", "two"),
        ("list_item", "3. three"),
        ("list_item", "4. four"),
        ("paragraph", "Fever\nabove 38"),
        ("paragraph", "a\n  b"),
        ("paragraph", "A red pill"),
    ]
    assert document.title == "Ward guide"


def test_equal_items_of_an_ordered_list_have_their_own_numbers_and_hidden_ones_count(tmp_path: Path) -> None:
    document = parse(tmp_path, "<ol><li>yes<li>no<li>yes<li>last</ol><ol><li>a<li hidden>b<li>a<ol><li>a</ol></ol>")
    assert [text for _, text in kinds(document)] == ["1. yes", "2. no", "3. yes", "4. last", "1. a", "3. a", "1. a"]


def test_a_table_of_data_names_its_cells_and_one_of_layout_is_read_through(tmp_path: Path) -> None:
    document = parse(
        tmp_path,
        "<table><caption>Doses</caption><tr><th>Drug<th>Form"
        "<tr><td rowspan=2>Metformin<td>tablet<tr><td>solution</table>"
        "<table role=presentation><tr><td>left<td>right</table>"
        f"<table><tr><td>menu<td>{'Long prose. ' * 60}</table>",
    )
    assert kinds(document)[:5] == [
        ("paragraph", "Doses"),
        ("table", "Drug | Form\nDrug: Metformin | Form: tablet\nDrug: Metformin | Form: solution"),
        ("paragraph", "left"),
        ("paragraph", "right"),
        ("paragraph", "menu"),
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<meta charset=shift_jis><p>患者の薬</p>".encode("cp932"), "患者の薬"),
        ("<meta http-equiv=Content-Type content='text/html; charset=iso-2022-jp'>薬".encode("iso2022_jp"), "薬"),
        ("<meta charset=utf-8><p>Größe</p>".encode("utf-16"), "Größe"),
        ("<html><p>Größe é</p>".encode("utf-16-le"), "Größe é"),
        ("<meta charset=iso-8859-1><p>5 € “x”</p>".encode("cp1252"), "5 € “x”"),
        ("<meta charset=iso-8859-1><p>Größe</p>".encode(), "Größe"),
        ("<?xml version='1.0' encoding='windows-1251'?><html><p>Анализ</p>".encode("cp1251"), "Анализ"),
    ],
)
def test_the_encoding_is_what_the_bytes_prove_then_what_the_page_says(tmp_path: Path, data: bytes, text: str) -> None:
    assert parse(tmp_path, data).text == text


def test_no_bytes_no_text_and_binary_data_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(EmptyFile):
        parse(tmp_path, b"")
    with pytest.raises(NoContent):
        parse(tmp_path, "<html><script>x</script></html>")
    with pytest.raises(DamagedFile):
        parse(tmp_path, bytes(range(256)) * 40)


def test_deep_nesting_costs_no_stack(tmp_path: Path) -> None:
    assert parse(tmp_path, "<div>" * 5000 + "deep").text == "deep"
    assert parse(tmp_path, "<table><tr><th>" * 3000 + "deep").text == "deep"
