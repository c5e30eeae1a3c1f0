"""What the programs on AWS are told: names of settings (docs/settings.md) and their values. No secret is among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deploy.cdk.options import Options
from deploy.cdk.warehouse import DATABASE, SCAN_LIMIT_MB, WORK_GROUP

START_TIMEOUT_S = 300
"""As `run_monitoring.start_timeout_seconds` in deploy/dagster/aws: how long an ECS task may take to begin its run."""
EMBEDDING_MODEL = "titan-embed-text-v2"
NAMESPACE = "askline.internal"
CODE_HOST, WEBSERVER_HOST = "code", "dagster"
"""Below NAMESPACE."""


@dataclass(frozen=True)
class Places:
    """Where the stack's servers are."""

    bucket: str
    queue_url: str
    key_arn: str
    database_url: str
    search_endpoint: str


def settings(options: Options, places: Places) -> dict[str, str]:
    """Of every program."""
    return {
        "ASKLINE_PROFILE": "aws",
        "ASKLINE_AWS__REGION": options.region,
        "ASKLINE_AWS__KMS_KEY_ID": places.key_arn,
        "ASKLINE_S3__BUCKET": places.bucket,
        "ASKLINE_SQS__UPLOADS_QUEUE_URL": places.queue_url,
        "ASKLINE_SQS__WAIT_S": "10",
        "ASKLINE_DATABASE__URL": places.database_url,
        "ASKLINE_DATABASE__IAM": "true",
        "ASKLINE_DATABASE__SSL_MODE": "verify-full",
        "ASKLINE_DATABASE__SSL_ROOT_CERT": "/etc/ssl/certs/rds.pem",
        "ASKLINE_OPENSEARCH__URL": f"https://{places.search_endpoint}",
        "ASKLINE_OPENSEARCH__AUTH": "sigv4",
        "ASKLINE_OPENSEARCH__REPLICAS": "1",
        "ASKLINE_ATHENA__DATABASE": DATABASE,
        "ASKLINE_ATHENA__WORKGROUP": WORK_GROUP,
        "ASKLINE_ATHENA__SCAN_LIMIT_MB": str(SCAN_LIMIT_MB),
        "ASKLINE_BEDROCK__EMBEDDING_MODEL": EMBEDDING_MODEL,
        "ASKLINE_SERVICE__PUBLIC_URL": options.public_url,
        "ASKLINE_DAGSTER__URL": f"http://{WEBSERVER_HOST}.{NAMESPACE}:3000",
        "ASKLINE_DAGSTER__START_TIMEOUT_S": str(START_TIMEOUT_S),
        # EcsRunLauncher and S3ComputeLogManager know this name only.
        "AWS_DEFAULT_REGION": options.region,
    }


def dagster(common: Mapping[str, str], run_task_definition: str, run_logs: str) -> dict[str, str]:
    """Of every program that holds Dagster's instance."""
    return {
        **common,
        "DAGSTER_HOME": "/app/deploy/dagster/aws",
        "DAGSTER_CODE_HOST": f"{CODE_HOST}.{NAMESPACE}",
        "DAGSTER_LOGS_BUCKET": run_logs,
        "DAGSTER_RUN_TASK_DEFINITION": run_task_definition,
    }
