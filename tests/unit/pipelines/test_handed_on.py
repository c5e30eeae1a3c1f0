"""What a run holds in memory: given as it was kept, bounded, and gone with the run."""

from __future__ import annotations

import pytest

from pipelines import handed_on
from pipelines.handed_on import HandedOn


def test_what_was_kept_is_given_until_it_is_taken() -> None:
    held, made = HandedOn(), ["a chunk"]
    held.keep("chunks", "v1", made, 1)
    assert held.look("chunks", "v1") is made
    assert held.take("chunks", "v1") is made
    assert held.look("chunks", "v1") is None
    assert held.take("chunks", "v1") is None


def test_kinds_and_versions_do_not_meet() -> None:
    held = HandedOn()
    held.keep("chunks", "v1", "cut", 1)
    held.keep("extraction", "v1", "found", 1)
    assert held.take("extraction", "v1") == "found"
    assert held.look("chunks", "v1") == "cut"
    assert held.look("chunks", "v2") is None


def test_no_more_is_held_than_fits_and_what_is_taken_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handed_on, "MOST_CHUNKS", 10)
    held = HandedOn()
    held.keep("chunks", "v1", "first", 6)
    held.keep("chunks", "v2", "second", 6)
    held.keep("extraction", "v2", "second", 6)
    assert held.look("chunks", "v2") is None
    assert held.look("extraction", "v2") == "second"
    held.keep("chunks", "v1", "first again", 7)
    assert held.look("chunks", "v1") == "first again"
    held.take("chunks", "v1")
    held.keep("chunks", "v2", "second", 10)
    assert held.look("chunks", "v2") == "second"


def test_nothing_outlives_a_run() -> None:
    held = HandedOn()
    held.keep("chunks", "v1", "cut", handed_on.MOST_CHUNKS)
    held.clear()
    assert held.look("chunks", "v1") is None
    held.keep("chunks", "v2", "cut", handed_on.MOST_CHUNKS)
    assert held.look("chunks", "v2") == "cut"
