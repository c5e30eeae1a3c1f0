"""Kill -9 at random moments: after the restart the stores hold what they hold without it. By hand: `make crash`."""

from __future__ import annotations

import os

import pytest
from side_by_side import disturbed

SEED, ROUNDS = 7, 30
pytestmark = pytest.mark.slow


def test_after_kills_at_random_everything_is_as_in_the_undisturbed_run() -> None:
    differing = [str(done) for done in disturbed(SEED, range(ROUNDS), jobs=os.cpu_count() or 1) if done.found]
    assert not differing, "\n".join([*differing, f"repeat one with: make crash N=1 SEED={SEED} FIRST=<its number>"])
