"""How many calls at once a service takes: half as many after it has throttled, one more after each full round."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_ANSWER_S = 0.5
"""Calls that were under way together are throttled together, which is one reason to slow down and not many."""


class Pace:
    """Additive increase, multiplicative decrease of the calls at once, between 1 and `most`. Safe for threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._allowed = float(most)
        self._running = 0
        self._slowed = float("-inf")
        self._free = threading.Condition()

    @property
    def allowed(self) -> int:
        return int(self._allowed)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Waits until another call may go out. One that ends without an error is a sign that more may."""
        with self._free:
            self._free.wait_for(lambda: self._running < int(self._allowed))
            self._running += 1
        went_well = False
        try:
            yield
            went_well = True
        finally:
            with self._free:
                self._running -= 1
                if went_well:
                    self._allowed = min(float(self._most), self._allowed + 1 / self._allowed)
                self._free.notify_all()

    def slow_down(self) -> None:
        with self._free:
            if time.monotonic() - self._slowed > _ONE_ANSWER_S:
                self._slowed = time.monotonic()
                self._allowed = max(1.0, self._allowed / 2)
