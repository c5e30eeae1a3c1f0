"""What every Cache does. Inherit, give the fixture `cache`, and `pass_time` where a clock can be moved."""

from __future__ import annotations

import threading
import time

import pytest

from foundation.ports.cache import Cache


class CacheContract:
    @pytest.fixture
    def cache(self) -> Cache:
        raise NotImplementedError

    def pass_time(self, seconds: float) -> None:
        time.sleep(seconds)

    def test_gives_back_what_was_set(self, cache: Cache) -> None:
        value = bytes(range(256))
        cache.set("answers:ä/1", value, ttl_seconds=60)
        assert cache.get("answers:ä/1") == value

    def test_an_unknown_key_is_none(self, cache: Cache) -> None:
        assert cache.get("never set") is None

    def test_an_empty_value_is_not_a_missing_one(self, cache: Cache) -> None:
        cache.set("empty", b"", ttl_seconds=60)
        assert cache.get("empty") == b""

    def test_setting_again_replaces_value_and_time_to_live(self, cache: Cache) -> None:
        cache.set("k", b"old", ttl_seconds=0.2)
        cache.set("k", b"new", ttl_seconds=60)
        self.pass_time(0.3)
        assert cache.get("k") == b"new"

    def test_a_value_is_gone_after_its_time_to_live(self, cache: Cache) -> None:
        cache.set("short", b"x", ttl_seconds=0.2)
        cache.set("long", b"y", ttl_seconds=60)
        self.pass_time(0.3)
        assert cache.get("short") is None
        assert cache.get("long") == b"y"

    def test_a_time_to_live_of_zero_keeps_nothing(self, cache: Cache) -> None:
        cache.set("k", b"x", ttl_seconds=60)
        cache.set("k", b"y", ttl_seconds=0)
        assert cache.get("k") is None

    def test_delete_removes_one_key_and_forgives_an_unknown_one(self, cache: Cache) -> None:
        cache.set("a", b"1", ttl_seconds=60)
        cache.set("b", b"2", ttl_seconds=60)
        cache.delete("a")
        cache.delete("a")
        assert cache.get("a") is None
        assert cache.get("b") == b"2"

    def test_clear_takes_the_keys_of_a_prefix_literally_and_counts_them(self, cache: Cache) -> None:
        for key in ("a*:1", "a*:2", "ab:1", "b:1"):
            cache.set(key, b"x", ttl_seconds=60)
        assert cache.clear("a*:") == 2
        assert cache.get("a*:1") is None
        assert cache.get("ab:1") == b"x"
        assert cache.clear() == 2
        assert cache.get("b:1") is None

    def test_threads_may_share_it(self, cache: Cache) -> None:
        failures: list[object] = []

        def work(number: int) -> None:
            for i in range(100):
                cache.set(f"t{number}", str(i).encode(), ttl_seconds=60)
                if cache.get(f"t{number}") != str(i).encode():
                    failures.append((number, i))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
