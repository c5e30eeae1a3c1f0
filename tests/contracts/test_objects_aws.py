"""S3 as moto plays it, on the wire; what goes wrong there is put between the client and the server."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

from foundation import aws_stores
from foundation.adapters.aws.objects import S3Objects
from foundation.contracts.objects import ObjectsContract
from foundation.errors import ConfigurationError, NotFound, Unavailable
from foundation.ports.objects import ObjectStore
from foundation.settings import AdapterSettings, AwsSettings, S3Settings, Settings
from foundation.stores import Stores
from tests.doubles.aws_faults import Fault, FaultyWire

pytestmark = pytest.mark.engines

NAMES = "uploads/ana/Übersicht + Plan (1).txt", "a%2Fb.txt", "名簿/患者 名簿.csv", "emoji 🙂.txt"


def settings_of(url: str, bucket: str | None, **aws: Any) -> Settings:
    return Settings(aws=AwsSettings(endpoint_url=url, **aws), s3=S3Settings(bucket=bucket, multipart_mb=5))


@pytest.fixture
def s3(aws: str) -> Any:
    return boto3.client("s3", endpoint_url=aws)


@pytest.fixture
def wire(aws: str) -> Iterator[FaultyWire]:
    with FaultyWire(aws).running() as running:
        yield running


@pytest.fixture
def store(wire: FaultyWire, bucket: str) -> ObjectStore:
    return aws_stores.landing(settings_of(wire.url, bucket))


def versions_in(s3: Any, bucket: str) -> list[str]:
    page = s3.list_object_versions(Bucket=bucket)
    return [item["Key"] for item in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]


class TestS3Objects(ObjectsContract):
    @pytest.fixture
    def store(self, aws: str, bucket: str) -> ObjectStore:
        return aws_stores.landing(settings_of(aws, bucket))


@pytest.mark.parametrize("name", NAMES)
def test_any_name_comes_back_as_it_was(store: ObjectStore, name: str) -> None:
    version = store.put(name, name.encode())
    assert store.read(name) == name.encode()
    assert list(store.listing()) == [(name, version.version_id)]
    assert [found.key for found in store.current(name[:3])] == [name]
    assert store.purge(name) == 1


def test_two_stores_of_one_bucket_do_not_see_each_other(aws: str, bucket: str) -> None:
    landing, derived = aws_stores.landing(settings_of(aws, bucket)), aws_stores.derived(settings_of(aws, bucket))
    landing.put("a", b"landing")
    derived.put("a", b"derived")
    assert (landing.read("a"), derived.read("a")) == (b"landing", b"derived")
    assert derived.purge_prefix("") == 1
    assert landing.exists("a") and not derived.exists("a")


def test_a_large_object_goes_in_parts_and_is_checked_whole(store: ObjectStore, wire: FaultyWire) -> None:
    data = bytes(range(256)) * 50_000  # 12.8 MB
    version = store.put("large", io.BytesIO(data))
    assert sum("partNumber=" in seen for seen in wire.seen) == 3
    assert version.sha256 == hashlib.sha256(data).hexdigest()
    with store.local_path("large", version.version_id) as path:
        assert path.read_bytes() == data
    assert store.put("large", io.BytesIO(data)) == version


def test_parts_that_cannot_be_sent_leave_no_object_and_no_upload(
    store: ObjectStore, wire: FaultyWire, s3: Any, bucket: str
) -> None:
    wire.faults = [Fault("PUT", "partNumber=2", times=99, status=403, code="AccessDenied")]
    with pytest.raises(ConfigurationError, match="UploadPart"):
        store.put("large", bytes(12_000_000))
    assert not store.exists("large")
    assert "Uploads" not in s3.list_multipart_uploads(Bucket=bucket)


def test_purge_takes_every_version_and_every_delete_marker(store: ObjectStore, s3: Any, bucket: str) -> None:
    for key in ("k", "k2", "folder/k"):
        store.put(key, b"one")
        s3.delete_object(Bucket=bucket, Key=f"landing/{key}")  # a marker, as a person's deletion leaves it
        store.put(key, b"two")
        s3.delete_object(Bucket=bucket, Key=f"landing/{key}")
    assert not store.exists("k")
    with pytest.raises(NotFound):
        store.head("k")
    assert list(store.current()) == []
    assert store.purge("k") == 2
    assert sorted(set(versions_in(s3, bucket))) == ["landing/folder/k", "landing/k2"]
    assert store.purge_prefix("folder/") == 2
    (left,) = set(versions_in(s3, bucket))
    assert left == "landing/k2"
    assert store.purge("k2", store.versions("k2")[0].version_id) == 1
    assert len(store.versions("k2")) == 1


def test_a_purge_of_more_than_one_page(store: ObjectStore, s3: Any, bucket: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: s3.put_object(Bucket=bucket, Key=f"landing/many/{n}", Body=b"x"), range(1010)))
    assert sum(1 for _ in store.listing("many/")) == 1010
    assert store.purge_prefix("many/") == 1010
    assert versions_in(s3, bucket) == []


def test_what_others_put_there_is_read_as_it_is(store: ObjectStore, s3: Any, bucket: str) -> None:
    decomposed = "Caf\u0065\u0301.txt"
    s3.put_object(Bucket=bucket, Key=f"landing/{decomposed}", Body=b"by hand")
    s3.put_object(Bucket=bucket, Key="landing/folder/", Body=b"")  # the console's folder
    s3.put_object(Bucket=bucket, Key="landing/a//b", Body=b"no key of ours")
    (found,) = store.current()
    assert (found.key, found.sha256) == (decomposed, hashlib.sha256(b"by hand").hexdigest())
    assert store.read(decomposed, found.version_id) == b"by hand"
    assert store.put(decomposed, b"ours").key == "Café.txt"


def test_a_bucket_without_versioning_is_refused_before_anything_is_written(aws: str, s3: Any) -> None:
    s3.create_bucket(Bucket="unversioned-bucket")
    with pytest.raises(ConfigurationError, match="no versioning"):
        aws_stores.landing(settings_of(aws, "unversioned-bucket")).put("k", b"x")
    assert versions_in(s3, "unversioned-bucket") == []


def test_derived_artefacts_may_lie_in_a_bucket_without_versioning(aws: str, s3: Any) -> None:
    s3.create_bucket(Bucket="plain-bucket")
    store = aws_stores.derived(settings_of(aws, "plain-bucket"))
    for data in (b"one", b"two"):
        store.put("versions/a/text.txt", data)
        assert store.read("versions/a/text.txt") == data
        (found,) = store.current("versions/a/")
        assert (found.key, found.sha256) == ("versions/a/text.txt", hashlib.sha256(data).hexdigest())
    assert store.purge_prefix("versions/") == 1
    assert not store.exists("versions/a/text.txt")


def test_what_was_there_before_the_bucket_had_versioning_is_a_version(aws: str, s3: Any) -> None:
    s3.create_bucket(Bucket="late-bucket")
    s3.put_object(Bucket="late-bucket", Key="landing/k", Body=b"one")
    s3.put_bucket_versioning(Bucket="late-bucket", VersioningConfiguration={"Status": "Enabled"})
    store = aws_stores.landing(settings_of(aws, "late-bucket"))
    (first,) = store.current()
    second = store.put("k", b"two")
    assert store.read("k", first.version_id) == b"one"
    assert [version.sha256 for version in store.versions("k")] == [first.sha256, second.sha256]
    assert store.purge("k") == 2


def test_objects_are_encrypted_by_the_key_of_the_setting(aws: str, bucket: str, s3: Any) -> None:
    store = aws_stores.landing(settings_of(aws, bucket, kms_key_id="alias/records"))
    store.put("small", b"x")
    store.put("large", bytes(6_000_000))
    for key in ("small", "large"):
        head = s3.head_object(Bucket=bucket, Key=f"landing/{key}")
        assert (head["ServerSideEncryption"], head["SSEKMSKeyId"]) == ("aws:kms", "alias/records")


def test_a_missing_setting_is_named() -> None:
    with pytest.raises(ConfigurationError, match="ASKLINE_S3__BUCKET"):
        aws_stores.landing(settings_of("http://127.0.0.1:1", None))


# Faults


@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD", "DELETE"])
def test_slow_down_is_waited_for(store: ObjectStore, wire: FaultyWire, method: str) -> None:
    wire.faults = [Fault(method, times=2, status=503, code="SlowDown")]
    version = store.put("k", b"bytes")
    assert store.read("k") == b"bytes"
    assert store.purge("k", version.version_id) == 1
    assert wire.faults[0].times == 0


def test_slow_down_for_good_is_transient_and_names_the_request(wire: FaultyWire, bucket: str) -> None:
    store = aws_stores.landing(settings_of(wire.url, bucket, max_attempts=2))
    wire.faults = [Fault("PUT", times=99, status=503, code="SlowDown")]
    with pytest.raises(Unavailable, match=f"{bucket}.*PutObject gave SlowDown.*TESTREQUEST"):
        store.put("k", b"bytes")
    assert 99 - wire.faults[0].times == 2


@pytest.mark.parametrize("cut_after", [0, 1_000_000])
def test_a_truncated_body_goes_on_where_it_broke(store: ObjectStore, wire: FaultyWire, cut_after: int) -> None:
    data = bytes(range(256)) * 10_000
    store.put("k", data)
    wire.faults = [Fault("GET", "landing/k", times=2, cut_after=cut_after)]
    assert store.read("k") == data
    assert wire.faults[0].times == 0
    wire.faults = [Fault("GET", "landing/k", times=2, cut_after=cut_after)]
    with store.local_path("k") as path:
        assert path.read_bytes() == data


def test_a_body_that_always_breaks_is_transient_and_leaves_no_file(
    store: ObjectStore, wire: FaultyWire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    store.put("k", bytes(100_000))
    wire.faults = [Fault("GET", "landing/k", times=99, cut_after=0)]
    with pytest.raises(Unavailable, match="broke at byte 0 of 100,000"), store.local_path("k"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_reader_keeps_its_version_when_another_is_written_meanwhile(store: ObjectStore, wire: FaultyWire) -> None:
    store.put("k", b"1" * 3_000_000)
    wire.faults = [Fault("GET", "landing/k", cut_after=2_000_000)]
    with store.open("k") as file:
        head = file.read(10)
        store.put("k", b"2" * 3_000_000)
        assert head + file.read() == b"1" * 3_000_000


def test_bytes_that_are_not_those_that_were_stored_are_noticed(store: ObjectStore, s3: Any, bucket: str) -> None:
    wrong = {"askline-sha256": hashlib.sha256(b"other").hexdigest()}
    s3.put_object(Bucket=bucket, Key="landing/k", Body=b"bytes", Metadata=wrong)
    with pytest.raises(Unavailable, match="other bytes"):
        store.read("k")


REQUESTS: list[Callable[[ObjectStore], object]] = [
    lambda store: store.put("k", b"x"),
    lambda store: store.read("k"),
    lambda store: store.head("k"),
    lambda store: store.exists("k"),
    lambda store: list(store.current()),
    lambda store: store.purge("k"),
]


@pytest.mark.parametrize("request_of", REQUESTS)
def test_a_missing_bucket_is_never_taken_for_a_missing_object(aws: str, request_of: Any) -> None:
    store = aws_stores.landing(settings_of(aws, "no-such-bucket"))
    with pytest.raises(ConfigurationError, match="no-such-bucket") as raised:
        request_of(store)
    assert "ASKLINE_S3__BUCKET" in raised.value.fix


@pytest.mark.parametrize("request_of", REQUESTS[1:])
def test_access_denied_names_the_permission(store: ObjectStore, wire: FaultyWire, request_of: Any) -> None:
    wire.faults = [Fault(method, times=99, status=403, code="AccessDenied") for method in ("GET", "HEAD", "POST")]
    with pytest.raises(ConfigurationError, match="AccessDenied") as raised:
        request_of(store)
    assert raised.value.fix.startswith("Allow ")


def test_another_region_is_named(store: ObjectStore, wire: FaultyWire) -> None:
    wire.faults = [
        Fault(method, times=99, status=301, code="PermanentRedirect", headers={"x-amz-bucket-region": "eu-west-1"})
        for method in ("GET", "HEAD")
    ]
    with pytest.raises(ConfigurationError) as raised:
        store.read("k")
    assert "ASKLINE_AWS__REGION" in raised.value.fix


def test_nobody_there_is_transient(bucket: str) -> None:
    store = aws_stores.landing(settings_of("http://127.0.0.1:9", bucket, max_attempts=1))
    with pytest.raises(Unavailable, match="does not answer"):
        store.read("k")


def test_it_is_the_adapter_of_the_setting(aws: str, bucket: str) -> None:
    settings = settings_of(aws, bucket).model_copy(update={"adapters": AdapterSettings(objects="aws")})
    assert isinstance(Stores(settings).landing, S3Objects)
    assert not Stores(settings).derived.versioned
