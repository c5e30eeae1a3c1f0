"""Every error that is raised names the file or field it is about, and its fix can be done."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from foundation import errors
from foundation.errors import AsklineError
from foundation.types import Stage
from pipelines.batch import _reason

ROOT = Path(__file__).parents[3]
CLASSES = {name: kind for name, kind in vars(errors).items() if isinstance(kind, type)}
SETTING = re.compile(r"ASKLINE_[A-Z_]+")


class Raised:
    """One `raise Kind(message, fix=…)` of the sources; `message` with {name} where a value is filled in."""

    def __init__(self, path: Path, call: ast.Call) -> None:
        self.where = f"{path.relative_to(ROOT)}:{call.lineno}"
        self.kind = CLASSES[getattr(call.func, "id", "")]
        self.message = _text(call.args[0])
        given = next((keyword.value for keyword in call.keywords if keyword.arg == "fix"), None)
        self.own_fix = None if given is None else _text(given)


def _text(node: ast.expr) -> str:
    """The text that is written there; a name or call that gives it stands as {…}."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    if isinstance(node, ast.BinOp):
        return _text(node.left) + _text(node.right)
    return "{" + ast.unparse(node) + "}"


def _raised() -> Iterator[Raised]:
    for folder in ("foundation", "pipelines", "query_service", "cli"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "contracts" in path.parts or path.name == "errors.py":
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") in CLASSES and node.args:
                    yield Raised(path, node)


RAISED = [raised for raised in _raised() if issubclass(raised.kind, AsklineError)]


def test_the_sources_were_found() -> None:
    assert len(RAISED) > 100
    assert {raised.kind.__name__ for raised in RAISED} >= {"ResourceLimit", "NotFound", "InvalidInput", "Unavailable"}


@pytest.mark.parametrize("kind", [k for k in CLASSES.values() if issubclass(k, AsklineError)])
def test_the_fix_of_a_class_holds_for_whatever_is_raised_of_it(kind: type[AsklineError]) -> None:
    assert kind.fix.endswith((".", "…", '"'))
    for_the_message = "that the message names" in kind.fix or "named" in kind.fix
    unnamed = [r.where for r in RAISED if r.kind is kind and r.own_fix is None and not _names_something(r.message)]
    assert not for_the_message or unnamed == [], kind.fix


def _names_something(message: str) -> bool:
    """A field (`limit: …`, `{field}: …`) or a setting."""
    composed = message.startswith("{") and message.endswith("}")  # where it is put together, each part names its field
    return bool(SETTING.search(message) or composed or re.match(r"(?:[\w.]+|(?:\{[^}]+\})+):? ", message))


def test_a_message_that_names_a_limit_of_the_settings_has_the_setting_in_its_fix() -> None:
    failures = [r for r in RAISED if issubclass(r.kind, errors.ProcessingFailed) and SETTING.search(r.message)]
    assert [r.where for r in failures if not SETTING.search(r.own_fix or "")] == []


def test_what_fails_a_file_names_the_file_whatever_the_parser_said() -> None:
    version = SimpleNamespace(file_name="a.pdf")
    for error in (
        errors.DamagedFile("Its body is cut off."),
        RuntimeError("secret"),
        errors.EmptyFile("a.pdf is empty."),
    ):
        reason = _reason(error, version, Stage.PARSED_TEXT)  # type: ignore[arg-type]  # only the name is read
        assert "a.pdf" in reason.message
        assert "secret" not in reason.message


def test_not_found_sends_nobody_to_a_list_of_other_things() -> None:
    of_users = [r for r in RAISED if r.where.startswith(("foundation/registry", "query_service"))]
    plain = [r for r in of_users if r.kind is errors.NotFound and r.own_fix is None]
    assert [r.where for r in plain if "document" not in r.message] == []
