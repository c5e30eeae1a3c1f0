"""Carries out a stage of deploy/Dockerfile in a folder: what COPY and RUN leave under /app and /opt, without Docker.

It knows the instructions that the file uses: WORKDIR, ENV, COPY from the repository, RUN. Another is a ValueError.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
_OURS = re.compile(r"(?<![\w.-])/(app|opt)(?=[/\s'\")=]|$)")
"""The two folders that a stage fills; they become folders of the one that it is carried out in."""


def instructions(stage: str) -> Iterator[tuple[str, str]]:
    """(instruction, the rest) of each line of the stage, continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    inside = False
    for line in text.replace("\\\n", " ").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            inside = rest.endswith(f" AS {stage}")
        elif word and inside:
            yield word, rest.strip()


@dataclass
class Image:
    """`folder` holds what the image would hold under /app and /opt."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def here(self, text: str) -> str:
        return _OURS.sub(lambda found: f"{self.folder}/{found[1]}", text)

    def run(self, command: str, **environment: str) -> str:
        """What the shell command prints. AssertionError with its output if it fails."""
        done = subprocess.run(
            ["/bin/sh", "-c", self.here(command)],
            cwd=self.folder / "app",
            env={**_outside(), **self.environment, **environment},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done.stdout

    def build(self, stage: str, **environment: str) -> None:
        """Carry out the stage; `environment` wins over its ENV."""
        for word, rest in instructions(stage):
            if word == "WORKDIR":
                Path(self.here(rest)).mkdir(parents=True, exist_ok=True)
            elif word == "ENV":
                self.environment |= {k: v for k, _, v in (p.partition("=") for p in shlex.split(self.here(rest)))}
                self.environment |= environment
            elif word == "COPY":
                self._copy(shlex.split(rest))
            elif word == "RUN":
                self.run(rest)
            else:
                raise ValueError(f"deploy/Dockerfile: {word} is not known here.")

    def _copy(self, paths: list[str]) -> None:
        *sources, target = paths
        into = self.folder / "app" / target
        for source in (ROOT / name for name in sources):
            if source.is_dir():
                shutil.copytree(source, into, ignore=shutil.ignore_patterns("__pycache__", "target", "logs"))
            else:
                whole = into / source.name if target.endswith("/") else into
                whole.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, whole)


def _outside() -> dict[str, str]:
    """This environment without what would lead back into this repository's own installation."""
    leads_back = ("ASKLINE_", "DAGSTER_", "VIRTUAL_ENV", "PYTHONPATH", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(leads_back)}
