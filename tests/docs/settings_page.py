"""The tables of docs/settings.md, from the settings tree. `python tests/docs/settings_page.py` writes them anew."""

from __future__ import annotations

import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from foundation.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"
BEGIN, END = "<!-- written by tests/docs/settings_page.py: begin -->", "<!-- end -->"
PREFIX = str(Settings.model_config["env_prefix"])
DELIMITER = str(Settings.model_config["env_nested_delimiter"])

_NAMES: dict[Any, str] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "true or false",
    Path: "path",
    SecretStr: "text, secret",
}


def settings() -> Iterator[tuple[str, str, FieldInfo]]:
    """(group, environment name, field) of every setting, in the order of the code; the group '' is the top."""
    for name, field in Settings.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            for inner, inner_field in kind.model_fields.items():
                yield name, f"{PREFIX}{name}{DELIMITER}{inner}".upper(), inner_field
        else:
            yield "", f"{PREFIX}{name}".upper(), field


def names() -> set[str]:
    return {name for _, name, _ in settings()}


def rendered() -> str:
    """A heading a group, under it a table: environment name, type, default, meaning."""
    lines: list[str] = []
    before = None
    for group, name, field in settings():
        if group != before:
            lines += ["", f"## {group.capitalize() or 'General'}", "", "| name | type | default | meaning |"]
            lines += ["|---|---|---|---|"]
            before = group
        lines.append(f"| `{name}` | {_kind(field)} | {_default(field)} | {field.description} |")
    return "\n".join([*lines, ""])


def _kind(field: FieldInfo) -> str:
    bounds = [str(bound) for bound in map(_bound, field.metadata) if bound]
    return ", ".join([_name(field.annotation), *bounds])


def _name(kind: Any) -> str:
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in args)
    if origin in (Union, types.UnionType):
        return " or ".join(_name(arg) for arg in args if arg is not type(None))
    if origin is tuple:
        return "list, comma-separated"
    return _NAMES[kind]


def _bound(constraint: Any) -> str | None:
    for attribute, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<")):
        if hasattr(constraint, attribute):
            return f"{sign} {getattr(constraint, attribute)}"
    return None


def _default(field: FieldInfo) -> str:
    value = field.default
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{','.join(value)}`" if isinstance(value, tuple) else f"`{value}`"


def replaced(page: str) -> str:
    """The page with fresh tables between the two marks."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{rendered()}\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
