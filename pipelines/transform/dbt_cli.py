"""dbt's command line as a Dagster resource that stays offline and starts one process only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dagster_dbt import DbtCliResource
from filelock import FileLock
from packaging.version import Version, parse

from pipelines.transform.environment import environment
from pipelines.transform.manifest import DBT, OFFLINE, PROJECT, TARGET


class OfflineDbt(DbtCliResource):
    """Leaves out what dagster-dbt does besides the command: it asks `dbt --version`, which takes 3 CPU-seconds and
    looks for newer versions on the network, and loads dbt into the run's own process to read column types.
    """

    @cached_property
    def _cli_version(self) -> Version:
        return parse(version("dbt-core"))

    def _initialize_dbt_core_adapter(self, args: object) -> Any:
        return None


def dbt_resource(executable: Path = DBT) -> OfflineDbt:
    return OfflineDbt(project_dir=str(PROJECT), profiles_dir=str(PROJECT), dbt_executable=str(executable))


@contextmanager
def build_folder(folder: Path) -> Iterator[Path]:
    """`folder` made ready for one build, which has it alone; the marts that it exports are gone afterwards.

    dbt's process takes its environment from ours, so the variables that profiles.yml reads are set meanwhile.
    """
    target, exports = folder / "target", folder / "marts"
    target.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "build.lock"):
        shutil.rmtree(exports, ignore_errors=True)
        exports.mkdir()
        parsed = TARGET / "partial_parse.msgpack"
        if parsed.is_file() and not (target / parsed.name).exists():
            shutil.copy(parsed, target)
        try:
            with environment({**OFFLINE, "ASKLINE_DBT_FOLDER": str(folder)}):
                yield target
        finally:
            shutil.rmtree(exports, ignore_errors=True)
