"""How work on versions is grouped: small ones share a go, a bad one fails alone, a store that is away ends the run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from foundation.errors import Unavailable
from foundation.types import ClaimedVersion
from pipelines.batch import Outcome, in_groups

Group = Sequence[tuple[ClaimedVersion, int]]


def version(name: str) -> ClaimedVersion:
    return ClaimedVersion(
        document_id=f"doc_{name}",
        version_id=name,
        file_name=f"{name}.txt",
        landing_key=name,
        object_version=name,
        size_bytes=1,
        media_type="text/plain",
        arrival_day=date(2026, 12, 1),
        acl=(),
        document_type=None,
        attempts=1,
    )


VERSIONS = [version(str(number)) for number in range(7)]


def outcomes(load_fails: str = "", work_fails: str = "") -> tuple[dict[str, object], list[list[str]]]:
    """What became of each version, and the groups that were worked on."""
    groups: list[list[str]] = []

    def load(one: ClaimedVersion) -> int:
        if one.version_id == load_fails:
            raise KeyError("load")
        return 2

    def work(group: Group) -> list[Outcome]:
        groups.append([one.version_id for one, _ in group])
        if work_fails in groups[-1]:
            raise ValueError("work")
        return [Outcome(one, 0.0, {"size": loaded}) for one, loaded in group]

    found = list(in_groups(load, lambda loaded: loaded, 6, work)(VERSIONS))
    return {outcome.version.version_id: outcome.result for outcome in found}, groups


def test_as_many_go_together_as_reach_the_size() -> None:
    found, groups = outcomes()
    assert groups == [["0", "1", "2"], ["3", "4", "5"], ["6"]]
    assert found == {one.version_id: {"size": 2} for one in VERSIONS}


@pytest.mark.parametrize("fails", ["load_fails", "work_fails"])
def test_a_bad_one_fails_alone(fails: str) -> None:
    found, _ = outcomes(**{fails: "4"})
    assert set(found) == {one.version_id for one in VERSIONS}
    assert {name for name, result in found.items() if isinstance(result, Exception)} == {"4"}


def test_what_is_away_ends_the_run() -> None:
    def away(_: object) -> int:
        raise Unavailable("Postgres is away.")

    with pytest.raises(Unavailable):
        list(in_groups(away, lambda loaded: loaded, 6, lambda group: [])(VERSIONS))
    with pytest.raises(Unavailable):
        list(in_groups(lambda one: 1, lambda loaded: loaded, 6, away)(VERSIONS))  # type: ignore[arg-type]
