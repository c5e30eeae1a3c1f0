from importlib import import_module

from pipelines.parsing.dispatch import PARSERS

MODULES = {"pdf": "pdf", "docx": "docx", "text": "text", "csv": "csv_file", "xlsx": "xlsx_file"}


def test_the_listed_version_is_the_one_that_each_parser_writes() -> None:
    found = {kind: import_module(f"pipelines.parsing.{module}").PARSER for kind, module in MODULES.items()}
    assert found == PARSERS
