"""Tokens of IAM that RDS takes for a password: signed here, without a call, and good for 15 minutes."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import make_url

from foundation.adapters.aws.clients import client
from foundation.adapters.aws.errors import aws_errors
from foundation.errors import ConfigurationError
from foundation.settings import Settings


def tokens(settings: Settings, url: str) -> Callable[[str], str]:
    """Makes the token of a user for the server of this URL. ConfigurationError without a host, region or keys."""
    address = make_url(url)
    host, port = address.host, address.port or 5432
    if not host or not address.username or address.password:
        raise ConfigurationError(
            "ASKLINE_DATABASE__URL must name host and user, and no password, with ASKLINE_DATABASE__IAM.",
            fix="Write it as postgresql://user@host:5432/database.",
        )
    rds = client(settings, "rds")

    def token(user: str) -> str:
        with aws_errors(f"IAM token for {host}"):
            made: str = rds.generate_db_auth_token(DBHostname=host, Port=port, DBUsername=user)
            return made

    return token
