"""What the AWS adapters must be allowed to do, each tried by the smallest real call. What a try writes, it removes.

A right to remove is tried first, on what is not there: without it nothing is written.
"""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError
from opensearchpy import exceptions as search_exceptions

from foundation import aws_stores
from foundation.adapters.aws import embeddings, image_embeddings, search_client
from foundation.adapters.aws.clients import client
from foundation.adapters.aws.errors import code_of, is_denied, translated
from foundation.errors import AsklineError, ConfigurationError
from foundation.settings import Settings

# "User: arn:… is not authorized to perform: kms:Decrypt on resource: arn:… because …": more exact than what we tried.
_SAID = re.compile(r"not authorized to perform: (?P<action>[\w:*]+)(?: on resource: (?P<resource>arn:\S+))?")
_QUERY_S = 30.0
IMAGES = "Bedrock images"
"""The part that nothing depends on: no stage makes image vectors yet."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One action on one resource. `error`: why it failed; where it is denied, its fix is the missing statement."""

    part: str
    """What it is for, as `S3 landing`."""
    action: str
    """As IAM names it, as `s3:PutObject`; empty where it did not come so far."""
    error: AsklineError | None


class _Rights:
    """Tries for one part."""

    def __init__(self, part: str) -> None:
        self.part = part

    def tried(self, action: str, resource: str, call: Callable[[], Any], *fine: str) -> Tried:
        """`fine`: error codes that only somebody who is allowed gets, as of an object that is not there."""
        try:
            call()
        except ClientError as error:
            if code_of(error) in fine:
                return Tried(self.part, action, None)
            return Tried(self.part, action, self._told(error, action, resource))
        except BotoCoreError as error:
            return Tried(self.part, action, translated(error, self.part))
        except AsklineError as error:
            cause = error.__cause__
            if isinstance(cause, ClientError) and is_denied(cause):
                service = action.partition(":")[0]
                return Tried(self.part, action, self._told(cause, f"{service}:{cause.operation_name}", resource))
            return Tried(self.part, action, error)
        return Tried(self.part, action, None)

    def _told(self, error: ClientError, action: str, resource: str) -> AsklineError:
        if not is_denied(error):
            return translated(error, self.part)
        said = _SAID.search(str(error))
        if said is not None:
            action, resource = said["action"], said["resource"] or resource
        return ConfigurationError(f"{self.part}: {action} is denied.", fix=_add(action, resource))


def identity(settings: Settings) -> str:
    """ARN of whom AWS takes us for. ConfigurationError without credentials or region."""
    try:
        return str(client(settings, "sts", attempts=2).get_caller_identity()["Arn"])
    except (ClientError, BotoCoreError) as error:
        raise translated(error, "AWS credentials") from error


def try_all(settings: Settings) -> Iterator[Tried]:
    """Of every port whose adapter is `aws`. Does not raise: what stops a port's tries is the last of them."""
    ports: list[tuple[str, Callable[[Settings], Iterator[Tried]]]] = [
        ("objects", _objects),
        ("objects", _queue),
        ("catalog", _glue),
        ("warehouse", _athena),
        ("embeddings", _bedrock),
        ("search", _search),
    ]
    for port, tries in ports:
        if settings.adapter(port) != "aws":
            continue
        try:
            yield from tries(settings)
        except AsklineError as error:
            yield Tried(port, "", error)
        except (ClientError, BotoCoreError) as error:  # of tidying up
            yield Tried(port, "", translated(error, port))


def _objects(settings: Settings) -> Iterator[Tried]:
    s3 = client(settings, "s3")
    bucket = aws_stores.required(settings.s3.bucket, "ASKLINE_S3__BUCKET", "the bucket of all objects")
    whole = f"arn:aws:s3:::{bucket}"
    of_bucket = _Rights(f"S3 bucket {bucket}")
    yield of_bucket.tried("s3:ListBucket", whole, lambda: s3.list_objects_v2(Bucket=bucket, MaxKeys=1))
    yield of_bucket.tried("s3:ListBucketVersions", whole, lambda: s3.list_object_versions(Bucket=bucket, MaxKeys=1))
    yield of_bucket.tried("s3:GetBucketLocation", whole, lambda: s3.get_bucket_location(Bucket=bucket))
    yield of_bucket.tried("s3:GetBucketVersioning", whole, lambda: _versioning(s3, bucket))
    locations = [f"s3://{bucket}/{prefix}" for prefix in (settings.s3.landing_prefix, settings.s3.derived_prefix)]
    if settings.adapter("warehouse") == "aws":
        locations += [aws_stores.results_location(settings), aws_stores.dbt_location(settings)]
    for location in locations:
        yield from _folder(settings, s3, *location.removeprefix("s3://").split("/", 1))


def _versioning(s3: Any, bucket: str) -> None:
    if s3.get_bucket_versioning(Bucket=bucket).get("Status") != "Enabled":
        raise ConfigurationError(f"S3 bucket {bucket} has no versioning.", fix="Enable versioning on the bucket.")


def _folder(settings: Settings, s3: Any, bucket: str, prefix: str) -> Iterator[Tried]:
    # An empty part in the key: neither an event nor a listing takes it for a document.
    where = {"Bucket": bucket, "Key": f"{prefix}/doctor-{uuid.uuid4().hex}"}
    rights, arn = _Rights(f"S3 {bucket}/{prefix}"), f"arn:aws:s3:::{bucket}/{prefix}*"
    kms = settings.aws.kms_key_id
    how = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": kms} if kms else {}
    removed = rights.tried(
        "s3:DeleteObjectVersion", arn, lambda: s3.delete_object(**where, VersionId="null"), "NoSuchVersion"
    )
    yield removed
    yield rights.tried(
        "s3:AbortMultipartUpload", arn, lambda: s3.abort_multipart_upload(**where, UploadId="none"), "NoSuchUpload"
    )
    if removed.error is not None:
        return
    put: dict[str, Any] = {}
    yield rights.tried("s3:PutObject", arn, lambda: put.update(s3.put_object(**where, **how, Body=b"doctor")))
    if not put:
        return
    version = {"VersionId": put["VersionId"]} if "VersionId" in put else {}
    try:
        yield rights.tried("s3:GetObject", arn, lambda: s3.get_object(**where)["Body"].read())
        yield rights.tried("s3:GetObjectVersion", arn, lambda: s3.get_object(**where, **version)["Body"].read())
    finally:
        s3.delete_object(**where, **version)


def _queue(settings: Settings) -> Iterator[Tried]:
    url = settings.sqs.uploads_queue_url
    if url is None:
        return
    sqs, rights = client(settings, "sqs"), _Rights("SQS uploads")
    *_, account, name = url.split("/")
    arn = f"arn:aws:sqs:{aws_stores.region(settings)}:{account}:{name}"
    # Nothing is hidden from the sensor: what is read stays visible.
    look: dict[str, Any] = {"MaxNumberOfMessages": 1, "VisibilityTimeout": 0, "WaitTimeSeconds": 0}
    yield rights.tried("sqs:ReceiveMessage", arn, lambda: sqs.receive_message(QueueUrl=url, **look))
    yield rights.tried(
        "sqs:DeleteMessage", arn, lambda: sqs.delete_message(QueueUrl=url, ReceiptHandle="none"),
        "ReceiptHandleIsInvalid", "InvalidParameterValue",
    )  # fmt: skip


def _glue(settings: Settings) -> Iterator[Tried]:
    glue, database = client(settings, "glue"), settings.athena.database
    rights, absent = _Rights(f"Glue {database}"), "EntityNotFoundException"
    account = f"arn:aws:glue:{aws_stores.region(settings)}:{identity(settings).split(':')[4]}"
    arn = [f"{account}:catalog", f"{account}:database/{database}*", f"{account}:table/{database}*/*"]
    resource, table = json.dumps(arn), f"doctor_{uuid.uuid4().hex}"
    at = {"DatabaseName": database}
    yield rights.tried("glue:GetDatabase", resource, lambda: glue.get_database(Name=database), absent)
    # As at the first table: it is made where it is not there.
    yield rights.tried("glue:CreateDatabase", resource, aws_stores.athena_place(settings).prepare_catalog)
    yield rights.tried("glue:GetTables", resource, lambda: glue.get_tables(**at, MaxResults=1))
    removals = [
        rights.tried("glue:BatchDeleteTable", resource,
                     lambda: _all_deleted(glue.batch_delete_table(**at, TablesToDelete=[table]))),
        rights.tried("glue:DeleteTable", resource, lambda: glue.delete_table(**at, Name=table), absent),
    ]  # fmt: skip
    yield from removals
    if any(one.error for one in removals):
        return
    location = aws_stores.derived_location(settings, "doctor")
    entry = {"Name": table, "TableType": "EXTERNAL_TABLE", "StorageDescriptor": {"Columns": [], "Location": location}}
    created = rights.tried("glue:CreateTable", resource, lambda: glue.create_table(**at, TableInput=entry))
    yield created
    if created.error is not None:
        return
    try:
        yield rights.tried("glue:UpdateTable", resource, lambda: glue.update_table(**at, TableInput=entry))
        yield rights.tried("glue:GetTable", resource, lambda: glue.get_table(**at, Name=table))
        yield rights.tried("glue:GetPartitions", resource, lambda: glue.get_partitions(**at, TableName=table))
    finally:
        glue.delete_table(**at, Name=table)


def _all_deleted(answer: dict[str, Any]) -> None:
    for refused in answer.get("Errors", ()):
        detail = refused["ErrorDetail"]
        if detail["ErrorCode"] != "EntityNotFoundException":
            told: Any = {"Error": {"Code": detail["ErrorCode"], "Message": detail.get("ErrorMessage", "")}}
            raise ClientError(told, "BatchDeleteTable")


def _athena(settings: Settings) -> Iterator[Tried]:
    athena, group = client(settings, "athena"), settings.athena.workgroup
    rights = _Rights(f"Athena {group}")
    account = identity(settings).split(":")[4]
    arn = f"arn:aws:athena:{aws_stores.region(settings)}:{account}:workgroup/{group}"
    ready = rights.tried("athena:GetWorkGroup", arn, aws_stores.athena_place(settings).prepare_statements)
    yield ready
    if ready.error is not None:
        return
    results = aws_stores.results_location(settings)
    started: dict[str, Any] = {}
    yield rights.tried("athena:StartQueryExecution", arn, lambda: started.update(athena.start_query_execution(
        QueryString="select 1", WorkGroup=group, ResultConfiguration={"OutputLocation": results})))  # fmt: skip
    if not started:
        return
    query = {"QueryExecutionId": started["QueryExecutionId"]}
    ended = rights.tried("athena:GetQueryExecution", arn, lambda: _succeeded(athena, query))
    yield ended
    if ended.error is None:
        yield rights.tried("athena:GetQueryResults", arn, lambda: athena.get_query_results(**query))
    yield rights.tried(
        "athena:StopQueryExecution", arn, lambda: athena.stop_query_execution(**query), "InvalidRequestException"
    )
    yield rights.tried(
        "s3:DeleteObjectVersion",
        f"arn:aws:s3:::{results.removeprefix('s3://')}*",
        lambda: aws_stores.folder(settings, results).purge_prefix(query["QueryExecutionId"]),
    )


def _succeeded(athena: Any, query: dict[str, Any]) -> None:
    deadline = time.monotonic() + _QUERY_S
    while True:
        status = athena.get_query_execution(**query)["QueryExecution"]["Status"]
        if status["State"] == "SUCCEEDED":
            return
        if status["State"] in ("FAILED", "CANCELLED") or time.monotonic() > deadline:
            raise ConfigurationError(
                f"Athena: `select 1` ended as {status['State']}: {status.get('StateChangeReason', '')}",
                fix="Read Athena's reason; the role needs glue:Get* and s3:GetBucketLocation too (docs/aws.md).",
            )
        time.sleep(0.2)


def _bedrock(settings: Settings) -> Iterator[Tried]:
    # A short text is the least that either model takes; an image would need the same right.
    yield _invoked(settings, "Bedrock", embeddings.MODEL_ID, {"dimensions": 256})
    lengths = {"embeddingConfig": {"outputEmbeddingLength": 256}}
    yield _invoked(settings, IMAGES, image_embeddings.MODEL_ID, lengths)


def _invoked(settings: Settings, part: str, model: str, how: dict[str, Any]) -> Tried:
    bedrock = client(settings, "bedrock-runtime", attempts=2)
    arn = f"arn:aws:bedrock:{aws_stores.region(settings)}::foundation-model/{model}"
    body = json.dumps({"inputText": "doctor", **how})
    return _Rights(part).tried(
        "bedrock:InvokeModel",
        arn,
        lambda: bedrock.invoke_model(modelId=model, body=body, contentType="application/json"),
    )


def _search(settings: Settings) -> Iterator[Tried]:
    chosen = settings.opensearch
    with closing(search_client.connect(settings)) as search:
        index = f"{chosen.index_prefix}doctor-{uuid.uuid4().hex}"
        body = {"settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}}}
        domain = _domain(settings) if chosen.auth == "sigv4" else ""
        yield _searched("es:ESHttpGet", domain, lambda: search.indices.get_mapping(index=index))
        removed = _searched("es:ESHttpDelete", domain, lambda: search.indices.delete(index=index))
        yield removed
        if removed.error is not None:
            return
        created = _searched("es:ESHttpPut", domain, lambda: search.indices.create(index=index, body=body))
        yield created
        if created.error is not None:
            return
        try:
            yield _searched("es:ESHttpPost", domain, lambda: search.indices.refresh(index=index))
        finally:
            search.indices.delete(index=index)


def _searched(action: str, domain: str, call: Callable[[], Any]) -> Tried:
    """`domain`: its ARN, empty where IAM does not decide who is let in."""
    try:
        call()
    except search_exceptions.NotFoundError:
        pass
    except search_exceptions.TransportError as error:
        told = search_client.translated(error, "OpenSearch")
        if domain and error.status_code == 403:
            mapped = "If it has that already, map the role in the domain's own access control (docs/aws.md)."
            told = ConfigurationError(f"OpenSearch: {action} is denied.", fix=f"{_add(action, domain)}. {mapped}")
        return Tried("OpenSearch", action, told)
    return Tried("OpenSearch", action, None)


def _domain(settings: Settings) -> str:
    host = urlsplit(settings.opensearch.url or "").hostname or ""
    named = re.match(r"(?:search|vpc)-(.+)-[a-z0-9]+\.", host)
    account = identity(settings).split(":")[4]
    return f"arn:aws:es:{aws_stores.region(settings)}:{account}:domain/{named[1] if named else '*'}/*"


def _add(action: str, resource: str) -> str:
    """The statement, to be put into the policy as it is."""
    value = json.loads(resource) if resource.startswith("[") else resource
    statement = {"Effect": "Allow", "Action": action, "Resource": value}
    return f"Add to the policy of the role: {json.dumps(statement)}"
