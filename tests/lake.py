"""Tables where the AWS adapters find them: Parquet in S3, an entry in Glue, a work group of Athena."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path

from foundation import aws_stores
from foundation.settings import AdapterSettings, AthenaSettings, AwsSettings, QuerySettings, S3Settings, Settings
from foundation.types import TableInfo
from tests.engines.moto import versioned_bucket


def lake_settings(url: str, *, timeout_s: float = 60) -> Settings:
    """Settings of a bucket that is made, and of a Glue database and a work group that the adapters make."""
    name = versioned_bucket(url, f"test-{uuid.uuid4().hex[:12]}")
    return Settings(
        aws=AwsSettings(endpoint_url=url),
        s3=S3Settings(bucket=name),
        athena=AthenaSettings(database=name.replace("-", "_"), workgroup=name),
        query=QuerySettings(statement_timeout_s=timeout_s),
        adapters=AdapterSettings(objects="aws", warehouse="aws", catalog="aws"),
    )


def put_table(settings: Settings, table: TableInfo, parquet: Path) -> TableInfo:
    """Store and register it; a table of that dataset that was there before is replaced."""
    key = f"versions/{table.dataset_id}/tables/0/table.parquet"
    with parquet.open("rb") as file:
        aws_stores.derived(settings).put(key, file)
    stored = replace(table, parquet_path=key)
    aws_stores.catalog(settings).register(stored)
    return stored
