"""The cache in Redis (ElastiCache), by a URL that holds TLS, user and password.

Whoever reads or fills a cache can do without: while Redis does not answer, `get` finds nothing and `set` keeps nothing,
and for a few seconds nobody waits for it again. Whoever removes something must know that it is gone: `delete` and
`clear` raise.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, NoPermissionError, RedisError
from redis.retry import Retry

from foundation.errors import AsklineError, ConfigurationError, Unavailable

_PREFIX = "askline:"
"""Of every key, so that a Redis may serve others too."""
_PAUSE_S = 5.0
_BATCH = 500
_GLOB = str.maketrans({character: f"\\{character}" for character in "\\*?[]^-"})
_SETTING = "Correct ASKLINE_REDIS__URL (rediss://user:password@host:6379/0) or ASKLINE_REDIS__CA_FILE."

logger = logging.getLogger(__name__)


class RedisCache:
    """A Cache for all processes. Threads may share it. `timeout_s`: longest wait for a connection or an answer."""

    def __init__(self, url: str, *, ca_file: Path | None = None, timeout_s: float = 0.5) -> None:
        """ConfigurationError for a URL that is none; nothing is connected yet."""
        tls: dict[str, Any] = {"ssl_ca_certs": str(ca_file)} if ca_file is not None else {}
        try:
            self._redis = redis.Redis.from_url(
                url,
                socket_timeout=timeout_s,
                socket_connect_timeout=timeout_s,
                # One more try finds a server that has restarted since; waiting longer is not what a cache is for.
                retry=Retry(NoBackoff(), 1),
                health_check_interval=30,
                **tls,
            )
        except (ValueError, TypeError):  # TypeError: a CA file with a URL that is not TLS's
            # Without its text and its cause, which may quote a piece of a password that was not encoded.
            raise ConfigurationError("ASKLINE_REDIS__URL is no URL of a Redis.", fix=_SETTING) from None
        self._down_until = 0.0

    def get(self, key: str) -> bytes | None:
        found: Any = None
        with self._dispensable():
            if not self._paused():
                found = self._redis.get(_PREFIX + key)
        return found  # type: ignore[no-any-return]

    def set(self, key: str, value: bytes, ttl_seconds: float) -> None:
        """A time to live of zero or less removes the key.

        While Redis does not answer, what was there before stays for its own time to live.
        """
        with self._dispensable():
            if self._paused():
                return
            if ttl_seconds <= 0:
                self._redis.delete(_PREFIX + key)
            else:
                self._redis.set(_PREFIX + key, value, px=max(1, round(ttl_seconds * 1000)))

    def delete(self, key: str) -> None:
        with self._needed():
            self._redis.delete(_PREFIX + key)

    def clear(self, prefix: str = "") -> int:
        removed = 0
        with self._needed():
            batch: list[bytes] = []
            for key in self._redis.scan_iter(match=_pattern(prefix), count=_BATCH):
                batch.append(key)
                if len(batch) == _BATCH:
                    removed += self._unlink(batch)
                    batch = []
            removed += self._unlink(batch)
        return removed

    def ping(self) -> None:
        """ConfigurationError or Unavailable when Redis does not let us in."""
        with self._needed():
            self._redis.ping()

    def close(self) -> None:
        self._redis.close()

    def _unlink(self, keys: list[bytes]) -> int:
        return int(self._redis.unlink(*keys)) if keys else 0  # type: ignore[arg-type]

    def _paused(self) -> bool:
        return time.monotonic() < self._down_until

    @contextmanager
    def _dispensable(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            self._down_until = time.monotonic() + _PAUSE_S
            told = _told(error)
            logger.warning("The cache counts as empty for %d s. %s %s", _PAUSE_S, told.message, told.fix)

    @contextmanager
    def _needed(self) -> Iterator[None]:
        try:
            yield
        except RedisError as error:
            raise _told(error) from error


def _pattern(prefix: str) -> bytes:
    return f"{_PREFIX}{prefix}".translate(_GLOB).encode() + b"*"


def _told(error: RedisError) -> AsklineError:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    if isinstance(error, AuthenticationError | NoPermissionError) or "CERTIFICATE" in reason.upper():
        return ConfigurationError(f"Redis does not let us in: {reason}.", fix=_SETTING)
    return Unavailable(f"Redis does not answer: {reason}.")
