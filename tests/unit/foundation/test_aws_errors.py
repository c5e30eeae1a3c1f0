"""What AWS says, as our errors: each class, whether a retry helps, and a fix that names what to do."""

from __future__ import annotations

import pytest
from botocore import exceptions as boto
from botocore.exceptions import ClientError

from foundation.adapters.aws.errors import aws_errors, translated
from foundation.errors import AsklineError, ConfigurationError, InvalidInput, NotFound, Unavailable


def answered(code: str, status: int, operation: str = "PutObject") -> ClientError:
    metadata = {"RequestId": "REQ1", "HTTPStatusCode": status, "HostId": "", "HTTPHeaders": {}, "RetryAttempts": 0}
    return ClientError({"Error": {"Code": code, "Message": "said"}, "ResponseMetadata": metadata}, operation)


@pytest.mark.parametrize(
    ("code", "status", "kind", "fix"),
    [
        ("SlowDown", 503, Unavailable, "quota"),
        ("ThrottlingException", 429, Unavailable, "quota"),
        ("NobodyKnowsThisOne", 429, Unavailable, "quota"),
        ("InternalError", 500, Unavailable, "Try again"),
        ("NobodyKnowsThisOne", 503, Unavailable, "Try again"),
        ("ModelTimeoutException", 408, Unavailable, "Try again"),
        ("NoSuchKey", 404, NotFound, ""),
        ("NoSuchBucket", 404, ConfigurationError, "ASKLINE_S3__BUCKET"),
        ("AWS.SimpleQueueService.NonExistentQueue", 400, ConfigurationError, "ASKLINE_SQS__UPLOADS_QUEUE_URL"),
        ("KMS.NotFoundException", 400, ConfigurationError, "ASKLINE_AWS__KMS_KEY_ID"),
        ("AccessDenied", 403, ConfigurationError, "Allow PutObject"),
        ("ExpiredToken", 400, ConfigurationError, "credentials"),
        ("PermanentRedirect", 301, ConfigurationError, "ASKLINE_AWS__REGION"),
        ("ValidationException", 400, InvalidInput, ""),
        ("NobodyKnowsThisOne", 400, ConfigurationError, "CloudTrail"),
    ],
)
def test_an_answer_of_aws_has_its_class_and_its_fix(code: str, status: int, kind: type[AsklineError], fix: str) -> None:
    error = translated(answered(code, status), "S3 bucket b")
    assert type(error) is kind
    assert fix in error.fix
    assert error.message == f"S3 bucket b: PutObject gave {code} (said), request REQ1."
    assert error.transient == (kind is Unavailable)


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (boto.NoCredentialsError(), ConfigurationError, "no AWS credentials"),
        (boto.NoRegionError(), ConfigurationError, "no AWS region"),
        (boto.EndpointConnectionError(endpoint_url="http://x"), Unavailable, "does not answer"),
        (boto.ReadTimeoutError(endpoint_url="http://x"), Unavailable, "does not answer"),
        (boto.SSLError(endpoint_url="http://x", error="bad"), ConfigurationError, "TLS failed"),
    ],
)
def test_what_happens_on_the_way_too(error: Exception, kind: type[AsklineError], told: str) -> None:
    with pytest.raises(kind, match=told) as raised, aws_errors("S3 bucket b"):
        raise error
    assert raised.value.__cause__ is error  # type: ignore[attr-defined]


def test_what_is_not_of_aws_passes() -> None:
    with pytest.raises(ZeroDivisionError), aws_errors("S3"):
        _ = 1 / 0
