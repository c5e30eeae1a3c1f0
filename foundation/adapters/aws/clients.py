"""boto3 sessions and clients as the settings describe them: region, endpoint, time-outs, retries with jitter."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config

from foundation.adapters.aws.errors import aws_errors
from foundation.settings import Settings


def session(settings: Settings) -> boto3.Session:
    """Credentials come from the AWS environment (a task's role, a profile, keys), never from our settings."""
    return boto3.Session(region_name=settings.aws.region)


def client(
    settings: Settings,
    service: str,
    *,
    attempts: int | None = None,
    read_timeout_s: float | None = None,
    connections: int = 50,
) -> Any:
    """A client, which threads may share. ConfigurationError without a region.

    `attempts`: tries of one call, instead of ASKLINE_AWS__MAX_ATTEMPTS; 1 where the caller paces its tries itself.
    `connections`: how many stay open at most.
    """
    how = config(settings, attempts, read_timeout_s, connections)
    made: Any = session(settings)  # boto3's types know only the services that have a package of their own
    with aws_errors(f"AWS {service}"):
        return made.client(service, endpoint_url=settings.aws.endpoint_url, config=how)


def config(
    settings: Settings, attempts: int | None = None, read_timeout_s: float | None = None, connections: int = 50
) -> Config:
    aws = settings.aws
    return Config(
        connect_timeout=aws.connect_timeout_s,
        read_timeout=read_timeout_s or aws.read_timeout_s,
        # `standard` pauses for a random time that doubles, up to 20 s, and knows S3's SlowDown.
        retries={"mode": "standard", "total_max_attempts": attempts or aws.max_attempts},
        max_pool_connections=connections,
        # A bucket behind an endpoint of one's own is a folder of it, not a host name that nobody resolves.
        s3={"addressing_style": "path"} if aws.endpoint_url else None,
        tcp_keepalive=True,
    )
