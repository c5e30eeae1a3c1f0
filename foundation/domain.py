"""A domain: the folder of data that fits Askline to a field. It holds no code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from foundation.errors import ConfigurationError

DOMAINS = Path(__file__).resolve().parent.parent / "domains"


@dataclass(frozen=True, slots=True)
class Domain:
    name: str
    folder: Path

    def file(self, name: str) -> Path:
        path = self.folder / name
        if not path.is_file():
            raise ConfigurationError(
                f"ASKLINE_DOMAIN={self.name}: the domain lacks {name} (looked in {self.folder}).",
                fix=f"Add {name} as domains/healthcare has it, or name another domain by ASKLINE_DOMAIN.",
            )
        return path


@cache
def load_domain(name: str) -> Domain:
    """The folder domains/NAME, or NAME itself when it is a path. ConfigurationError when it is not there."""
    folder = Path(name) if "/" in name else DOMAINS / name
    if not folder.is_dir():
        known = ", ".join(sorted(p.name for p in DOMAINS.iterdir() if p.is_dir()))
        raise ConfigurationError(
            f"ASKLINE_DOMAIN={name}: there is no folder {folder}.", fix=f"Use one of {known}, or a path to your own."
        )
    return Domain(folder.name, folder)
