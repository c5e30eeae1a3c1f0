"""Locks on contents: they keep erasures away, and say when they did not last."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine, text

from foundation.registry import content_locks, erasures
from foundation.registry.database import create_registry_engine, transaction
from foundation.registry.tables import documents

CONTENTS = ["a" * 64, "b" * 64]


def end_other_connections(engine: Engine) -> None:
    with transaction(engine) as connection:
        connection.execute(
            text(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where datname = current_database() and pid <> pg_backend_pid()"
            )
        )


def test_an_erasure_waits_for_a_stage_and_a_stage_that_kept_its_locks_says_nothing(registry_engine: Engine) -> None:
    lost: list[datetime] = []
    locked = content_locks.shared(registry_engine, CONTENTS, on_loss=lost.append)
    with locked, transaction(registry_engine) as connection:
        assert not content_locks.try_exclusive(connection, CONTENTS[:1])
    with transaction(registry_engine) as connection:
        assert content_locks.try_exclusive(connection, CONTENTS)
    assert lost == []


def test_a_stage_whose_server_was_restarted_hears_of_it_at_its_end(registry_engine: Engine) -> None:
    lost: list[datetime] = []
    other = create_registry_engine(registry_engine.url.render_as_string(hide_password=False))
    with content_locks.shared(registry_engine, CONTENTS, on_loss=lost.append):
        end_other_connections(other)
    other.dispose()
    assert len(lost) == 1 and datetime.now(UTC) - lost[0] < timedelta(minutes=1)


def test_erasures_of_these_contents_since_then_are_done_once_more(registry_engine: Engine) -> None:
    def state() -> list[tuple[str, str]]:
        with transaction(registry_engine) as connection:
            rows = connection.execute(text("select erasure_id, status from askline.erasures order by 1"))
            return [tuple(row) for row in rows]

    with transaction(registry_engine) as connection:
        connection.execute(
            documents.insert(),
            [{"document_id": f"doc_{n}", "landing_key": n, "file_name": n, "media_type": "text/plain",
              "domain": "healthcare", "owner": "local", "acl": []} for n in ("early", "late", "other")],
        )  # fmt: skip
        connection.execute(
            text(
                "insert into askline.erasures (erasure_id, document_id, landing_key, requested_by, version_ids, status,"
                " finished_at) values ('early', 'doc_early', 'k', 'local', :ids, 'verified', now() - interval '1 h'),"
                " ('late', 'doc_late', 'k', 'local', :ids, 'verified', now()),"
                " ('other', 'doc_other', 'k', 'local', '{c}', 'verified', now())"
            ),
            {"ids": CONTENTS[:1]},
        )
        since = datetime.now(UTC) - timedelta(minutes=1)
        assert erasures.repeat_erasures(connection, CONTENTS, since) == 1
    assert state() == [("early", "verified"), ("late", "running"), ("other", "verified")]
