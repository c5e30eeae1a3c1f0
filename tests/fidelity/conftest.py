"""Files read as an ingest reads them: judged by content, parsed in a limited worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from expected import Reading

from foundation.errors import AsklineError
from foundation.media_type import HEAD, check_upload, detect_file
from foundation.settings import ParsingSettings
from pipelines.parsing.dispatch import parse_document
from pipelines.parsing.members import UnpackLimits
from pipelines.parsing.workers import ParserPool


@pytest.fixture(scope="session")
def documents(shared_data: Path) -> Path:
    return shared_data / "documents"


@pytest.fixture(scope="session")
def parser_pool() -> Iterator[ParserPool]:
    limits = ParsingSettings()
    with ParserPool(limits.workers, limits.memory_mb, limits.timeout_s, limits.max_text_mb) as pool:
        yield pool


@pytest.fixture
def read_document(parser_pool: ParserPool, tmp_path: Path) -> Callable[[Path], Reading]:
    """The upload's check, then the parser in a worker; members are unpacked into a folder of the test."""

    def read(path: Path) -> Reading:
        try:
            with path.open("rb") as file:
                check_upload(file.read(HEAD), path.stat().st_size, path.name)
            kind = detect_file(path, path.name).kind
            parsed = parser_pool.parse(parse_document, path, path.name, kind, tmp_path / path.name, UnpackLimits())
        except AsklineError as error:
            assert error.message, path.name
            assert error.fix, path.name
            return Reading(refused=error.code)
        members = tuple(member.path for member in parsed.members)
        return Reading(parsed.text, tuple(warning.code for warning in parsed.warnings), members=members)

    return read
