"""The doctor's part for AWS: who we are there, and each permission by a real call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from cli.finding import Finding
from foundation import aws_stores
from foundation.errors import AsklineError
from foundation.registry.rights import engine_without_migration
from foundation.settings import Settings
from foundation.table_catalog import unlinked_in

_PORTS = ("objects", "search", "warehouse", "catalog", "embeddings", "cache")


def examine_aws(settings: Settings) -> Iterator[Finding]:
    """Nothing where no adapter is AWS's; else a finding for each part that works, and one for each that is missing."""
    uses = {port for port in _PORTS if settings.adapter(port) == "aws"}
    if not uses:
        return
    try:
        aws_stores.require_packages()
        if uses - {"cache"}:
            from foundation.adapters.aws.permissions import identity

            yield Finding("AWS identity", "ok", identity(settings))
    except AsklineError as error:
        yield _missing("AWS identity", error)
        return
    yield from _permissions(settings)
    if "objects" in uses and settings.sqs.uploads_queue_url is None:
        yield Finding(
            "SQS uploads",
            "warning",
            "no queue: what others put into the bucket is found by the nightly listing alone",
            "Let the bucket tell a queue, and set ASKLINE_SQS__UPLOADS_QUEUE_URL.",
        )
    if "catalog" in uses:
        yield from _unlinked(settings)
    if "cache" in uses:
        yield _redis(settings)


def _permissions(settings: Settings) -> Iterator[Finding]:
    from foundation.adapters.aws.permissions import IMAGES, try_all

    for part, tries in groupby(try_all(settings), key=lambda tried: tried.part):
        allowed = []
        for tried in tries:
            if tried.error is None:
                allowed.append(tried.action)
            else:
                missing = _missing(part, tried.error)
                yield replace(missing, state="warning") if part == IMAGES else missing
        if allowed:
            yield Finding(part, "ok", ", ".join(allowed))


def _unlinked(settings: Settings) -> Iterator[Finding]:
    """Nothing where Glue or the registry cannot be asked: their own findings say why."""
    try:
        engine = engine_without_migration(settings)
        try:
            names = unlinked_in(settings, engine)
        finally:
            engine.dispose()
    except AsklineError:
        return
    if names:
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        fix = "Delete them in Glue, or move what others made to a database of its own."
        yield Finding("Glue links", "warning", f"tables that no document has: {shown}", fix)
    else:
        yield Finding("Glue links", "ok", "each table is a document's")


def _redis(settings: Settings) -> Finding:
    key = "doctor"
    try:
        cache = aws_stores.cache(settings)
        cache.delete(key)  # it raises what `get` and `set` keep quiet about
        cache.set(key, b"1", ttl_seconds=5)
        kept = cache.get(key)
        cache.delete(key)
    except AsklineError as error:
        return _missing("Redis", error)
    if kept != b"1":
        return Finding("Redis", "missing", "it keeps nothing", "Allow the user GET, SET, DEL, UNLINK and SCAN.")
    return Finding("Redis", "ok", "reads, writes and removes")


def _missing(part: str, error: AsklineError) -> Finding:
    return Finding(part, "stopped" if error.transient else "missing", error.message, error.fix)
