"""S3's events through SQS into the registry: every object known, none twice, whatever the queue does."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote_plus

import boto3
import dagster as dg
import pytest
from botocore.config import Config
from by_http import record
from sqlalchemy import text

from foundation import aws_stores
from foundation.errors import ConfigurationError, Unavailable
from foundation.registry.database import transaction
from foundation.settings import AdapterSettings, AwsSettings, S3Settings, Settings, SqsSettings
from foundation.stores import Stores
from pipelines import arrivals
from pipelines.arrivals import leave
from pipelines.landing_events import take_events
from pipelines.reconcile import reconcile
from pipelines.resources import STORES
from pipelines.sensors.uploads import landing_events
from tests.doubles.aws_faults import Fault, FaultyWire

pytestmark = pytest.mark.engines

NAMES = ["ward plan 2.txt", "a+b.txt", "100%25.txt", "Übersicht.txt", "患者 名簿.txt", "é + space.txt", "a=b&c.txt"]


@pytest.fixture
def wire(aws: str) -> Iterator[FaultyWire]:
    with FaultyWire(aws).running() as running:
        yield running


@pytest.fixture
def queue(aws: str, bucket: str) -> str:
    """URL of a queue that the bucket tells of all that happens; a message may come again after a second."""
    sqs: Any = boto3.client("sqs", endpoint_url=aws)
    url: str = sqs.create_queue(QueueName=bucket, Attributes={"VisibilityTimeout": "10"})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    told = {"QueueArn": arn, "Events": ["s3:ObjectCreated:*", "s3:ObjectRemoved:*"]}
    s3_of(aws).put_bucket_notification_configuration(
        Bucket=bucket, NotificationConfiguration={"QueueConfigurations": [told]}
    )
    sqs.purge_queue(QueueUrl=url)  # of the test event, which S3 sends first
    return url


@pytest.fixture
def settings(settings: Settings, wire: FaultyWire, bucket: str, queue: str) -> Settings:
    return settings.model_copy(
        update={
            "adapters": AdapterSettings(objects="aws"),
            "aws": AwsSettings(endpoint_url=wire.url),
            "s3": S3Settings(bucket=bucket),
            "sqs": SqsSettings(uploads_queue_url=queue, visibility_s=10),
        }
    )


def s3_of(url: str) -> Any:
    return boto3.client("s3", endpoint_url=url, config=Config(max_pool_connections=20))


@pytest.fixture
def s3(aws: str) -> Any:
    return s3_of(aws)


class Queue:
    """What a test does to the queue."""

    def __init__(self, endpoint: str, url: str) -> None:
        self.sqs: Any = boto3.client("sqs", endpoint_url=endpoint, config=Config(max_pool_connections=20))
        self.url = url

    def send(self, bodies: list[Any]) -> None:
        def send(start: int) -> None:
            entries = [
                {"Id": str(n), "MessageBody": body if isinstance(body, str) else json.dumps(body)}
                for n, body in enumerate(bodies[start : start + 10])
            ]
            assert len(self.sqs.send_message_batch(QueueUrl=self.url, Entries=entries)["Successful"]) == len(entries)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(send, range(0, len(bodies), 10)))

    def left(self) -> int:
        """Messages that wait or are in somebody's hands."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)["Attributes"]
        return sum(int(found[name]) for name in names)


@pytest.fixture
def messages(aws: str, queue: str) -> Queue:
    return Queue(aws, queue)


def take(stores: Stores, seconds: float = 60) -> Counter[str]:
    assert stores.landing_events is not None
    return take_events(stores, stores.landing_events, seconds=seconds)


def rows(stores: Stores, statement: str) -> list[Any]:
    with transaction(stores.engine) as connection:
        return list(connection.execute(text(statement)).scalars())


def known_keys(stores: Stores) -> list[str]:
    return rows(stores, "select landing_key from askline.documents where deleted_at is null order by 1")


def event_of(bucket: str, key: str, name: str = "ObjectCreated:Put") -> dict[str, Any]:
    """EventBridge's form, in which the key is not encoded."""
    detail = {"version": "0", "bucket": {"name": bucket}, "object": {"key": f"landing/{key}"}, "reason": "PutObject"}
    return {"version": "0", "source": "aws.s3", "detail-type": name, "detail": detail}


def removal_of(bucket: str, key: str) -> dict[str, Any]:
    """S3's own form; moto tells of what is written only."""
    where = {"bucket": {"name": bucket}, "object": {"key": quote_plus(f"landing/{key}"), "versionId": "marker"}}
    return {"Records": [{"eventSource": "aws:s3", "eventName": "ObjectRemoved:DeleteMarkerCreated", "s3": where}]}


def creation_of(bucket: str, key: str) -> dict[str, Any]:
    """A record of S3's own form."""
    where = {"bucket": {"name": bucket}, "object": {"key": quote_plus(f"landing/{key}")}}
    return {"eventSource": "aws:s3", "eventName": "ObjectCreated:Put", "s3": where}


@pytest.mark.parametrize("form", ["S3 notification", "EventBridge"])
def test_every_name_arrives_as_it_is(stores: Stores, s3: Any, bucket: str, messages: Queue, form: str) -> None:
    if form == "EventBridge":
        s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
        messages.send([event_of(bucket, f"in/{name}", "Object Created") for name in NAMES])
    for name in NAMES:
        s3.put_object(Bucket=bucket, Key=f"landing/in/{name}", Body=f"file {name}".encode())
    taken = take(stores)
    assert taken["queued"] == len(NAMES)
    assert set(known_keys(stores)) == {f"in/{name}" for name in NAMES}
    assert messages.left() == 0
    assert set(rows(stores, "select file_name from askline.documents")) == set(NAMES)


def test_what_was_put_by_hand_gets_the_acl_of_the_setting(stores: Stores, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="landing/in/a.txt", Body=b"text")
    take(stores)
    (document_id,) = rows(stores, "select document_id from askline.documents")
    assert record(stores, document_id)["acl"] == ["user:local"]


def test_duplicates_and_events_out_of_order_leave_what_the_bucket_has(
    stores: Stores, s3: Any, bucket: str, messages: Queue
) -> None:
    for n in range(5):
        s3.put_object(Bucket=bucket, Key=f"landing/{n}.txt", Body=b"first")
        s3.put_object(Bucket=bucket, Key=f"landing/{n}.txt", Body=b"second")
    s3.delete_object(Bucket=bucket, Key="landing/4.txt")
    bodies = [event_of(bucket, f"{n}.txt", name) for n in range(5) for name in ("Object Deleted", "Object Created")]
    random.Random(5).shuffle(bodies)
    messages.send(bodies * 3)
    take(stores)
    assert known_keys(stores) == [f"{n}.txt" for n in range(4)]
    assert rows(stores, "select count(*) from askline.document_versions") == [4]
    assert rows(stores, "select count(*) from askline.inbox") == [4]
    assert messages.left() == 0


def test_a_delete_marker_deletes_the_document_for_good(stores: Stores, s3: Any, bucket: str, messages: Queue) -> None:
    name = "患者 a+b.txt"
    s3.put_object(Bucket=bucket, Key=f"landing/{name}", Body=b"text")
    messages.send([removal_of(bucket, name)])  # of a deletion before it
    take(stores)
    assert known_keys(stores) == [name]
    marker = s3.delete_object(Bucket=bucket, Key=f"landing/{name}")
    messages.send([removal_of(bucket, name)] * 2)
    assert take(stores)["deleted"] == 1
    assert known_keys(stores) == []
    s3.delete_object(Bucket=bucket, Key=f"landing/{name}", VersionId=marker["VersionId"])  # an undeletion
    messages.send([removal_of(bucket, name)])
    assert take(stores)["queued"] == 0  # its erasure is under way, and takes that version too
    assert rows(stores, "select count(*) from askline.erasures") == [1]


def test_an_upload_through_the_service_is_left_to_the_service(
    stores: Stores, land: Callable[..., Any], messages: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores.landing.put("uploads/ana/lost.txt", b"the service died before it had registered this")
    assert take(stores)["young"] >= 1
    assert known_keys(stores) == []
    assert messages.left() == 1  # comes again, by when it is the service's or an orphan
    land("kept.txt", b"registered", owner="ana")
    take(stores)
    assert known_keys(stores) == ["uploads/ana/kept.txt"]
    assert rows(stores, "select count(*) from askline.inbox") == [1]
    monkeypatch.setattr(arrivals, "UPLOAD_GRACE_S", 0)
    deadline = time.monotonic() + 20
    while messages.left() and time.monotonic() < deadline:
        take(stores)
    assert known_keys(stores) == ["uploads/ana/kept.txt", "uploads/ana/lost.txt"]
    assert rows(stores, "select owner from askline.documents where file_name = 'lost.txt'") == ["ana"]


def test_a_message_goes_only_once_the_registry_has_it(
    stores: Stores, s3: Any, bucket: str, messages: Queue, wire: FaultyWire
) -> None:
    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"text")
    wire.faults = [Fault("HEAD", "landing/a.txt", times=20, status=403, code="AccessDenied")]
    wire.faults += [Fault("GET", "landing/a.txt", times=20, status=403, code="AccessDenied")]
    assert take(stores)["failed"] == 1
    assert (known_keys(stores), messages.left()) == ([], 1)
    wire.faults = []
    time.sleep(10.5)  # its visibility
    assert take(stores)["queued"] == 1
    assert (known_keys(stores), messages.left()) == (["a.txt"], 0)


def test_a_message_that_could_not_be_deleted_comes_again_and_changes_nothing(
    stores: Stores, s3: Any, bucket: str, messages: Queue, wire: FaultyWire
) -> None:
    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"text")
    assert stores.landing_events is not None
    first = stores.landing_events.receive()  # by one that dies before it is done
    assert [notice.keys for notice in first] == [("a.txt",)]
    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"text")
    assert take(stores)["queued"] == 1
    time.sleep(10.5)
    again = take(stores)
    assert (again["messages"], again["known"], again["queued"]) == (1, 1, 0)
    assert messages.left() == 0
    assert rows(stores, "select count(*) from askline.inbox") == [1]


def test_what_is_not_ours_is_passed_over_and_what_is_no_event_stays(
    stores: Stores, bucket: str, messages: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = event_of(bucket, "x")
    elsewhere["detail"]["object"]["key"] = "derived/x"
    messages.send([event_of("another-bucket", "x"), elsewhere, event_of(bucket, "a//b"), event_of(bucket, "folder/")])
    messages.send([{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": bucket}])
    messages.send(["no JSON", '{"Records": [{"s3": {}}]}', "[1]"])
    take(stores)
    assert known_keys(stores) == []
    assert messages.left() == 3  # for the dead letters
    assert caplog.text.count("is no event of S3's") == 3


def test_a_sidecar_is_taken_with_its_file_or_after_it(stores: Stores, s3: Any, bucket: str) -> None:
    def sidecar(title: str) -> None:
        s3.put_object(Bucket=bucket, Key="landing/a.txt.meta.json", Body=json.dumps({"authority": title}).encode())

    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"text")
    sidecar("First")
    take(stores)
    (document_id,) = rows(stores, "select document_id from askline.documents")
    assert record(stores, document_id)["card"]["authority"] == "First"
    sidecar("Second")
    assert take(stores)["sidecar"] == 1
    assert record(stores, document_id)["card"]["authority"] == "Second"
    assert known_keys(stores) == ["a.txt"]


def test_what_no_event_told_is_found_by_the_listing(stores: Stores, s3: Any, bucket: str) -> None:
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    for n in range(5):
        s3.put_object(Bucket=bucket, Key=f"landing/missed {n}.txt", Body=b"x")
    assert reconcile(stores).arrived == 5
    s3.delete_object(Bucket=bucket, Key="landing/missed 1.txt")
    s3.put_object(Bucket=bucket, Key="landing/missed 2.txt", Body=b"y")
    report = reconcile(stores)
    assert (report.arrived, report.deleted, report.unchanged) == (1, 1, 3)
    (after,) = {report.unchanged for report in [reconcile(stores)]}
    assert after == 4


def test_another_bucket_is_not_the_deletion_of_every_document(
    settings: Settings, stores: Stores, s3: Any, bucket: str, open_stores: Callable[[Settings], Stores]
) -> None:
    for n in range(3):
        s3.put_object(Bucket=bucket, Key=f"landing/{n}.txt", Body=b"x")
    take(stores)
    wrong = settings.model_copy(update={"s3": S3Settings(bucket=bucket, landing_prefix="lending/")})
    with pytest.raises(ConfigurationError, match="not where they came from"):
        reconcile(open_stores(wrong))
    assert len(known_keys(stores)) == 3
    for n in range(3):
        s3.delete_object(Bucket=bucket, Key=f"landing/{n}.txt")
    assert reconcile(stores).deleted == 3  # a person's deletion of all is one


def test_an_object_that_is_there_after_all_is_not_deleted(stores: Stores, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"x")
    take(stores)
    (document_id,) = rows(stores, "select document_id from askline.documents")
    assert not leave(stores, "a.txt", document_id)
    assert known_keys(stores) == ["a.txt"]


def test_the_sensor_takes_them_and_says_how_many(stores: Stores, s3: Any, bucket: str) -> None:
    s3.put_object(Bucket=bucket, Key="landing/a.txt", Body=b"x")
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_sensor_context(instance=instance, resources={"stores": STORES})
        told = landing_events.evaluate_tick(context).skip_message
        assert told is not None and "1 messages" in told and "1 queued" in told
        assert landing_events.evaluate_tick(context).skip_message == "No event waits."


def test_a_queue_that_is_gone_is_named(settings: Settings, open_stores: Callable[[Settings], Stores]) -> None:
    assert settings.sqs.uploads_queue_url is not None
    gone = SqsSettings(uploads_queue_url=settings.sqs.uploads_queue_url + "-gone")
    with pytest.raises(ConfigurationError) as raised:
        take(open_stores(settings.model_copy(update={"sqs": gone})))
    assert "ASKLINE_SQS__UPLOADS_QUEUE_URL" in raised.value.fix


def test_nobody_there_is_transient(settings: Settings, open_stores: Callable[[Settings], Stores]) -> None:
    away = AwsSettings(endpoint_url="http://127.0.0.1:9", max_attempts=1)
    stores = open_stores(settings.model_copy(update={"aws": away}))
    with pytest.raises(Unavailable):
        take(stores)


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_burst_of_events_is_as_many_documents_and_none_twice(
    settings: Settings, stores: Stores, s3: Any, bucket: str, messages: Queue, count: int
) -> None:
    """Shuffled, a fifth of them twice, with a receiver that dies in the middle.

    Twenty events a message: moto's queue takes longer for each message the more there are.
    """
    s3.put_bucket_notification_configuration(Bucket=bucket, NotificationConfiguration={})
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: s3.put_object(Bucket=bucket, Key=f"landing/burst/{n} +.txt", Body=f"document {n}".encode()),
                range(count),
            )
        )
    numbers = [*range(count), *range(0, count, 5)]
    random.Random(1).shuffle(numbers)
    records = [creation_of(bucket, f"burst/{n} +.txt") for n in numbers]
    messages.send([{"Records": records[start : start + 20]} for start in range(0, len(records), 20)])
    assert stores.landing_events is not None
    for _ in range(5):
        stores.landing_events.receive()  # taken, and never done
    started, taken = time.monotonic(), Counter[str]()
    slower = SqsSettings(uploads_queue_url=messages.url, visibility_s=60)  # than a machine that others use too
    events = aws_stores.landing_events(settings.model_copy(update={"sqs": slower}))
    assert events is not None
    while messages.left():
        taken += take_events(stores, events, seconds=30)
    seconds = time.monotonic() - started
    print(f"{count} documents in {seconds:.0f} s, {taken}")  # noqa: T201  a figure to read with -s
    assert rows(stores, "select count(*) from askline.documents") == [count]
    assert rows(stores, "select count(distinct landing_key) from askline.documents") == [count]
    assert rows(stores, "select count(*) from askline.document_versions") == [count]
    assert rows(stores, "select count(*) from askline.inbox") == [count]
