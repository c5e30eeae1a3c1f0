"""Where the registry's Postgres is, and what lets us in. Apart from the stores, whose libraries Dagster's own processes
do not need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from foundation.adapters.embedded import postgres
from foundation.errors import Unavailable
from foundation.settings import Settings

Password = Callable[[str], str]
"""From a user of the server to the password of one new connection."""


def postgres_folder(settings: Settings) -> Path:
    return settings.folder / "postgres"


def registry_url(settings: Settings, *, start: bool) -> str:
    """The registry's URL, with the TLS of the settings; with `start`, the embedded server is started unless it runs."""
    if settings.database.url is not None:
        return _with_tls(settings)
    folder = postgres_folder(settings)
    url = postgres.start(folder) if start else postgres.running_url(folder)
    if url is None:
        raise Unavailable(f"The embedded Postgres in {folder} does not run.", fix="Start it with `askline up`.")
    return url


def passwords(settings: Settings) -> Password | None:
    """What makes the password of each new connection; None where the URL holds all that the server asks for."""
    if not settings.database.iam:
        return None
    from foundation.adapters.aws.rds import tokens

    return tokens(settings, registry_url(settings, start=False))


def _with_tls(settings: Settings) -> str:
    chosen = settings.database
    assert chosen.url is not None
    given = {"sslmode": chosen.ssl_mode, "sslrootcert": str(chosen.ssl_root_cert or "")}
    address, _, query = chosen.url.get_secret_value().partition("?")
    parameters = dict(parse_qsl(query)) | {name: value for name, value in given.items() if value}
    # %20 for a space: libpq does not know the +.
    return f"{address}?{urlencode(parameters, quote_via=quote)}" if parameters else address
