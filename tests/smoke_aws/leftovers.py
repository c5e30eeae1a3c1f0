"""What each store holds, asked of the store itself by its own client: nothing here goes through our adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import httpx
import psycopg
from psycopg import sql

from tests.smoke_aws.surroundings import BUCKET, DATABASE, Surroundings

_STAYS = {
    *("alembic_version", "search_indexes", "batches", "erasures", "audit"),
    # Of a document its id, owner and times; of answers what the documents did not say.
    *("documents", "sessions", "answers", "messages"),
}
"""Tables of the registry that have rows when there is no document any more."""


class Leftovers:
    def __init__(self, at: Surroundings) -> None:
        self._at = at

    def counted(self) -> dict[str, list[str]]:
        """By store: the names of what is left in it."""
        stores: dict[str, Callable[[], list[str]]] = {
            "S3 versions": self.s3_versions,
            "OpenSearch": self.opensearch_chunks,
            "Glue": self.glue_tables,
            "Postgres rows": self.postgres_rows,
            "Postgres copies": self.postgres_copies,
            "Redis": self.redis_keys,
        }
        return {name: left() for name, left in stores.items()}

    def holding(self, needles: Iterable[bytes]) -> list[str]:
        """Names of what holds one of these words, in the values of every store."""
        words = list(needles)
        return [name for name, value in self._values() if any(word in value for word in words)]

    def s3_versions(self) -> list[str]:
        """Each version and delete marker of the bucket: landing, derived, Athena's results, dbt's builds."""
        return [f"{item['Key']} {item['VersionId']}" for item in self._s3_items(markers=True)]

    def opensearch_chunks(self) -> list[str]:
        """Chunks that a search would find, and deleted ones whose bytes are still in a segment."""
        left = []
        for name, stats in self._search("GET", "_stats/docs")["indices"].items():
            hits = self._search("POST", f"{name}/_search?size=100", {"query": {"match_all": {}}})["hits"]["hits"]
            left += [f"{name} {hit['_id']}" for hit in hits if hit["_id"] != "manifest"]
            deleted = stats["primaries"]["docs"]["deleted"]
            left += [f"{name}: {deleted} deleted documents in segments"] if deleted else []
        return left

    def glue_tables(self) -> list[str]:
        glue = self._at.client("glue")
        databases = [one["Name"] for one in glue.get_databases()["DatabaseList"]]
        return [
            f"{database}.{table['Name']}"
            for database in databases
            if database.startswith(DATABASE)
            for table in glue.get_tables(DatabaseName=database)["TableList"]
        ]

    def postgres_rows(self) -> list[str]:
        """Rows of documents, and documents that still have their name."""
        left = [f"{table}: {count} rows" for table, count in self._tables() if count and table not in _STAYS]
        with psycopg.connect(self._at.postgres_url) as connection:
            named = connection.execute("select document_id from askline.documents where file_name <> '(erased)'")
            return left + [f"documents: {document} has its name" for (document,) in named]

    def postgres_copies(self) -> list[str]:
        with psycopg.connect(self._at.postgres_url) as connection:
            found = connection.execute("select tablename from pg_tables where schemaname = 'copies'")
            return [str(name) for (name,) in found]

    def redis_keys(self) -> list[str]:
        with self._at.redis.client() as redis:
            return [key.decode() for key in redis.scan_iter()]

    def _s3_items(self, *, markers: bool) -> list[dict[str, Any]]:
        pages = self._at.client("s3").get_paginator("list_object_versions").paginate(Bucket=BUCKET)
        kinds = ("Versions", "DeleteMarkers") if markers else ("Versions",)
        return [item for page in pages for kind in kinds for item in page.get(kind, ())]

    def _search(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx.request(method, f"{self._at.search.url}/{path}", json=body, trust_env=False, timeout=30)
        return answer.raise_for_status().json()

    def _tables(self) -> list[tuple[str, int]]:
        with psycopg.connect(self._at.postgres_url) as connection:
            names = [name for (name,) in connection.execute(
                "select tablename from pg_tables where schemaname = 'askline' order by 1")]  # fmt: skip
            counted = sql.SQL("select count(*) from askline.{}")
            return [(name, connection.execute(counted.format(sql.Identifier(name))).fetchone()[0]) for name in names]  # type: ignore[index]

    def _values(self) -> Iterable[tuple[str, bytes]]:
        s3 = self._at.client("s3")
        for item in self._s3_items(markers=False):
            body = s3.get_object(Bucket=BUCKET, Key=item["Key"], VersionId=item["VersionId"])["Body"].read()
            yield f"s3 {item['Key']}", body
        for path in (self._at.search.folder / "data").rglob("*"):  # the engine's own files
            if path.is_file():
                yield f"opensearch {path.name}", path.read_bytes()
        with psycopg.connect(self._at.postgres_url) as connection:
            found = connection.execute(
                "select schemaname, tablename from pg_tables"
                " where schemaname not in ('pg_catalog', 'information_schema')"
            ).fetchall()
            for schema, name in found:
                rows = connection.execute(sql.SQL("select t::text from {} t").format(sql.Identifier(schema, name)))
                yield f"postgres {schema}.{name}", "\n".join(row for (row,) in rows).encode()
        with self._at.redis.client() as redis:
            for key in redis.scan_iter():
                yield f"redis {key.decode()}", redis.get(key) or b""  # type: ignore[misc]
        for database in self._at.client("glue").get_databases()["DatabaseList"]:
            tables = self._at.client("glue").get_tables(DatabaseName=database["Name"])["TableList"]
            yield from ((f"glue {table['Name']}", str(table).encode()) for table in tables)
