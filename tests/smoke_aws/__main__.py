"""`python -m tests.smoke_aws`: start the engines and `askline up` over them, ask through HTTP, delete everything."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from cli.checks import Checks, report
from cli.client import Client
from cli.processes import die_with_parent
from foundation.artefacts import prefix
from tests.engines.processes import REPOSITORY
from tests.smoke_aws.leftovers import Leftovers
from tests.smoke_aws.surroundings import BUCKET, Surroundings, surroundings


def main() -> int:
    started = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # through the exits below: Postgres outlives its parent
    with tempfile.TemporaryDirectory(prefix="askline-smoke-aws-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the embedded Postgres runs as another user
        with surroundings(folder) as at:
            _say(f"the engines are up ({time.monotonic() - started:.0f} s)")
            with _up(at, folder) as addresses:
                _say(f"askline is up ({time.monotonic() - started:.0f} s)")
                checks = AwsChecks(at, addresses, folder / "files")
                problems = report(checks.all())
        for problem in problems:
            _say(f"✗ {problem}")
    _say(f"make smoke PROFILE=aws: {'faults' if problems else 'everything holds'} ({time.monotonic() - started:.0f} s)")
    return 1 if problems else 0


class AwsChecks(Checks):
    """With what can be seen of the stores by their own clients."""

    def __init__(self, at: Surroundings, addresses: dict[str, str], folder: Path) -> None:
        super().__init__(Client(addresses["service_url"]), addresses["dagster_url"], folder)
        self.at = at
        self.s3, self.sqs, self.left = at.client("s3"), at.client("sqs"), Leftovers(at)
        self.queue = at.environment["ASKLINE_SQS__UPLOADS_QUEUE_URL"]

    def all(self) -> list[Any]:
        return [
            self.every_sample_is_indexed,
            # Meanwhile dbt builds the marts.
            self.four_files_in_a_second_are_four_documents,
            self.the_same_file_twice_is_one,
            self.bad_files_fail_with_a_reason,
            self.a_copied_file_arrives_and_a_removed_one_goes,
            self.the_marts_are_published,
            self.each_question_gives_its_fact,
            self.each_quote_is_the_stored_text,
            self.lineage_reaches_the_bytes,
            self.lineage_names_the_version_in_s3,
            self.every_store_of_aws_is_in_use,
            self.a_deleted_document_leaves_nothing,
            self.everything_deleted_leaves_nothing,
        ]

    def put(self, key: str, data: bytes) -> None:
        self.s3.put_object(Bucket=BUCKET, Key=f"landing/{key}", Body=data)

    def remove(self, key: str) -> None:
        """With the message that S3 would send: moto tells of what is written only."""
        gone = self.s3.delete_object(Bucket=BUCKET, Key=f"landing/{key}")
        where = {"bucket": {"name": BUCKET}, "object": {"key": f"landing/{key}", "versionId": gone["VersionId"]}}
        record = {"eventSource": "aws:s3", "eventName": "ObjectRemoved:DeleteMarkerCreated", "s3": where}
        self.sqs.send_message(QueueUrl=self.queue, MessageBody=json.dumps({"Records": [record]}))

    def holding(self, *needles: bytes) -> list[str]:
        return self.left.holding(needles)

    def lineage_names_the_version_in_s3(self) -> list[str]:
        problems, seen = [], 0
        for answer in self.answers:
            if answer["citations"]:
                nodes = self.client.get(f"/lineage/answers/{answer['answer_id']}")["nodes"]
                for node in (node for node in nodes if node["kind"] == "object"):
                    seen += 1
                    key = f"landing/{node['label']}"
                    found = self.s3.get_object(Bucket=BUCKET, Key=key, VersionId=node["id"])["Body"].read()
                    if hashlib.sha256(found).hexdigest() != node["sha256"]:
                        problems.append(f"{key}, version {node['id']}: other bytes than the lineage says")
        return problems if seen else ["no lineage names an object"]

    def every_store_of_aws_is_in_use(self) -> list[str]:
        """Without which an empty store would say nothing at the end."""
        return [
            f"{store} holds nothing" for store, names in self.left.counted().items() if not names and store != "Redis"
        ]

    def everything_deleted_leaves_nothing(self) -> list[str]:
        quotes = [c["quote"].encode() for answer in self.answers for c in answer["citations"]]
        documents: list[dict[str, Any]] = self.client.get("/documents", limit=500)["items"]
        self._fill_cache([document["version_id"] for document in documents])
        with ThreadPoolExecutor(4) as pool:
            erasures = list(pool.map(lambda d: self.client.delete(f"/documents/{d['document_id']}"), documents))
        problems = self.erased(erasures, timeout_s=90)
        left = self.until(self.left.counted, lambda found: not any(found.values()), timeout_s=30)
        problems += [f"{store}: {len(names)} left, {names[:5]}" for store, names in left.items() if names]
        return problems + [f"{name} holds a quote" for name in self.left.holding(quotes)]

    def _fill_cache(self, versions: list[str]) -> None:
        """With an entry a version, where the cache would have it: nothing of the product fills it yet."""
        with self.at.redis.client() as redis:
            for version in versions:
                redis.set(f"askline:{prefix(version)}text", b"cached", ex=600)


@contextmanager
def _up(at: Surroundings, folder: Path) -> Iterator[dict[str, str]]:
    """`askline up` as a user starts it; yields its addresses. Its logs are shown when it does not start."""
    data = folder / "data"
    environment = {**at.environment, "ASKLINE_DATA_DIR": str(data)}
    process = subprocess.Popen(
        [sys.executable, "-m", "cli.main", "up", "--json"],
        env=environment,
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=partial(die_with_parent, os.getpid()),
    )
    assert process.stdout is not None
    try:
        told = ""
        while line := process.stdout.readline():
            told += line
            if line.startswith("}"):
                break
        yield json.loads(told)
    except BaseException:
        for log in sorted((data / "logs").glob("*.log")):
            _say(f"--- {log.name}\n{log.read_text(errors='replace')[-1500:]}")
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


if __name__ == "__main__":
    raise SystemExit(main())
