from importlib import import_module

from pipelines.parsing.dispatch import MODULES, PARSERS


def test_the_listed_version_is_the_one_that_each_parser_writes() -> None:
    found = {kind: import_module(f"pipelines.parsing.{MODULES.get(kind, kind)}").PARSER for kind in PARSERS}
    assert found == PARSERS
