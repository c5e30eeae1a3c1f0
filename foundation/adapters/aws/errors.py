"""What AWS services and the way to them raise, as our errors: transient or terminal, with the fix.

Each service's codes stand here and nowhere else; a code that is not listed is judged by its HTTP status.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as boto
from botocore.exceptions import ClientError

from foundation.errors import AsklineError, ConfigurationError, InvalidInput, NotFound, Unavailable

_THROTTLED = {
    "SlowDown",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "RequestThrottled",
    "RequestThrottledException",
    "BandwidthLimitExceeded",
    "LimitExceededException",
    "ProvisionedThroughputExceededException",
    "ServiceQuotaExceededException",
}
_NOT_ANSWERING = {
    "InternalError",
    "InternalFailure",
    "InternalServerException",
    "InternalServiceException",
    "ConcurrentModificationException",
    "OperationTimeoutException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "RequestTimeout",
    "RequestTimeoutException",
    "OperationAborted",
    "ModelTimeoutException",
    "ModelNotReadyException",
    "ModelErrorException",
}
_ABSENT = {
    "NoSuchKey",
    "NoSuchVersion",
    "NoSuchUpload",
    "NotFound",
    "404",
    "EntityNotFoundException",
    "ResourceNotFoundException",
}
_DENIED = {
    "AccessDenied",
    "AccessDeniedException",
    "403",
    "Forbidden",
    "UnauthorizedOperation",
    "AllAccessDisabled",
    "KMS.AccessDeniedException",
}
_CREDENTIALS = {
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "InvalidToken",
    "InvalidSecurity",
    "OptInRequired",
}
_ELSEWHERE = {
    "PermanentRedirect",
    "AuthorizationHeaderMalformed",
    "IllegalLocationConstraintException",
    "301",
    "307",
    "TemporaryRedirect",
}
_NO_RESOURCE = {
    "NoSuchBucket": "Create the bucket, or correct ASKLINE_S3__BUCKET.",
    "AWS.SimpleQueueService.NonExistentQueue": "Create the queue, or correct ASKLINE_SQS__UPLOADS_QUEUE_URL.",
    "QueueDoesNotExist": "Create the queue, or correct ASKLINE_SQS__UPLOADS_QUEUE_URL.",
    "KMS.NotFoundException": "Correct ASKLINE_AWS__KMS_KEY_ID; the key must be in the bucket's region.",
    "KMS.DisabledException": "Enable the KMS key, or name another by ASKLINE_AWS__KMS_KEY_ID.",
}
_ALLOW = {
    "InvokeModel": "Allow bedrock:InvokeModel on this model in the role's policy, and ask for the model's access in the"
    " Bedrock console of this region.",
}
_REFUSED = {"ValidationException", "InvalidRequest", "InvalidRequestException", "InvalidArgument", "KeyTooLongError"}


@contextmanager
def aws_errors(what: str) -> Iterator[None]:
    """Turn what botocore raises inside into one of our errors. `what` begins the message: "S3 bucket b, key k"."""
    try:
        yield
    except (boto.BotoCoreError, ClientError) as error:
        raise translated(error, what) from error


def translated(error: Exception, what: str) -> AsklineError:
    """The error of ours; one that is not botocore's counts as Unavailable."""
    if isinstance(error, ClientError):
        return _answered(error, what)
    if isinstance(error, boto.NoCredentialsError | boto.PartialCredentialsError | boto.CredentialRetrievalError):
        return ConfigurationError(
            f"{what}: there are no AWS credentials.",
            fix="Give the task a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )
    if isinstance(error, boto.NoRegionError):
        return ConfigurationError(f"{what}: no AWS region is named.", fix="Set ASKLINE_AWS__REGION.")
    if isinstance(error, boto.ParamValidationError | boto.InvalidEndpointConfigurationError):
        return ConfigurationError(f"{what}: {first_line(error)}", fix="Correct the AWS settings; docs/settings.md.")
    if isinstance(error, boto.SSLError):
        return ConfigurationError(
            f"{what}: TLS failed: {first_line(error)}",
            fix="Name the certificates by AWS_CA_BUNDLE, or correct ASKLINE_AWS__ENDPOINT_URL.",
        )
    return Unavailable(f"{what} does not answer: {first_line(error)}")


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def request_id(error: ClientError) -> str:
    """The id under which AWS support finds the call; empty where there was none."""
    return str(error.response.get("ResponseMetadata", {}).get("RequestId", ""))


def is_throttled(error: Exception) -> bool:
    if not isinstance(error, ClientError):
        return False
    return code_of(error) in _THROTTLED or status_of(error) == 429


def is_denied(error: ClientError) -> bool:
    return code_of(error) in _DENIED


def status_of(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _answered(error: ClientError, what: str) -> AsklineError:
    code, status = code_of(error), status_of(error)
    operation = getattr(error, "operation_name", "") or "the call"
    said = error.response.get("Error", {}).get("Message") or code
    told = f"{what}: {operation} gave {code} ({said})"
    if request_id(error):
        told += f", request {request_id(error)}"
    if is_throttled(error):
        return Unavailable(f"{told}.", fix="It is retried; if it stays, ask AWS for a higher quota of this service.")
    if code in _NO_RESOURCE:
        return ConfigurationError(f"{told}.", fix=_NO_RESOURCE[code])
    if code in _ELSEWHERE:
        return ConfigurationError(f"{told}.", fix="It is in another region: correct ASKLINE_AWS__REGION.")
    if code in _CREDENTIALS:
        return ConfigurationError(f"{told}.", fix="Renew the AWS credentials; check the clock of this machine.")
    if code in _DENIED:
        fix = _ALLOW.get(operation, f"Allow {operation} on it in the role's policy; docs/aws.md.")
        return ConfigurationError(f"{told}.", fix=fix)
    if code in _ABSENT:
        return NotFound(f"{told}.")
    if code in _REFUSED:
        return InvalidInput(f"{told}.")
    if code in _NOT_ANSWERING or status >= 500 or status == 0:
        return Unavailable(f"{told}.")
    return ConfigurationError(f"{told}.", fix="Read the message of AWS; the request id finds the call in CloudTrail.")
