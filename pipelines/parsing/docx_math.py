"""Office Math (OMML) as one line of text, as one would type it: (a+b)/2, x^2, √(x), ∑_(k=0)^n."""

from __future__ import annotations

from typing import Any

from pipelines.parsing.docx_styles import local_name

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"


def math_text(element: Any) -> str:
    """The text of an `m:oMath` or of anything inside one."""
    match local_name(element):
        case "t":
            return element.text or ""
        case "f":
            return f"{_group(_part(element, 'num'))}/{_group(_part(element, 'den'))}"
        case "sSup":
            return f"{_part(element, 'e')}^{_group(_part(element, 'sup'))}"
        case "sSub":
            return f"{_part(element, 'e')}_{_group(_part(element, 'sub'))}"
        case "sSubSup":
            return _scripts(_part(element, "e"), element)
        case "sPre":
            return _scripts("", element) + _part(element, "e")
        case "rad":
            degree = _part(element, "deg")
            return f"{degree and '^' + _group(degree)}√({_part(element, 'e')})"
        case "nary":
            sign = _property(element, "naryPr", "chr")
            return _scripts("∫" if sign is None else sign, element) + " " + _part(element, "e")
        case "d":
            opening, closing = (_property(element, "dPr", name) for name in ("begChr", "endChr"))
            inner = ", ".join(_inside(part) for part in element.findall(_MATH + "e"))
            return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"
        case "limLow" | "limUpp":
            return f"{_part(element, 'e')}_{_group(_part(element, 'lim'))} "
        case "m":
            rows = (
                ", ".join(_inside(cell) for cell in row.findall(_MATH + "e")) for row in element.findall(_MATH + "mr")
            )
            return f"[{'; '.join(rows)}]"
        case "rPr" | "ctrlPr" | "del" | "moveFrom":
            return ""
        case _:
            return _inside(element)


def _inside(element: Any) -> str:
    return "".join(math_text(child) for child in element)


def _part(element: Any, name: str) -> str:
    found = element.find(_MATH + name)
    return _inside(found).strip() if found is not None else ""


def _scripts(base: str, element: Any) -> str:
    below, above = _part(element, "sub"), _part(element, "sup")
    return base + (below and f"_{_group(below)}") + (above and f"^{_group(above)}")


def _property(element: Any, properties: str, name: str) -> str | None:
    found = element.find(f"{_MATH}{properties}/{_MATH}{name}")
    return found.get(_MATH + "val", "") if found is not None else None


def _group(text: str) -> str:
    """In brackets, unless it is one sign, number or word."""
    return text if len(text) <= 1 or text.isalnum() else f"({text})"
