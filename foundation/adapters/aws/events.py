"""S3's events out of an SQS queue, as S3's own notifications or as EventBridge's events."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import unquote_plus

from foundation.adapters.aws.errors import aws_errors
from foundation.adapters.aws.objects import is_key
from foundation.errors import Unavailable
from foundation.ports.events import ObjectNotice

_AT_ONCE = 10  # SQS's limit

logger = logging.getLogger(__name__)


class SqsEvents:
    """Port `events` over a queue. Threads may share it.

    `client` is boto3's of SQS; `bucket` and `prefix` those of the landing store: what is elsewhere is nothing to us. A
    message of no known form stays in the queue, whose redrive policy puts it among the dead letters.
    """

    def __init__(
        self, client: Any, queue_url: str, bucket: str, prefix: str, *, wait_s: int, visibility_s: int
    ) -> None:
        self._sqs = client
        self._url = queue_url
        self._bucket, self._prefix = bucket, prefix
        self._wait_s, self._visibility_s = wait_s, visibility_s

    def receive(self) -> list[ObjectNotice]:
        with aws_errors(f"SQS queue {self._url}"):
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_AT_ONCE,
                WaitTimeSeconds=self._wait_s,
                VisibilityTimeout=self._visibility_s,
            )
        notices = []
        for message in answer.get("Messages", ()):
            try:
                keys = tuple(dict.fromkeys(self._ours(json.loads(message["Body"]))))
            except (ValueError, KeyError, TypeError, AttributeError):
                logger.warning("SQS message %s is no event of S3's; it is left in the queue.", message["MessageId"])
                continue
            notices.append(ObjectNotice(keys, message["ReceiptHandle"]))
        return notices

    def done(self, notices: Sequence[ObjectNotice]) -> None:
        for start in range(0, len(notices), _AT_ONCE):
            entries = [
                {"Id": str(number), "ReceiptHandle": notice.receipt}
                for number, notice in enumerate(notices[start : start + _AT_ONCE])
            ]
            with aws_errors(f"SQS queue {self._url}"):
                answer = self._sqs.delete_message_batch(QueueUrl=self._url, Entries=entries)
            if failed := [entry for entry in answer.get("Failed", ()) if not entry.get("SenderFault")]:
                raise Unavailable(f"SQS queue {self._url}: {len(failed)} messages were not deleted.")

    def _ours(self, body: Any) -> Iterator[str]:
        for bucket, full in _objects(body):
            key = full.removeprefix(self._prefix)
            if bucket == self._bucket and full.startswith(self._prefix) and is_key(key):
                yield key


def _objects(body: dict[str, Any]) -> list[tuple[str, str]]:
    """(bucket, key) of what an event is about; ValueError, KeyError when it is none of S3's."""
    if body.get("Event") == "s3:TestEvent":
        return []
    if "Records" in body:
        # Form-encoded: a space came as +, a plus as %2B, any other letter as the bytes of its UTF-8.
        return [
            (r["s3"]["bucket"]["name"], unquote_plus(r["s3"]["object"]["key"], errors="strict"))
            for r in body["Records"]
        ]
    if body.get("source") == "aws.s3":
        return [(body["detail"]["bucket"]["name"], body["detail"]["object"]["key"])]  # as it is, not encoded
    raise ValueError("no event of S3's")
