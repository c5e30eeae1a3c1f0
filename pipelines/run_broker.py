"""Kombu's folder as a broker, with files that appear whole.

As it comes, a reader can meet a message or a table of bindings between its creation and its content. That ends the
whole worker with the runs in it, and what a killed writer leaves empty is met for ever.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock
from kombu.transport import TRANSPORT_ALIASES, filesystem
from kombu.transport.filesystem import exchange_queue_t

SCHEME = "askline-folder"


class Channel(filesystem.Channel):
    def _put(self, queue: str, payload: Any, **_: Any) -> None:  # type: ignore[override]  # Kombu names it twice
        name = f"{time.time_ns():020d}_{uuid.uuid4()}.{queue}.msg"  # they are taken in the order of their names
        _write(Path(self.data_folder_out) / name, payload)

    def get_table(self, exchange: str) -> list[exchange_queue_t]:
        try:
            found = json.loads(self._exchange_file(exchange).read_text())
        except FileNotFoundError:
            return []
        return [exchange_queue_t(*one) for one in found]

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        bound = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        self._change(exchange, lambda table: table if bound in table else [bound, *table])

    def _delete(self, queue: str, exchange: str, routing_key: str, pattern: str, *args: Any, **more: Any) -> None:
        super(filesystem.Channel, self)._delete(queue, exchange, routing_key, pattern, *args, **more)
        bound = exchange_queue_t(routing_key or "", pattern or "", queue or "")
        self._change(exchange, lambda table: [one for one in table if one != bound])

    def _change(self, exchange: str, change: Callable[[list[exchange_queue_t]], list[exchange_queue_t]]) -> None:
        file = self._exchange_file(exchange)
        with FileLock(file.with_suffix(".lock")):
            before = self.get_table(exchange)
            after = change(before)
            if after != before:
                _write(file, after)


class Transport(filesystem.Transport):
    Channel = Channel


def _write(path: Path, content: Any) -> None:
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    part.write_text(json.dumps(content))
    part.replace(path)


TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"
