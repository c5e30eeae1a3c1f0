"""The cache in a real Redis, by TLS and with a password; and Redis gone in the middle."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from foundation import aws_stores
from foundation.adapters.aws.cache import RedisCache
from foundation.contracts.cache import CacheContract
from foundation.errors import ConfigurationError, Unavailable
from foundation.settings import RedisSettings, Settings
from tests.engines.certificates import certificates
from tests.engines.redis import RedisServer

pytestmark = pytest.mark.engines


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    folder = tmp_path_factory.mktemp("redis")
    server = RedisServer(folder, certificates(folder / "tls"))
    with server:
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """One that a test may stop."""
    server = RedisServer(tmp_path)
    with server:
        yield server


def cache_of(server: RedisServer, **redis: object) -> RedisCache:
    ca_file = server.certificates.ca if server.certificates else None
    settings = {"url": SecretStr(server.url), "ca_file": ca_file, "timeout_s": 0.3, **redis}
    made = aws_stores.cache(Settings(redis=RedisSettings.model_validate(settings)))
    assert isinstance(made, RedisCache)
    return made


class TestRedisCache(CacheContract):
    @pytest.fixture
    def cache(self, server: RedisServer) -> Iterator[RedisCache]:
        with server.client() as client:
            client.flushall()
        made = cache_of(server)
        yield made
        made.close()


def test_another_users_keys_in_the_same_redis_stay(server: RedisServer) -> None:
    cache = cache_of(server)
    with server.client() as client:
        client.set("other", b"x")
        cache.set("ours", b"y", 60)
        cache.clear()
        assert client.get("other") == b"x"


def test_clear_finds_all_of_many(server: RedisServer) -> None:
    cache = cache_of(server)
    for number in range(1234):
        cache.set(f"many/{number}", b"x", 60)
    cache.set("manyother", b"x", 60)
    assert cache.clear("many/") == 1234
    assert cache.get("manyother") == b"x"


def test_a_redis_that_is_gone_counts_as_empty_and_comes_back(own_server: RedisServer) -> None:
    cache = cache_of(own_server)
    cache.set("k", b"x", 60)
    own_server.stop()
    assert cache.get("k") is None
    cache.set("k", b"y", 60)
    with pytest.raises(Unavailable, match="Redis does not answer"):  # who erases must know
        cache.clear("k")
    with pytest.raises(Unavailable):
        cache.delete("k")
    own_server.start()
    deadline = time.monotonic() + 15
    while cache.get("k") is None and time.monotonic() < deadline:
        cache.set("k", b"z", 60)
        time.sleep(0.1)
    assert cache.get("k") == b"z"


def test_a_redis_that_has_restarted_is_found_at_the_next_call(own_server: RedisServer) -> None:
    cache = cache_of(own_server)
    cache.set("k", b"x", 60)
    own_server.stop()
    own_server.start()
    cache.set("k", b"y", 60)
    assert cache.get("k") == b"y"


def test_nobody_waits_long_or_twice_for_a_redis_that_hangs(own_server: RedisServer) -> None:
    cache = cache_of(own_server)
    cache.set("k", b"x", 60)
    own_server.signal(signal.SIGSTOP)
    try:
        started = time.monotonic()
        for _ in range(100):
            assert cache.get("k") is None
            cache.set("k", b"y", 60)
        assert time.monotonic() - started < 2
    finally:
        own_server.signal(signal.SIGCONT)


def test_a_wrong_password_is_named_where_it_matters(own_server: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    cache = cache_of(own_server, url=SecretStr(own_server.url.replace("s3cret", "wrong")))
    assert cache.get("k") is None
    assert "ASKLINE_REDIS__URL" in caplog.text and "wrong" not in caplog.text
    with pytest.raises(ConfigurationError, match="does not let us in"):
        cache.ping()


def test_a_certificate_that_nobody_vouches_for_is_refused(server: RedisServer) -> None:
    with pytest.raises(ConfigurationError) as raised:
        cache_of(server, ca_file=None).ping()
    assert "ASKLINE_REDIS__CA_FILE" in raised.value.fix


def test_a_url_that_is_none_is_named() -> None:
    for url in (None, SecretStr("http://host"), SecretStr(""), SecretStr("redis://:pass/word@host:6379/0")):
        with pytest.raises(ConfigurationError, match="ASKLINE_REDIS__URL") as raised:
            aws_stores.cache(Settings(redis=RedisSettings(url=url)))
        assert "pass/word" not in raised.value.message and "'pass'" not in raised.value.message
