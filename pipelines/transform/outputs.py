"""What dbt leaves behind of a build: its DuckDB file, its list of sources, its logs and compiled statements."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from foundation.settings import Settings
from pipelines.transform.manifest import dbt_folder

_OF_A_BUILD = (
    *("askline.duckdb", "askline.duckdb.wal", "sources.json", "marts", "logs"),
    *("target/compiled", "target/run", "target/run_results.json", "target/dbt.log", "target/dbt.log.1"),
)
"""Under dbt's folder. The parsed project and the manifest beside them hold nothing of a document."""
_WAIT_S = 60


class DbtOutputs:
    """The outputs of the last build, if it read one of these versions: they name its files, and errors quote values."""

    def __init__(self, settings: Settings, version_ids: Sequence[str]) -> None:
        self._folder, self._versions = dbt_folder(settings), [version.encode() for version in version_ids]

    def count(self) -> int:
        """Files that are left of a build that read one of the versions."""
        if not any(self._reads(path) for path in self._outputs()):
            return 0
        return len(self._outputs())

    def remove(self) -> int:
        """A build that runs is waited for; the next one makes all of it anew."""
        found = self.count()
        if not found:
            return 0
        try:
            with FileLock(self._folder / "build.lock", timeout=_WAIT_S):
                for name in _OF_A_BUILD:
                    path = self._folder / name
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        except Timeout:
            return 0  # the fresh look finds them, and the erasure is tried again
        return found

    def _outputs(self) -> list[Path]:
        places = [self._folder / name for name in _OF_A_BUILD]
        inside = [path for place in places if place.is_dir() for path in place.rglob("*")]
        return [path for path in (*places, *inside) if path.is_file()]

    def _reads(self, path: Path) -> bool:
        data = path.read_bytes()
        return any(version in data for version in self._versions)
