"""Reading from S3: a stream that goes on where it broke, and says so when the bytes are not those that were stored."""

from __future__ import annotations

import hashlib
import io
import random
import time
from collections.abc import Callable
from typing import Any

from botocore.exceptions import BotoCoreError, FlexibleChecksumError

from foundation.adapters.aws.objects_upload import SHA256
from foundation.errors import Unavailable

_TRIES = 4
_PAUSE_S = 0.2


class ObjectBody(io.RawIOBase):
    """`fetch` is GetObject of one key; its keyword arguments go to it. Read from begin to end, without seeking."""

    def __init__(self, name: str, fetch: Callable[..., dict[str, Any]], version_id: str | None) -> None:
        self._name, self._fetch = name, fetch
        first = fetch(**({"VersionId": version_id} if version_id else {}))
        # Whoever overwrites the object meanwhile does not change what this reader gets.
        found = first.get("VersionId")
        self._same = {"VersionId": found} if found and found != "null" else {"IfMatch": first["ETag"]}
        self._body = first["Body"]
        self._size, self._at = int(first["ContentLength"]), 0
        self._sha256 = first.get("Metadata", {}).get(SHA256)
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        self._digest.update(data)
        self._at += len(data)
        if self._at == self._size and self._sha256 not in (None, self._digest.hexdigest()):
            raise Unavailable(
                f"{self._name}: other bytes arrived than were stored.",
                fix="Try again; if it stays, something wrote the object without its metadata: upload the file again.",
            )
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._body.close()
        super().close()

    def _next(self, size: int) -> bytes:
        """Up to `size` bytes; none only at the end."""
        broken: Exception | None = None
        for attempt in range(_TRIES):
            if self._at == self._size:
                return b""
            try:
                if broken is not None:
                    time.sleep(random.uniform(0, _PAUSE_S * 2**attempt))
                    self._body.close()
                    self._body = self._fetch(Range=f"bytes={self._at}-", **self._same)["Body"]
                data: bytes = self._body.read(size)
            except FlexibleChecksumError as error:
                raise Unavailable(f"{self._name}: other bytes arrived than were stored.") from error
            except BotoCoreError as error:
                broken = error
                continue
            if data:
                return data
            broken = EOFError("it ended early")
        raise Unavailable(f"{self._name}: the transfer broke at byte {self._at:,} of {self._size:,}.") from broken
