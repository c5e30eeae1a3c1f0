from __future__ import annotations

import pytest

from foundation.adapters.embedded.cache import InProcessCache
from foundation.contracts.cache import CacheContract
from foundation.ports.cache import Cache


class TestInProcessCache(CacheContract):
    now = 0.0

    @pytest.fixture
    def cache(self) -> Cache:
        self.now = 0.0
        return InProcessCache(clock=lambda: self.now)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds


def test_the_least_recently_used_goes_first_when_the_size_is_reached() -> None:
    cache = InProcessCache(max_bytes=33)
    for key in "abc":
        cache.set(key, b"x" * 10, 60)
    cache.get("a")
    cache.set("d", b"x" * 10, 60)
    assert [cache.get(key) is not None for key in "abcd"] == [True, False, True, True]


def test_a_value_larger_than_the_cache_is_not_kept_and_displaces_nothing_else() -> None:
    cache = InProcessCache(max_bytes=20)
    cache.set("a", b"x", 60)
    cache.set("a", b"x" * 30, 60)
    cache.set("b", b"y" * 10, 60)
    cache.set("c", b"x" * 30, 60)
    assert cache.get("a") is None
    assert cache.get("b") == b"y" * 10


def test_replaced_and_removed_values_give_their_bytes_back() -> None:
    cache = InProcessCache(max_bytes=22)
    cache.set("a", b"x" * 10, 60)
    for _ in range(5):
        cache.set("b", b"y" * 10, 60)
        cache.delete("b")
        cache.set("b", b"y" * 10, 60)
    assert cache.get("a") == b"x" * 10
