"""A key belongs to whoever acts on its request, until it is answered or nobody shows life any more."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, text

from foundation.errors import IdempotencyMismatch
from foundation.registry import idempotency
from foundation.registry.database import transaction
from foundation.registry.idempotency import Begun

OURS, RUNNING = Begun(False, None), Begun(True, None)


def begin(engine: Engine) -> Begun:
    with transaction(engine) as connection:
        return idempotency.begin(connection, "ana", "k", "hash")


def pass_time(engine: Engine, seconds: float) -> None:
    with transaction(engine) as connection:
        connection.execute(
            text("update askline.idempotency_keys set created_at = created_at - make_interval(secs => :s)"),
            {"s": seconds},
        )


def test_a_key_is_free_again_half_a_minute_after_its_process_died(registry_engine: Engine) -> None:
    assert begin(registry_engine) == OURS
    assert begin(registry_engine) == RUNNING
    pass_time(registry_engine, 31)
    assert begin(registry_engine) == OURS


def test_a_request_that_shows_life_keeps_its_key_however_long_it_takes(registry_engine: Engine) -> None:
    begin(registry_engine)
    for _ in range(3):
        pass_time(registry_engine, 25)
        with transaction(registry_engine) as connection:
            idempotency.renew(connection, "ana", "k")
    assert begin(registry_engine) == RUNNING


def test_an_answer_is_kept_for_a_day_and_for_its_request_alone(registry_engine: Engine) -> None:
    begin(registry_engine)
    with transaction(registry_engine) as connection:
        idempotency.finish(connection, "ana", "k", {"id": 1})
    pass_time(registry_engine, 23 * 3600)
    assert begin(registry_engine) == Begun(False, {"id": 1})
    with pytest.raises(IdempotencyMismatch), transaction(registry_engine) as connection:
        idempotency.begin(connection, "ana", "k", "of another request")
    pass_time(registry_engine, 2 * 3600)
    assert begin(registry_engine) == OURS
