"""Where the registry's Postgres is. Apart from the stores, whose libraries Dagster's own processes do not need."""

from __future__ import annotations

from pathlib import Path

from foundation.adapters.embedded import postgres
from foundation.errors import Unavailable
from foundation.settings import Settings


def postgres_folder(settings: Settings) -> Path:
    return settings.folder / "postgres"


def registry_url(settings: Settings, *, start: bool) -> str:
    """The registry's URL; with `start`, the embedded server is started unless it runs."""
    if settings.database.url is not None:
        return settings.database.url.get_secret_value()
    folder = postgres_folder(settings)
    url = postgres.start(folder) if start else postgres.running_url(folder)
    if url is None:
        raise Unavailable(f"The embedded Postgres in {folder} does not run.", fix="Start it with `askline up`.")
    return url
