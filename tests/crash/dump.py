"""Everything that the stores of a stack hold, in a form that two runs over the same files must agree on.

Left out are times, ids of runs, tries, and what only waits or tells (queues, audit, erasures that are verified). Ids of
documents are random: each is replaced by the document's file name, which is known without the round's prefix. What is
derived from content has ids that are equal in every run, and stays. A version that was replaced may be in the index or
not: it leaves after the moment of its replacement, or else with the next version of its document, and is never shown.
Its tables have names if it has ever answered, which it has not when a later version overtook it. Which stages a version
went through before one failed depends on where a run was interrupted: those that do not need each other have no order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from sqlalchemy import Connection, Table, and_, or_, select, text
from sqlalchemy.types import DateTime
from tantivy import Query

from foundation.adapters.embedded import search_documents
from foundation.adapters.embedded.search_snapshot import SnapshotReader
from foundation.registry import tables as t
from foundation.registry.database import transaction
from foundation.stores import Stores

Dump = dict[str, list[Any]]
"""Store → its items, sorted."""

_NOT_DUMPED = {t.nudges, t.batches, t.batch_versions, t.idempotency_keys, t.audit, t.erasures, t.active_intervals}
_NOT_DUMPED |= {t.search_indexes, t.inbox}
_ANSWERING = select(t.documents.c.active_version).where(t.documents.c.active_version.is_not(None))
_FAILED = select(t.document_versions.c.version_id).where(t.document_versions.c.status == "failed")
_RANDOM = {"run_id", "attempts", "mention_id", "object_version", "arrival_day"}


def dump(stores: Stores, prefix: str) -> Dump:
    """`prefix`: what the names of this round's files begin with."""
    with transaction(stores.engine) as connection:
        names = _document_names(connection, prefix)
        found = {f"registry {table.name}": list(_rows(connection, table)) for table in _tables()}
        found |= {f"marts {name}": rows for name, rows in _marts(connection, stores)}
        found["inbox that waits"] = _waiting(connection)
        found["active intervals"] = _open_intervals(connection)
        found |= _copies(connection)
        answering = set(connection.execute(_ANSWERING).scalars())
        known = set(connection.execute(select(t.document_versions.c.version_id)).scalars())
    hidden = known - answering
    found["search index"] = [one for index in stores.search.everywhere() for one in _indexed(stores, index, hidden)]
    found["derived objects"] = list(_derived(stores.settings.folder / "derived"))
    found["landing objects"] = list(_landing(stores.settings.landing_folder))
    found["temporary files"] = _left_over(stores)
    return {store: _canonical(items, prefix, names) for store, items in found.items() if items}


def differences(wanted: Dump, got: Dump, limit: int = 3) -> list[str]:
    """What one has and the other has not, a line each; at most `limit` a store."""
    lines = []
    for store in sorted(wanted.keys() | got.keys()):
        left, right = _lines(wanted.get(store, [])), _lines(got.get(store, []))
        for sign, these, those in (("missing", left, right), ("unexpected", right, left)):
            only = _without(these, those)
            lines += [f"{store}: {sign}: {line[:400]}" for line in only[:limit]]
            if len(only) > limit:
                lines.append(f"{store}: {sign}: … and {len(only) - limit} more")
    return lines


def _lines(items: list[Any]) -> list[str]:
    return [json.dumps(item, sort_keys=True, ensure_ascii=False) for item in items]


def _without(these: list[str], those: list[str]) -> list[str]:
    rest = list(those)
    only = []
    for line in these:
        if line in rest:
            rest.remove(line)  # each is used once, so that what is there twice shows
        else:
            only.append(line)
    return only


def _canonical(items: list[Any], prefix: str, names: dict[str, str]) -> list[Any]:
    said = json.dumps(items, sort_keys=True, ensure_ascii=False, default=_plain)
    for document_id, name in names.items():
        said = said.replace(document_id, name)
    for form in (prefix, prefix.replace("-", "_"), prefix.replace("-", " ")):
        said = said.replace(form, "")
    return sorted(json.loads(said), key=lambda item: json.dumps(item, sort_keys=True))


def _plain(value: Any) -> str:
    return str(value.normalize()) if isinstance(value, Decimal) else str(value)


def _document_names(connection: Connection, prefix: str) -> dict[str, str]:
    """id → file name without the prefix; a member is named by its holder and its place."""
    rows = connection.execute(select(t.documents).where(t.documents.c.deleted_at.is_(None))).all()
    own = {row.document_id: f"<{row.file_name.removeprefix(prefix)}>" for row in rows if row.parent_id is None}
    inside = {row.document_id: f"{own.get(row.parent_id)}{row.parent_path}" for row in rows if row.parent_id}
    return own | inside


def _tables() -> list[Table]:
    return [table for table in t.metadata.sorted_tables if table not in _NOT_DUMPED]


def _rows(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    shown = [c for c in table.c if c.name not in _RANDOM and not isinstance(c.type, DateTime)]
    rows = select(*shown)
    if table is t.documents:
        rows = rows.where(table.c.deleted_at.is_(None))
    if table is t.datasets:
        rows = rows.where(table.c.kind == "upload")
    if table is t.document_tables:
        rows = rows.where(table.c.version_id.in_(_ANSWERING))
    if table is t.stages:
        rows = rows.where((table.c.stage != "search_index") | table.c.version_id.in_(_ANSWERING))
        rows = rows.where(~table.c.version_id.in_(_FAILED))
    for row in connection.execute(rows).mappings():
        failed = table is t.document_versions and row["status"] == "failed"
        yield {**row, "counts": None} if failed else dict(row)


def _waiting(connection: Connection) -> list[Any]:
    version = t.document_versions
    rows = connection.execute(
        select(t.inbox.c.document_id, t.inbox.c.version_id)
        .join(
            version, and_(version.c.document_id == t.inbox.c.document_id, version.c.version_id == t.inbox.c.version_id)
        )
        .where(t.inbox.c.claimed_at.is_(None), version.c.status == "uploaded")
    )
    return [list(row) for row in rows]


def _open_intervals(connection: Connection) -> list[Any]:
    intervals = t.active_intervals
    rows = connection.execute(
        select(intervals.c.document_id, intervals.c.version_id)
        .join(t.documents, t.documents.c.document_id == intervals.c.document_id)
        .where(or_(intervals.c.active_to.is_(None), t.documents.c.deleted_at.is_not(None)))
    )
    return [list(row) for row in rows]


def _copies(connection: Connection) -> Dump:
    """Each physical table and each view with its columns, and a hash of its rows in whatever order."""
    relations = connection.execute(
        text(
            "select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname in ('copies', 'data') and c.relkind in ('r', 'v') order by 1, 2"
        )
    ).all()
    found: Dump = {}
    for schema, name in relations:
        rows = connection.execute(text(f'select * from "{schema}"."{name}"'))
        columns, values = list(rows.keys()), sorted(json.dumps([_plain(v) for v in row]) for row in rows)
        found.setdefault(f"Postgres {schema}", []).append(
            [name, columns, len(values), _hash("\n".join(values).encode())]
        )
    return found


def _marts(connection: Connection, stores: Stores) -> Iterator[tuple[str, list[Any]]]:
    for row in connection.execute(select(t.datasets).where(t.datasets.c.kind == "mart")).mappings():
        with stores.derived.local_path(row["parquet_key"]) as path:
            found = pq.read_table(path).to_pylist()
        yield row["table_name"], [row["row_count"], *found]


def _indexed(stores: Stores, index: Any, hidden: set[str]) -> Iterator[Any]:
    reader = SnapshotReader(
        stores.settings.folder / "search" / index.index_name / search_documents.LAYOUT, index.dimension
    )
    searcher = reader.searcher()
    if searcher is None:
        return
    for _, address in searcher.search(Query.all_query(), limit=max(1, searcher.num_docs), count=False).hits:
        one = search_documents.from_document(searcher.doc(address))
        if one.chunk.version_id in hidden:
            continue
        chunk, access = one.chunk, [sorted(one.acl), sorted(one.document_ids), one.document_type]
        span = [chunk.version_id, chunk.start, chunk.end, chunk.text]
        yield [index.index_name, chunk.chunk_id, *span, *access, _hash(one.vector.tobytes())]
    reader.close()


def _derived(root: Path) -> Iterator[Any]:
    """Marts apart: they are published under a new key each time, and the last one stays a while for its readers."""
    for path in sorted(root.rglob("*")):
        key = path.relative_to(root).as_posix()
        if path.is_file() and not key.startswith((".incoming/", "marts/")):
            yield [key, _hash(path.read_bytes())]


def _landing(root: Path) -> Iterator[Any]:
    """What people see; the stored versions by their key; and whatever else lies in `.versions`."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.relative_to(root).parts[0] not in (".incoming", ".versions"):
            yield ["visible", path.relative_to(root).as_posix(), _hash(path.read_bytes())]
    for folder in sorted((root / ".versions").glob("*")):
        if folder.name == ".locks":
            continue
        described = {path.stem: json.loads(path.read_text()) for path in folder.glob("*.json")}
        bytes_of = {path.name: _hash(path.read_bytes()) for path in folder.glob("obj_*") if path.suffix == ""}
        for name in described.keys() | bytes_of.keys():
            yield [
                "version",
                described.get(name, {}).get("key", f"no note of {folder.name}/{name}"),
                bytes_of.get(name),
            ]
        if not described and not bytes_of:
            yield ["empty folder", folder.name]


def _left_over(stores: Stores) -> list[Any]:
    """Temporary files that nobody holds any more, of the object stores and of the runs."""
    at = stores.settings
    folders = (at.landing_folder / ".incoming", at.folder / "derived" / ".incoming", at.folder.parent / "tmp")
    return [
        [path.relative_to(at.folder.parent).as_posix().split("/")[0:-1], path.name[:12]]
        for folder in folders
        for path in sorted(folder.glob("*"))
        if path.name.startswith(("tmp", "copy", "json", "askline-"))
    ]


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
