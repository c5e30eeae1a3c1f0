"""Once, as RDS's master: the roles and the database that Askline uses with tokens of IAM instead of passwords.

Reads libpq's variables (PGHOST, PGUSER, PGPASSWORD, PGSSLMODE …), which deploy/cdk gives to the task. May run again,
unless RDS refuses the master's password by then: see the last statement.
"""

from __future__ import annotations

import os
import sys

import psycopg
from psycopg import sql

OWNER, READER = "askline", "askline_reader"
"""READER is the role by which questions run; without this script the OWNER would have to be allowed to make roles."""


def set_up(database: str) -> None:
    with psycopg.connect(dbname=os.environ.get("PGDATABASE", "postgres"), autocommit=True) as master:
        for role in (OWNER, READER):
            if not _exists(master, "select 1 from pg_roles where rolname = %s", role):
                master.execute(sql.SQL("create role {} login").format(sql.Identifier(role)))
        owner, reader = sql.Identifier(OWNER), sql.Identifier(READER)
        # Its owner gives the reader its limits (statement_timeout and the like), which only who administers it may.
        master.execute(sql.SQL("grant {} to {} with admin option").format(reader, owner))
        master.execute(sql.SQL("alter role {} createrole").format(owner))
        if not _exists(master, "select 1 from pg_database where datname = %s", database):
            master.execute(sql.SQL("grant {} to current_user").format(owner))
            master.execute(sql.SQL("create database {} owner {}").format(sql.Identifier(database), owner))
            master.execute(sql.SQL("revoke {} from current_user").format(owner))
        # Last: who made a role may count as its member, and of a member of rds_iam RDS takes no password.
        master.execute(sql.SQL("grant rds_iam to {}, {}").format(owner, reader))


def _exists(connection: psycopg.Connection, query: sql.SQL | str, name: str) -> bool:
    return connection.execute(query, (name,)).fetchone() is not None


if __name__ == "__main__":
    set_up(sys.argv[1] if len(sys.argv) > 1 else "askline")
    sys.stdout.write("The database and its roles are there.\n")
