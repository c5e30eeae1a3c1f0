"""dbt's manifest: made by `dbt parse` when the project has changed, and what of it we read."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from foundation.errors import ConfigurationError
from foundation.settings import Settings, get_settings

PROJECT = Path(__file__).parents[2] / "dbt_project"
TARGET = PROJECT / "target"
DBT = Path(sys.executable).with_name("dbt")
OFFLINE = {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_VERSION_CHECK": "false", "DO_NOT_TRACK": "1"}
"""dbt reaches out for statistics and versions only; both are off in dbt_project.yml too."""


def dbt_folder(settings: Settings) -> Path:
    """Where dbt keeps its own DuckDB file, its artifacts and the marts that are not published yet."""
    return settings.folder / "dbt"


def project_hash() -> str:
    """sha256 over dbt's versions and the names and bytes of every file of the project that dbt reads."""
    digest = hashlib.sha256(f"{version('dbt-core')} {version('dbt-duckdb')}".encode())
    for path in sorted(p for p in PROJECT.rglob("*") if p.suffix in (".sql", ".yml", ".md")):
        relative = path.relative_to(PROJECT)
        if relative.parts[0] not in ("target", "logs"):
            data = path.read_bytes()
            digest.update(f"{relative.as_posix()}\0{len(data)}\0".encode())
            digest.update(data)
    return digest.hexdigest()


def ensure_manifest(fallback: Path) -> Path:
    """The manifest of the project as it is. One process parses (6 s), others wait for it.

    It lies in the project's target folder, or in `fallback` where an installation is read-only.
    """
    target = TARGET if os.access(PROJECT, os.W_OK) else fallback
    manifest, stamp = target / "manifest.json", target / "project.sha256"
    wanted = project_hash()
    if _is_current(manifest, stamp, wanted):
        return manifest
    target.mkdir(parents=True, exist_ok=True)
    with FileLock(target / "parse.lock"):
        if not _is_current(manifest, stamp, wanted):
            stamp.unlink(missing_ok=True)
            _parse(target)
            stamp.write_text(wanted)
    return manifest


def _is_current(manifest: Path, stamp: Path, wanted: str) -> bool:
    return manifest.is_file() and stamp.is_file() and stamp.read_text() == wanted


def _parse(target: Path) -> None:
    command = [str(DBT), "--no-use-colors", "parse", "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    command += ["--target-path", str(target), "--log-path", str(target)]
    done = subprocess.run(command, env={**os.environ, **OFFLINE}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ConfigurationError(
            f"dbt cannot read {PROJECT}:\n{done.stdout[-2000:]}{done.stderr[-500:]}",
            fix="Correct the file that dbt names.",
        )


@dataclass(frozen=True)
class Mart:
    name: str
    unique_id: str
    description: str
    column_labels: Mapping[str, str]
    """Column → its description in dbt's YAML, in the order of the YAML."""
    contracts: frozenset[str]
    """Source tables that it is built from, directly or not."""
    tests: frozenset[str]
    """unique_ids of the tests that must pass before it is published."""


class Manifest:
    """What we read of a manifest."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    @cached_property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """Source table → its node."""
        return {node["name"]: node for node in self.data["sources"].values()}

    @cached_property
    def models(self) -> dict[str, Mapping[str, Any]]:
        return {node["name"]: node for node in self.data["nodes"].values() if node["resource_type"] == "model"}

    @cached_property
    def marts(self) -> dict[str, Mart]:
        return {name: self._mart(node) for name, node in self.models.items() if node["fqn"][1] == "marts"}

    def contracts_of(self, unique_id: str) -> frozenset[str]:
        """The source tables above this node."""
        if unique_id in self.data["sources"]:
            return frozenset({self.data["sources"][unique_id]["name"]})
        parents = self.data["parent_map"].get(unique_id, ())
        return frozenset[str]().union(*(self.contracts_of(parent) for parent in parents))

    def _mart(self, node: Mapping[str, Any]) -> Mart:
        unique_id = node["unique_id"]
        tests = frozenset(c for c in self.data["child_map"][unique_id] if c.startswith("test."))
        labels = {name: column["description"] for name, column in node["columns"].items()}
        contracts = self.contracts_of(unique_id)
        return Mart(node["name"], unique_id, node["description"], labels, contracts, tests)


@cache
def project_manifest() -> Manifest:
    """The manifest of this installation's project, once a process."""
    path = ensure_manifest(dbt_folder(get_settings()) / "target")
    return Manifest(json.loads(path.read_bytes()))
