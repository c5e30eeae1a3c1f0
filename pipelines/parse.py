"""Parse the files of a batch in limited worker processes, several at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from foundation.errors import AsklineError, Unavailable
from foundation.held_files import scratch_folder
from foundation.media_kinds import kind_of
from foundation.names import with_name, without_name
from foundation.stores import Stores
from foundation.types import ClaimedVersion
from pipelines.batch import Counts, Outcome
from pipelines.parsing.workers import ParserPool


def parse_files(
    stores: Stores,
    versions: Sequence[ClaimedVersion],
    function: Callable[..., Any],
    save: Callable[[ClaimedVersion, Any], Counts],
    more: Callable[[ClaimedVersion], tuple[Any, ...]] = lambda version: (),
) -> Iterator[Outcome]:
    """function(path, file name, kind, *more(version)) in a worker, then save(version, result) here, as they end.

    The largest begin first: the others fill up the time that they take.

    The file name is a stand-in (foundation.names): what is parsed belongs to the bytes, whoever else holds them.
    """
    if not versions:
        return
    limits = stores.settings.parsing
    with ExitStack() as stack:
        pool = stack.enter_context(
            ParserPool(
                workers=min(limits.workers, len(versions)),
                memory_mb=limits.memory_mb,
                timeout_s=limits.timeout_s,
                waiting_s=stores.settings.ocr.timeout_s,
                max_text_mb=limits.max_text_mb,
                max_output_mb=limits.max_output_mb,
                temporary=stack.enter_context(scratch_folder()),
            )
        )
        items = {}
        for version in sorted(versions, key=lambda version: -version.size_bytes):
            path = stack.enter_context(stores.landing.local_path(version.landing_key, version.object_version))
            items[path, without_name(version.file_name), kind_of(version.media_type), *more(version)] = version
        started = time.monotonic()
        for item, parsed in pool.map_files(function, items):
            version, result = items[item], parsed
            if isinstance(parsed, AsklineError):
                parsed.message = with_name(parsed.message, version.file_name)
                parsed.args = (parsed.message,)
            if not isinstance(parsed, Exception):
                try:
                    result = save(version, parsed)
                except Unavailable:
                    raise
                except Exception as error:  # noqa: BLE001  the version ends as failed, with this as its reason
                    result = error
            yield Outcome(version, time.monotonic() - started, result)
            started = time.monotonic()
