"""AWS as moto plays it: S3, SQS, Glue, STS and more behind one URL, in memory, empty at the start.

Its Athena runs no statement; tests/engines/athena has one that does.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.engines.processes import Engine, free_port

REGION = "us-east-1"
ACCOUNT = "123456789012"
KEYS: Mapping[str, str] = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION}
"""Environment of a client; any keys will do."""


def versioned_bucket(url: str, name: str) -> str:
    """A new bucket as Askline wants it, behind this endpoint; its name."""
    import boto3  # here, since every test's process reads this module

    keys = {"aws_access_key_id": KEYS["AWS_ACCESS_KEY_ID"], "aws_secret_access_key": KEYS["AWS_SECRET_ACCESS_KEY"]}
    s3: Any = boto3.client("s3", endpoint_url=url, region_name=REGION, **keys)
    s3.create_bucket(Bucket=name)
    s3.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def moto(folder: Path) -> Moto:
    """A server with nothing in it, not started yet; its log goes to `folder`."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    return Moto("moto", command, folder, port)


class Moto(Engine):
    """`url` is the endpoint of every service."""

    def __init__(
        self, name: str, command: Sequence[str], folder: Path, port: int, env: Mapping[str, str] | None = None
    ) -> None:
        self.url = f"http://127.0.0.1:{port}"
        super().__init__(name, command, folder, self._answers, env={**KEYS, **(env or {})}, timeout_s=60)

    def reset(self) -> None:
        """Forget every bucket, queue, table and statement."""
        httpx.post(f"{self.url}/moto-api/reset", trust_env=False).raise_for_status()

    def _answers(self) -> bool:
        return httpx.get(f"{self.url}/moto-api/", trust_env=False).is_success
