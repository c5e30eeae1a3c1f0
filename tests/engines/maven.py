"""Lays an engine out of Maven packages. What lies where, under which checksum, is in a lock file beside the engine."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from tests.engines.processes import EngineFailed

_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


class Package(NamedTuple):
    """One line of a lock file; a zip is unpacked into `folder`, all else is copied into it."""

    sha256: str
    coordinates: str
    """group:artifact:version:type[:classifier]"""
    folder: str

    @property
    def file_name(self) -> str:
        _, artifact, version, kind, *classifier = self.coordinates.split(":")
        return f"{'-'.join([artifact, version, *classifier])}.{kind}"


def read_lock(path: Path) -> list[Package]:
    lines = path.read_text().splitlines()
    return [Package(*line.split()) for line in lines if line and not line.startswith("#")]


def lay(name: str, lock: Path, cache: Path, finish: Callable[[Path], None]) -> Path:
    """The engine's home below `cache`, made if it is not there: all packages of `lock`, then what `finish` adds.

    It appears whole or not at all, under the lock's own checksum: another lock lays another home.
    """
    home = cache / f"{name}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    with FileLock(cache / f"{name}.lock"):
        if not home.is_dir():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f".{name}-") as scratch:
                part = Path(scratch) / "home"
                _copy(read_lock(lock), Path(scratch), part)
                finish(part)
                part.rename(home)
    return home


def _copy(packages: Sequence[Package], scratch: Path, home: Path) -> None:
    fetched = scratch / "fetched"
    _run_maven(packages, scratch, fetched)
    for number, package in enumerate(packages):
        file = fetched / str(number) / package.file_name
        found = hashlib.sha256(file.read_bytes()).hexdigest()
        if found != package.sha256:
            raise EngineFailed(f"{package.coordinates} came with sha256 {found}, expected {package.sha256}.")
        folder = home / package.folder
        folder.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".zip":
            with zipfile.ZipFile(file) as packed:
                packed.extractall(folder)
        else:
            shutil.move(file, folder / file.name)


def _run_maven(packages: Sequence[Package], scratch: Path, fetched: Path) -> None:
    """Each package into a folder of its number: two of them may have files of the same name."""
    if shutil.which("mvn") is None:
        raise EngineFailed("Maven is not installed. Install it (Debian: apt-get install maven) and try again.")
    items = "".join(_item(package, fetched / str(number)) for number, package in enumerate(packages))
    group, artifact, version = _PLUGIN.split(":")
    (scratch / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        "<groupId>askline.tests</groupId><artifactId>engine</artifactId><version>1</version><packaging>pom</packaging>"
        f"<build><plugins><plugin><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version><configuration><artifactItems>{items}</artifactItems></configuration>"
        "</plugin></plugins></build></project>"
    )
    command = ["mvn", "--batch-mode", "--quiet", "--file", str(scratch / "pom.xml"), f"{_PLUGIN}:copy"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode:
        raise EngineFailed(f"Maven could not fetch:\n{(done.stdout + done.stderr)[-3000:]}")


def _item(package: Package, folder: Path) -> str:
    group, artifact, version, kind, *classifier = package.coordinates.split(":")
    extra = "".join(f"<classifier>{one}</classifier>" for one in classifier)
    return (
        f"<artifactItem><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<type>{kind}</type>{extra}<outputDirectory>{folder}</outputDirectory></artifactItem>"
    )
