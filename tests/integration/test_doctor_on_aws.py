"""`askline doctor` with the adapters of AWS: all is tried on the engines, and one denied permission is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import httpx
import pytest
from lake import lake_settings
from pydantic import SecretStr
from sqlalchemy import Engine

from cli.doctor_aws import examine_aws
from cli.finding import Finding
from foundation.adapters.embedded.embeddings import OnnxEmbedder
from foundation.settings import AwsSettings, DatabaseSettings, OpenSearchSettings, RedisSettings, Settings, SqsSettings
from tests.doubles.aws_faults import Fault, FaultyWire
from tests.doubles.bedrock import Bedrock
from tests.engines.athena import Athena
from tests.engines.opensearch import OpenSearch
from tests.engines.redis import RedisServer

pytestmark = [pytest.mark.engines, pytest.mark.usefixtures("aws_keys")]


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def bedrock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bedrock]:
    with Bedrock(OnnxEmbedder("bge-small-en-v1.5", threads=1)).running() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", running.url)
        yield running


@pytest.fixture
def aws_wire(athena_server: Athena, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyWire]:
    with FaultyWire(athena_server.url).running() as running:
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        yield running


@pytest.fixture
def search_wire(opensearch_server: OpenSearch) -> Iterator[FaultyWire]:
    with FaultyWire(opensearch_server.url).running() as running:
        yield running


@pytest.fixture
def settings(
    athena_server: Athena, aws_wire: FaultyWire, search_wire: FaultyWire, bedrock: Bedrock, redis_server: RedisServer
) -> Settings:
    lake = lake_settings(athena_server.url)
    sqs: Any = boto3.client("sqs")
    queue = sqs.create_queue(QueueName=lake.s3.bucket)["QueueUrl"]
    return Settings(
        profile="aws",
        aws=AwsSettings(),
        s3=lake.s3,
        athena=lake.athena,
        sqs=SqsSettings(uploads_queue_url=queue),
        opensearch=OpenSearchSettings(url=search_wire.url, replicas=0),
        redis=RedisSettings(url=SecretStr(redis_server.url)),
    )


def wrong(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.state != "ok"]


def left(settings: Settings, opensearch_server: OpenSearch) -> list[str]:
    """Names of what the tries have written."""
    s3: Any = boto3.client("s3")
    page = s3.list_object_versions(Bucket=settings.s3.bucket)
    glue: Any = boto3.client("glue")
    tables = glue.get_tables(DatabaseName=settings.athena.database)["TableList"]
    indexes = httpx.get(f"{opensearch_server.url}/_cat/indices/*doctor*?h=index", trust_env=False).text.split()
    return [item["Key"] for item in page.get("Versions", [])] + [table["Name"] for table in tables] + indexes


def test_every_part_is_tried_and_nothing_is_left_of_it(settings: Settings, opensearch_server: OpenSearch) -> None:
    findings = list(examine_aws(settings))
    assert wrong(findings) == []
    told = {finding.part.partition(" ")[0]: finding.detail for finding in findings}
    assert told.keys() == {"AWS", "S3", "SQS", "Glue", "Athena", "Bedrock", "OpenSearch", "Redis"}
    assert "glue:CreateTable" in told["Glue"] and "bedrock:InvokeModel" in told["Bedrock"]
    assert left(settings, opensearch_server) == []


@pytest.mark.parametrize(
    ("method", "within", "code", "action", "resource"),
    [
        ("PUT", "/landing//doctor", "AccessDenied", "s3:PutObject", "arn:aws:s3:::{bucket}/landing/*"),
        ("DELETE", "/landing//doctor", "AccessDenied", "s3:DeleteObjectVersion", "arn:aws:s3:::{bucket}/landing/*"),
        ("GET", "?versions", "AccessDenied", "s3:ListBucketVersions", "arn:aws:s3:::{bucket}"),
        (
            "POST",
            "AmazonSQS.ReceiveMessage",
            "AccessDeniedException",
            "sqs:ReceiveMessage",
            "arn:aws:sqs:us-east-1:123456789012:{bucket}",
        ),
        ("POST", "AWSGlue.CreateTable", "AccessDeniedException", "glue:CreateTable", "table/{database}*/*"),
        (
            "POST",
            "AmazonAthena.StartQueryExecution",
            "AccessDeniedException",
            "athena:StartQueryExecution",
            "workgroup/{bucket}",
        ),
    ],
)
def test_a_denied_permission_is_named_with_its_statement(
    settings: Settings,
    opensearch_server: OpenSearch,
    aws_wire: FaultyWire,
    method: str,
    within: str,
    code: str,
    action: str,
    resource: str,
) -> None:
    aws_wire.faults = [Fault(method, within, status=403, code=code)]
    (finding,) = wrong(list(examine_aws(settings)))
    assert finding.state == "missing" and f"{action} is denied" in finding.detail
    statement = json.loads((finding.fix or "").removeprefix("Add to the policy of the role: "))
    assert (statement["Effect"], statement["Action"]) == ("Allow", action)
    wanted = resource.format(bucket=settings.s3.bucket, database=settings.athena.database)
    assert wanted in json.dumps(statement["Resource"])
    assert left(settings, opensearch_server) == []


def test_nothing_is_written_where_it_could_not_be_removed(settings: Settings, aws_wire: FaultyWire) -> None:
    aws_wire.faults = [Fault("DELETE", "/landing//doctor", status=403, code="AccessDenied")]
    assert len(wrong(list(examine_aws(settings)))) == 1
    written = [one for one in aws_wire.seen if one.startswith("PUT") and "//doctor" in one]
    assert written and not any("/landing/" in one for one in written)


def test_bedrock_and_opensearch_that_deny_are_named(
    settings: Settings, bedrock: Bedrock, search_wire: FaultyWire
) -> None:
    bedrock.fail("AccessDeniedException")
    search_wire.faults = [Fault("PUT", "doctor", status=403, code="Forbidden")]
    findings = {finding.part: finding for finding in wrong(list(examine_aws(settings)))}
    assert findings.keys() == {"Bedrock", "OpenSearch"}
    assert '"Action": "bedrock:InvokeModel"' in (findings["Bedrock"].fix or "")
    assert "foundation-model/amazon.titan-embed-text-v2:0" in (findings["Bedrock"].fix or "")
    assert '"Action": "es:ESHttpPut"' in (findings["OpenSearch"].fix or "")


def test_what_does_not_answer_is_no_missing_permission(settings: Settings, tmp_path: Path) -> None:
    gone = settings.model_copy(
        update={
            "opensearch": OpenSearchSettings(url="http://127.0.0.1:9", timeout_s=1),
            "redis": RedisSettings(url=SecretStr("redis://127.0.0.1:9/0")),
        }
    )
    findings = {finding.part: finding.state for finding in wrong(list(examine_aws(gone)))}
    assert findings == {"OpenSearch": "stopped", "Redis": "stopped"}


def test_a_setting_that_is_missing_is_named_and_the_rest_is_tried(settings: Settings) -> None:
    bare = settings.model_copy(update={"opensearch": OpenSearchSettings(), "sqs": SqsSettings()})
    findings = wrong(list(examine_aws(bare)))
    assert [(finding.part, finding.state) for finding in findings] == [
        ("search", "missing"),
        ("SQS uploads", "warning"),
    ]
    assert "ASKLINE_OPENSEARCH__URL" in findings[0].detail


def test_glue_tables_that_nobody_links_to_are_found(settings: Settings, registry_engine: Engine) -> None:
    url = registry_engine.url.render_as_string(hide_password=False).replace("+psycopg", "")
    known = settings.model_copy(update={"database": DatabaseSettings(url=SecretStr(url))})
    links = [f for f in examine_aws(known) if f.part == "Glue links"]
    assert [(f.state, f.fix) for f in links] == [("ok", None)]
    glue: Any = boto3.client("glue")
    glue.create_table(DatabaseName=settings.athena.database, TableInput={"Name": "stranger"})
    (finding,) = wrong(list(examine_aws(known)))
    assert finding.state == "warning" and f"{settings.athena.database}.stranger" in finding.detail


def test_the_embedded_profile_has_no_part_of_aws() -> None:
    assert list(examine_aws(Settings())) == []
