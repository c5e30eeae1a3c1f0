"""Questions over the samples and three written documents: what is there is answered, what is only near it is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from answer_evaluation import evaluate, ingest_all
from ingested_documents import make_services
from sqlalchemy import Engine

LEAST_RIGHT = 0.85
MOST_WRONG = 0.05


@pytest.mark.slow
@pytest.mark.parametrize("part", ["tuned", "held_out"])
def test_facts_are_answered_and_near_misses_are_not(registry_engine: Engine, tmp_path: Path, part: str) -> None:
    services = make_services(registry_engine.url.render_as_string(hide_password=False), tmp_path)
    ingest_all(services, tmp_path)
    figures = evaluate(services, part)
    assert (figures.right >= LEAST_RIGHT, figures.wrong <= MOST_WRONG) == (True, True), figures
