"""Athena: its API over moto's S3 and Glue, its SQL on a real Trino.

Not like Amazon's: the SQL is that of Trino 476, which may know more functions; DESCRIBE, SHOW CREATE TABLE and EXPLAIN
print Trino's shapes; statistics are rough; no Hive DDL, no table properties, no Iceberg, no reuse of results.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Self

from tests.engines.athena.trino import Trino, fetch
from tests.engines.moto import Moto
from tests.engines.processes import REPOSITORY, cache_folder, free_port

__all__ = ["Athena", "fetch"]


class Athena:
    """Both processes. `url` is the endpoint of every AWS service; up inside, as a context manager."""

    def __init__(self, folder: Path, home: Path | None = None) -> None:
        # Each needs the other's address before it starts: Trino's metastore is moto, moto's Athena is Trino.
        port = free_port()
        self.trino = Trino(folder / "trino", home or fetch(cache_folder()), f"http://127.0.0.1:{port}")
        command = [sys.executable, "-m", "tests.engines.athena.server", str(port), self.trino.url]
        self.aws = Moto("athena", command, folder / "aws", port, env={"PYTHONPATH": str(REPOSITORY)})
        self.url = self.aws.url

    def start(self) -> None:
        self.aws.start()
        try:
            self.trino.start()
        except BaseException:
            self.aws.stop()
            raise

    def stop(self) -> None:
        self.trino.stop()
        self.aws.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
