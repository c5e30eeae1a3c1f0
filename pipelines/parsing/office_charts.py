"""What a chart or a diagram of an office file says: its data as a table, its texts as lines."""

from __future__ import annotations

from typing import Any

from docx.oxml import parse_xml

from pipelines.parsing.assembly import clean
from pipelines.parsing.table_lines import table_text

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_MOST_POINTS = 1000


def chart_text(data: bytes) -> str:
    """The titles of a chart part and its stored values, a row a category; empty for none of both."""
    root = parse_xml(data)
    titles = [drawing_text(title) for title in root.iter(_CHART + "title")]
    rows = _rows(root)
    lines = [title for title in titles if title]
    if rows:
        lines.append(table_text(rows, header=1))
    return "\n".join(lines)


def diagram_text(data: bytes) -> list[str]:
    """The texts of a SmartArt's data part, one a shape."""
    points = (clean(drawing_text(point)).strip() for point in parse_xml(data).iter() if point.tag.endswith("}pt"))
    return [text for text in points if text]


def drawing_text(element: Any) -> str:
    """The text runs of DrawingML inside the element, its paragraphs as one line."""
    paragraphs = ("".join(t.text or "" for t in p.iter(_DRAWING + "t")) for p in element.iter(_DRAWING + "p"))
    return clean(" ".join(" ".join(paragraph.split()) for paragraph in paragraphs if paragraph.strip()))


def _rows(root: Any) -> list[list[str]]:
    series = list(root.iter(_CHART + "ser"))
    if not series:
        return []
    names, columns, categories = [], [], dict[int, str]()
    for number, one in enumerate(series, 1):
        names.append(" ".join(_points(one.find(_CHART + "tx")).values()) or f"Series {number}")
        found = one.find(_CHART + "cat")
        categories |= _points(found if found is not None else one.find(_CHART + "xVal"))
        values = one.find(_CHART + "val")
        columns.append(_points(values if values is not None else one.find(_CHART + "yVal")))
    places = sorted({place for column in (categories, *columns) for place in column})[:_MOST_POINTS]
    rows = [[categories.get(at, ""), *(column.get(at, "") for column in columns)] for at in places]
    return [["Category", *names], *rows] if rows else []


def _points(element: Any) -> dict[int, str]:
    """Place → stored value."""
    if element is None:
        return {}
    found: dict[int, str] = {}
    for point in element.iter(_CHART + "pt"):
        value = point.find(_CHART + "v")
        if value is not None and value.text:
            index = point.get("idx", "")
            found[int(index) if index.isdigit() else len(found)] = _value(clean(value.text).strip())
    return found


def _value(text: str) -> str:
    """A stored number to the 15 digits that office programs show; other text as it is."""
    try:
        return f"{float(text):.15g}" if "." in text else text
    except ValueError:
        return text
