"""An AWS account made of the engines and doubles: bucket, queue, Glue, Athena, RDS, OpenSearch, Redis, Bedrock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import psycopg

from foundation.adapters.embedded import postgres
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from tests.doubles.bedrock import Bedrock
from tests.doubles.rds import RdsDoor
from tests.engines.athena import Athena
from tests.engines.certificates import certificates
from tests.engines.moto import KEYS, versioned_bucket
from tests.engines.opensearch import OpenSearch, opensearch
from tests.engines.redis import RedisServer

BUCKET = "askline-documents"
DATABASE = "askline_lake"
WORK_GROUP = "askline-smoke"


@dataclass(frozen=True)
class Surroundings:
    """All running. `postgres_url` goes past RDS's door, as its superuser."""

    athena: Athena
    search: OpenSearch
    redis: RedisServer
    bedrock: Bedrock
    postgres_url: str
    environment: Mapping[str, str]
    """Of a process of ours: the whole configuration, as a task's definition would give it."""

    def client(self, service: str) -> Any:
        """boto3's, which none of our adapters has made."""
        return boto3.client(
            service,
            endpoint_url=self.athena.url,
            region_name=KEYS["AWS_DEFAULT_REGION"],
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )


@contextmanager
def surroundings(folder: Path) -> Iterator[Surroundings]:
    """Start everything over `folder`; stopped in any case."""
    for name in ("athena", "opensearch", "redis"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    tls = certificates(folder / "tls")
    athena, search = Athena(folder / "athena"), opensearch(folder / "opensearch")
    redis = RedisServer(folder / "redis", tls)
    bedrock = Bedrock(OnnxEmbedder("bge-small-en-v1.5", threads=1))
    with ExitStack() as stack:
        # Side by side. The threads stay as long as the engines, which end with the thread that started them.
        pool = stack.enter_context(ThreadPoolExecutor(3))
        for engine in (athena, search, redis):
            stack.callback(engine.stop)
        started = [pool.submit(engine.start) for engine in (athena, search, redis)]
        stack.callback(postgres.stop, folder / "rds")
        url = postgres.start(folder / "rds")
        for one in started:
            one.result()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("create role rds_iam")  # as RDS has it
        stack.enter_context(bedrock.running())
        door = stack.enter_context(RdsDoor(url, tls).running())
        made = Surroundings(athena, search, redis, bedrock, url, {})
        queue = _bucket_and_queue(made)
        yield Surroundings(athena, search, redis, bedrock, url, {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASKLINE_"))},
            **KEYS,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": athena.url,
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock.url,
            "ASKLINE_PROFILE": "aws",
            "ASKLINE_S3__BUCKET": BUCKET,
            "ASKLINE_SQS__UPLOADS_QUEUE_URL": queue,
            "ASKLINE_ATHENA__DATABASE": DATABASE,
            "ASKLINE_ATHENA__WORKGROUP": WORK_GROUP,
            "ASKLINE_OPENSEARCH__URL": search.url,
            "ASKLINE_OPENSEARCH__REPLICAS": "0",
            "ASKLINE_REDIS__URL": redis.url,
            "ASKLINE_REDIS__CA_FILE": str(tls.ca),
            "ASKLINE_DATABASE__URL": f"postgresql://postgres@localhost:{door.port}/{door.database}",
            "ASKLINE_DATABASE__SSL_MODE": "verify-full",
            "ASKLINE_DATABASE__SSL_ROOT_CERT": str(tls.ca),
            "ASKLINE_DATABASE__IAM": "true",
        })  # fmt: skip


def _bucket_and_queue(made: Surroundings) -> str:
    """A versioned bucket whose landing folder tells a queue of all that happens; returns the queue's URL."""
    s3, sqs = made.client("s3"), made.client("sqs")
    versioned_bucket(made.athena.url, BUCKET)
    url: str = sqs.create_queue(QueueName="uploads")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    told = {
        "QueueArn": arn,
        "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"],
        "Filter": {"Key": {"FilterRules": [{"Name": "prefix", "Value": "landing/"}]}},
    }
    s3.put_bucket_notification_configuration(Bucket=BUCKET, NotificationConfiguration={"QueueConfigurations": [told]})
    return url
