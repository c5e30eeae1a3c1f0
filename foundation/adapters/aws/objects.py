"""Objects in S3: a store is a prefix of a versioned bucket.

Our own metadata carries the sha256 of the whole object, since S3's checksum of an upload in parts is one of parts. What
others put there has none: its bytes are read once for it, and remembered while this process lives.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tempfile
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

from botocore.exceptions import ClientError

from foundation.adapters.aws.errors import aws_errors, code_of
from foundation.adapters.aws.objects_body import ObjectBody
from foundation.adapters.aws.objects_upload import SHA256, Upload, received
from foundation.errors import AsklineError, ConfigurationError, InvalidInput, NotFound
from foundation.held_files import abandoned, held_file
from foundation.types import ObjectVersion

_BLOCK = 1 << 20
_HEADS = 16
_REMEMBERED = 50_000
_DELETED_AT_ONCE = 1000  # S3's limit of one DeleteObjects
_DOWNLOAD = "askline-object"
_NO_SUCH = {"NoSuchKey", "NoSuchVersion", "404", "405", "MethodNotAllowed"}
"""What S3 says of a key, a version or a delete marker that is asked for and not there."""
_UNVERSIONED = "null"
"""S3's id of what was written while the bucket had no versioning; another object may have it later."""
_NO_VERSION_ID = {"InvalidArgument", "400"}
"""What it says of a version id that it never gave."""


class S3Objects:
    """Port `objects` over a prefix of a bucket. Threads may share it.

    `client` is boto3's of S3; `kms_key_id` encrypts what is written by that key, else the bucket's own rule holds.
    """

    def __init__(
        self,
        client: Any,
        bucket: str,
        prefix: str,
        *,
        versioned: bool,
        kms_key_id: str | None = None,
        multipart_bytes: int = 64_000_000,
    ) -> None:
        self.versioned = versioned
        self.bucket, self.prefix = bucket, prefix
        self._s3 = client
        self._upload = Upload(client, bucket, kms_key_id, multipart_bytes)
        self._known: OrderedDict[tuple[str, str], ObjectVersion] = OrderedDict()
        self._versioning_seen = self._bucket_seen = False

    def put(self, key: str, data: BinaryIO | bytes) -> ObjectVersion:
        key = unicodedata.normalize("NFC", key)
        full = self._full(key)
        with received(data) as whole:
            if self.versioned:
                self._require_versioning()
                latest = self._latest(key, whole.size)
                if latest is not None and latest.sha256 == whole.sha256:
                    return latest
            with self._errors(key):
                version_id = self._upload.put(full, whole)
        if not self.versioned:
            return ObjectVersion(key, version_id or whole.sha256, whole.sha256, whole.size, datetime.now(UTC))
        return self.head(key, version_id)

    def open(self, key: str, version_id: str | None = None) -> BinaryIO:
        """A stream from the network: it goes on where it broke, and raises Unavailable at its end if bytes differ."""
        return io.BufferedReader(self._body(key, version_id), _BLOCK)

    def read(self, key: str, version_id: str | None = None) -> bytes:
        with self.open(key, version_id) as file:
            return file.read()

    @contextlib.contextmanager
    def local_path(self, key: str, version_id: str | None = None) -> Iterator[Path]:
        """A temporary download; what a process that was killed left of its own is removed by the next."""
        folder = Path(tempfile.gettempdir())
        for path in abandoned(folder, f"{_DOWNLOAD}*"):
            path.unlink(missing_ok=True)
        with self.open(key, version_id) as source, held_file(folder, prefix=_DOWNLOAD) as (file, path):
            while block := source.read(_BLOCK):
                file.write(block)
            file.flush()
            yield path

    def head(self, key: str, version_id: str | None = None) -> ObjectVersion:
        return self._described_as(key, self._asked_for(key, version_id), version_id)

    def exists(self, key: str) -> bool:
        try:
            self._asked_for(key, None)
        except NotFound:
            return False
        return True

    def current(self, prefix: str = "") -> Iterator[ObjectVersion]:
        yield from self._described((key, item) for key, item in self._listed(prefix) if item.get("IsLatest"))

    def listing(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        for key, item in self._listed(prefix):
            if item.get("IsLatest"):
                yield key, item["VersionId"]

    def versions(self, key: str) -> list[ObjectVersion]:
        self._full(key)
        newest_first = [(found, item) for found, item in self._listed(key) if found == key]
        return list(self._described(reversed(newest_first)))

    def purge(self, key: str, version_id: str | None = None) -> int:
        full = self._full(key)
        if version_id is None:
            return self._delete(full, lambda found: found == full)
        try:
            self._asked_for(key, version_id)
        except NotFound:
            return 0
        with self._errors(key):
            self._s3.delete_object(Bucket=self.bucket, Key=full, VersionId=version_id)
        self._known.pop((key, version_id), None)
        return 1

    def purge_prefix(self, prefix: str) -> int:
        return self._delete(self.prefix + prefix, lambda found: True)

    def _delete(self, prefix: str, chosen: Callable[[str], bool]) -> int:
        """Every version and delete marker of the keys that are chosen; returns how many versions there were."""
        removed = 0
        doomed: list[dict[str, str]] = []
        for page in self._pages(prefix):
            for item in chain(page.get("Versions", ()), page.get("DeleteMarkers", ())):
                if chosen(item["Key"]):
                    doomed.append({"Key": item["Key"], "VersionId": item["VersionId"]})
            removed += sum(chosen(item["Key"]) for item in page.get("Versions", ()))
        for start in range(0, len(doomed), _DELETED_AT_ONCE):
            self._delete_batch(doomed[start : start + _DELETED_AT_ONCE])
        return removed

    def _delete_batch(self, doomed: list[dict[str, str]]) -> None:
        with self._errors():
            answer = self._s3.delete_objects(Bucket=self.bucket, Delete={"Objects": doomed, "Quiet": True})
            for refused in answer.get("Errors", ()):
                raise ClientError({"Error": refused}, "DeleteObjects")
        for item in doomed:
            self._known.pop((item["Key"].removeprefix(self.prefix), item["VersionId"]), None)

    def _latest(self, key: str, size: int) -> ObjectVersion | None:
        """The version that answers now, if it has this size: no other can have the same bytes."""
        try:
            with self._errors(key):
                found = self._s3.head_object(Bucket=self.bucket, Key=self._full(key))
        except AsklineError:
            return None  # whatever else than its absence it is, the PUT that follows tells it better
        return self._described_as(key, found) if found["ContentLength"] == size else None

    def _described_as(self, key: str, found: dict[str, Any], asked: str | None = None) -> ObjectVersion:
        """What S3 says of an object, or of the version that it was asked for, with its sha256."""
        sha256 = found.get("Metadata", {}).get(SHA256)
        if sha256 is None:
            with self.open(key, found.get("VersionId") or asked) as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
        version_id = found.get("VersionId") or (_UNVERSIONED if self.versioned else sha256)
        return self._remember(ObjectVersion(key, version_id, sha256, found["ContentLength"], found["LastModified"]))

    def _described(self, listed: Iterable[tuple[str, dict[str, Any]]]) -> Iterator[ObjectVersion]:
        """With the sha256, which a listing does not have: a HEAD each for those that are new to this process."""

        def describe(entry: tuple[str, dict[str, Any]]) -> ObjectVersion | None:
            key, item = entry
            version_id = item["VersionId"]
            latest = version_id == _UNVERSIONED and item.get("IsLatest")
            try:
                return self._known.get((key, version_id)) or self.head(key, None if latest else version_id)
            except NotFound:  # removed since it was listed
                return None

        entries = iter(listed)
        with ThreadPoolExecutor(_HEADS, thread_name_prefix="s3-head") as pool:
            while batch := list(islice(entries, 1000)):
                yield from (found for found in pool.map(describe, batch) if found is not None)

    def _listed(self, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """(key, S3's item) of each version, newest first within a key; what is no key of ours is left out."""
        for page in self._pages(self.prefix + prefix):
            for item in page.get("Versions", ()):
                key = item["Key"].removeprefix(self.prefix)
                if is_key(key):
                    yield key, item

    def _pages(self, prefix: str) -> Iterator[dict[str, Any]]:
        with self._errors():
            paginator = self._s3.get_paginator("list_object_versions")
            yield from paginator.paginate(Bucket=self.bucket, Prefix=prefix)

    def _body(self, key: str, version_id: str | None) -> ObjectBody:
        full = self._full(key)

        def fetch(**more: str) -> dict[str, Any]:
            with self._missing(key, version_id), self._errors(key):
                return self._s3.get_object(Bucket=self.bucket, Key=full, **more)  # type: ignore[no-any-return]

        return ObjectBody(self._named(key), fetch, version_id)

    def _asked_for(self, key: str, version_id: str | None) -> dict[str, Any]:
        """S3's answer to a HEAD. NotFound; the answer has no body, so the reason of an error is asked for by a GET."""
        what = {"Bucket": self.bucket, "Key": self._full(key)} | ({"VersionId": version_id} if version_id else {})
        with self._missing(key, version_id), self._errors(key):
            try:
                found: dict[str, Any] = self._s3.head_object(**what)
            except ClientError as error:
                # 404 is an absent key or an absent bucket. One that was there cannot go while it holds anything.
                if code_of(error).isdigit() and not (code_of(error) == "404" and self._bucket_seen):
                    self._reason_of(what)
                raise
            self._bucket_seen = True
            return found

    def _reason_of(self, what: dict[str, str]) -> None:
        try:
            self._s3.get_object(**what)["Body"].close()
        except ClientError as error:
            self._bucket_seen = self._bucket_seen or code_of(error) == "NoSuchKey"
            raise

    def _require_versioning(self) -> None:
        if not self._versioning_seen:
            with self._errors():
                status = self._s3.get_bucket_versioning(Bucket=self.bucket).get("Status")
            if status != "Enabled":
                raise ConfigurationError(
                    f"S3 bucket {self.bucket} has no versioning, without which earlier versions of a file are lost.",
                    fix="Enable versioning on the bucket.",
                )
            self._versioning_seen = True

    def _remember(self, version: ObjectVersion) -> ObjectVersion:
        if version.version_id != _UNVERSIONED:
            self._known[version.key, version.version_id] = version
        while len(self._known) > _REMEMBERED:
            with contextlib.suppress(KeyError):  # another thread was there first
                self._known.popitem(last=False)
        return version

    def _full(self, key: str) -> str:
        if not is_key(key):
            raise InvalidInput(f"{key!r} is no object key.")
        full = self.prefix + key
        if len(full.encode()) > 1024:
            raise InvalidInput(
                f"{key[:80]!r}… is longer than the 1,024 bytes that S3 takes for a key.", fix="Give it a shorter name."
            )
        return full

    def _named(self, key: str = "") -> str:
        return f"S3 bucket {self.bucket}" + (f", key {self.prefix}{key}" if key else "")

    def _errors(self, key: str = "") -> contextlib.AbstractContextManager[None]:
        return aws_errors(self._named(key))

    @contextlib.contextmanager
    def _missing(self, key: str, version_id: str | None) -> Iterator[None]:
        """Inside of it `_errors`: an absent key or version is NotFound, whatever S3 calls it."""
        try:
            yield
        except (NotFound, ConfigurationError, InvalidInput) as error:
            cause = error.__cause__
            absent = _NO_SUCH | _NO_VERSION_ID if version_id else _NO_SUCH
            if isinstance(cause, ClientError) and code_of(cause) in absent:
                raise NotFound(f"There is no object {key!r} (version {version_id or 'latest'}).") from cause
            raise


def is_key(key: str) -> bool:
    """Whether it can be a key of the port: `/`-separated parts, none of them empty, `.` or `..`; no NUL."""
    return bool(key) and "\0" not in key and all(part not in ("", ".", "..") for part in key.split("/"))
