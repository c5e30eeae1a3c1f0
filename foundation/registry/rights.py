"""Whether the registry's server lets us in, and lets us do what Askline does there."""

from __future__ import annotations

from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from foundation.errors import ConfigurationError, Unavailable
from foundation.registry.address import passwords, registry_url
from foundation.registry.database import create_registry_engine
from foundation.settings import Settings

_REFUSED = ("authentication failed", "no pg_hba.conf entry", "certificate", "does not exist")
_ASKED = text(
    "select has_database_privilege(current_database(), 'create') as may_create,"
    " rolcreaterole or rolsuper or exists (select 1 from pg_roles where rolname = 'askline_reader') as may_make_roles"
    " from pg_roles where rolname = current_user"
)


def engine_without_migration(settings: Settings) -> Engine:
    """On the registry as it is: whoever only looks must not bring it to this code's schema."""
    url, wait = registry_url(settings, start=False), settings.database.connect_timeout_s
    return create_registry_engine(url, pool_size=1, connect_timeout_s=wait, password=passwords(settings))


def missing_rights(settings: Settings) -> list[str]:
    """What the user lacks. ConfigurationError when the server refuses it, Unavailable when there is no answer."""
    engine = engine_without_migration(settings)
    try:
        with engine.connect() as connection:
            found = connection.execute(_ASKED).one()
    except OperationalError as error:
        reason = " ".join(str(error.orig).split())
        if not any(part in reason for part in _REFUSED):
            raise Unavailable(f"Postgres does not answer: {reason}") from error
        raise ConfigurationError(f"Postgres does not let us in: {reason}", fix=_fix(settings)) from error
    finally:
        engine.dispose()
    wanted = {"CREATE on the database": found.may_create, "CREATEROLE": found.may_make_roles}
    return [right for right, has in wanted.items() if not has]


def _fix(settings: Settings) -> str:
    if not settings.database.iam:
        return "Correct ASKLINE_DATABASE__URL, ASKLINE_DATABASE__SSL_MODE or ASKLINE_DATABASE__SSL_ROOT_CERT."
    user = make_url(registry_url(settings, start=False)).username
    return (
        f'Allow {{"Effect": "Allow", "Action": "rds-db:connect", "Resource": "arn:aws:rds-db:*:*:dbuser:*/{user}"}} in'
        f" the role's policy, and run `grant rds_iam to {user}` in the database."
    )
