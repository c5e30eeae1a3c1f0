"""Writing to S3: one request, or parts, each with its sha256; whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, BinaryIO

from botocore.exceptions import BotoCoreError, ClientError

SHA256 = "askline-sha256"
"""Metadata: sha256 (hex) of the whole object."""
_BLOCK = 1 << 20
_IN_MEMORY = 8 << 20
_PARTS = 4
_SMALLEST_PART = 5 << 20  # S3's limit
_MOST_PARTS = 10_000


@dataclass(frozen=True, slots=True)
class Whole:
    """Bytes that have arrived to their end; `size` in bytes."""

    file: IO[bytes]
    size: int
    sha256: str


@contextmanager
def received(data: BinaryIO | bytes) -> Iterator[Whole]:
    """The bytes at hand, with their sha256: what breaks off before its end raises here, and S3 never hears of it."""
    digest, size = hashlib.sha256(), 0
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as file:
        blocks = [data] if isinstance(data, bytes) else iter(lambda: data.read(_BLOCK), b"")
        for block in blocks:
            digest.update(block)
            size += len(block)
            file.write(block)
        file.seek(0)
        yield Whole(file, size, digest.hexdigest())


class Upload:
    """`multipart_bytes`: above this size an object goes in parts of a quarter of it."""

    def __init__(self, client: Any, bucket: str, kms_key_id: str | None, multipart_bytes: int) -> None:
        self._s3 = client
        self._multipart_bytes = multipart_bytes
        self._where = {"Bucket": bucket}
        kms = {"ServerSideEncryption": "aws:kms", "SSEKMSKeyId": kms_key_id, "BucketKeyEnabled": True}
        self._encryption: dict[str, Any] = kms if kms_key_id else {}

    def put(self, key: str, whole: Whole) -> str | None:
        """Returns the version id, None on a bucket without versioning. Raises botocore's errors."""
        where = {**self._where, "Key": key}
        how = {**self._encryption, "Metadata": {SHA256: whole.sha256}}
        if whole.size > self._multipart_bytes:
            return self._in_parts(where, how, whole)
        checksum = _base64(bytes.fromhex(whole.sha256))
        done: dict[str, Any] = self._s3.put_object(**where, **how, Body=whole.file, ChecksumSHA256=checksum)
        return done.get("VersionId")

    def _in_parts(self, where: dict[str, str], how: dict[str, Any], whole: Whole) -> str | None:
        size = max(_SMALLEST_PART, self._multipart_bytes // 4, -(-whole.size // _MOST_PARTS))
        started = self._s3.create_multipart_upload(**where, **how, ChecksumAlgorithm="SHA256")
        upload = {**where, "UploadId": started["UploadId"]}

        def send(part: tuple[int, bytes]) -> dict[str, Any]:
            number, data = part
            checksum = _base64(hashlib.sha256(data).digest())
            sent = self._s3.upload_part(**upload, PartNumber=number, Body=data, ChecksumSHA256=checksum)
            return {"PartNumber": number, "ETag": sent["ETag"], "ChecksumSHA256": checksum}

        try:
            parts: list[dict[str, Any]] = []
            with ThreadPoolExecutor(_PARTS, thread_name_prefix="s3-part") as pool:
                blocks = enumerate(iter(lambda: whole.file.read(size), b""), start=1)
                while batch := list(islice(blocks, _PARTS)):
                    parts += pool.map(send, batch)
            done: dict[str, Any] = self._s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": parts})
        except BaseException:
            with suppress(ClientError, BotoCoreError):  # the first error says what is wrong
                self._s3.abort_multipart_upload(**upload)
            raise
        return done.get("VersionId")


def _base64(digest: bytes) -> str:
    return base64.b64encode(digest).decode()
