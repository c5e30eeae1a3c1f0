"""The deployment of deploy/dagster/celery with run workers on hosts of their own, everything else on this machine.

Objects are in S3 (moto), the index in OpenSearch, the registry and Dagster's tables in Postgres, the runs in Redis: the
hosts share no disk. Each runs the embedding model itself, on its one core.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from unittest import mock

import httpx
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import func, select

from bench.common import until
from cli.processes import Child, stop_all
from foundation.adapters.embedded import postgres
from foundation.registry.database import transaction
from foundation.registry.tables import batches, document_versions
from foundation.settings import Settings
from foundation.stores import Stores
from pipelines.reconcile import reconcile
from tests.engines.moto import KEYS, moto, versioned_bucket
from tests.engines.opensearch import opensearch
from tests.engines.processes import REPOSITORY, free_port
from tests.engines.redis import RedisServer
from tests.scale_out.network import Host, Network

BUCKET = "askline-documents"
_INSTANCE = REPOSITORY / "deploy" / "dagster" / "celery" / "dagster.yaml"
_START_S = 90
_LOCATION = "askline"


@dataclass
class Deployment:
    """All but the workers runs."""

    folder: Path
    network: Network
    environment: Mapping[str, str]
    """What every program has in common: where the services are."""
    stores: Stores
    workspace: Path
    temporary: Path
    """Short, since the names of sockets are."""
    workers: dict[str, Child] = field(default_factory=dict)
    _others: list[Child] = field(default_factory=list)

    def environment_of(self, home: Path) -> dict[str, str]:
        """Of a program whose disk is `home`."""
        instance = home / "dagster"
        instance.mkdir(parents=True, exist_ok=True)
        given = _INSTANCE.read_text(encoding="utf-8").replace("/data/dagster", str(instance))
        (instance / "dagster.yaml").write_text(given, encoding="utf-8")
        temporary = self.temporary / home.name  # a machine's own: processes of one machine take turns at the model
        temporary.mkdir(exist_ok=True)
        own = {"DAGSTER_HOME": instance, "ASKLINE_DATA_DIR": home, "TMPDIR": temporary}
        return {**self.environment, **{name: str(folder) for name, folder in own.items()}}

    def add_worker(self, host: Host) -> None:
        """A run worker on the host, as compose.yaml starts it, for one run at a time; returns when it is ready."""
        command = ["celery", "-A", "pipelines.run_worker", "worker", "-n", "askline@%h", "-l", "INFO"]
        command += ["--pool", "prefork", "--autoscale", "1,1", "--without-gossip", "--without-mingle"]
        worker = self._child(host.name, host.command([sys.executable, "-m", *command]))
        _ready(worker, lambda: "ready." in worker.log_tail())
        self.workers[host.name] = worker

    def land(self, files: Mapping[str, bytes]) -> date:
        """Put them into the bucket and into the registry; the day that they arrived on."""
        for name, data in files.items():
            self.stores.landing.put(f"library/{name}", data)
        assert reconcile(self.stores).arrived == len(files)
        with transaction(self.stores.engine) as connection:
            return connection.execute(select(document_versions.c.arrival_day).distinct()).scalar_one()

    def launch(self, day: date, shards: int) -> None:
        """One run of `ingest` for each shard of the day; they wait in Dagster's queue until `start_daemon`."""
        for number in range(1, shards + 1):
            config = {"ops": {"raw_files": {"config": {"scope": "pending", "shard": f"{number}/{shards}"}}}}
            tags = {"dagster/partition": day.isoformat()}
            subprocess.run(
                [sys.executable, "-m", "dagster", "job", "launch", "-w", str(self.workspace), "-l", _LOCATION,
                 "-j", "ingest", "--config-json", json.dumps(config), "--tags", json.dumps(tags)],
                env=self.environment_of(self.folder / "services"), cwd=REPOSITORY, check=True, capture_output=True,
            )  # fmt: skip

    def start_daemon(self) -> None:
        self._child("daemon", [sys.executable, "-m", "dagster._daemon", "run", "-w", str(self.workspace)])

    def indexed(self) -> int:
        with transaction(self.stores.engine) as connection:
            statement = select(func.count()).where(document_versions.c.status == "indexed")
            return int(connection.execute(statement).scalar_one())

    def seconds(self) -> float:
        """From the first claim to the last version indexed."""
        with transaction(self.stores.engine) as connection:
            begun = connection.execute(select(func.min(batches.c.claimed_at))).scalar_one()
            ended = connection.execute(select(func.max(document_versions.c.indexed_at))).scalar_one()
        return float((ended - begun).total_seconds())

    def _child(self, name: str, command: list[str]) -> Child:
        child = Child(name, command, self.environment_of(self.folder / name), self.folder / f"{name}.log", REPOSITORY)
        child.start()
        self._others.append(child)
        return child

    def stop(self) -> None:
        stop_all(self._others)


def _ready(child: Child, look: Callable[[], bool]) -> None:
    """Wait for what the program shows when it has started; RuntimeError when it ends instead."""

    def started() -> bool:
        if not child.alive:
            raise RuntimeError(f"{child.name} ended:\n{child.log_tail(4000)}")
        return look()

    until(started, f"{child.name} is ready", _START_S)


@contextmanager
def deployment(folder: Path) -> Iterator[Deployment]:
    """EngineFailed where an engine is not installed, or this user may not make networks."""
    with ExitStack() as stack:
        for name in ("aws", "opensearch", "redis"):
            (folder / name).mkdir(parents=True)
        temporary = stack.enter_context(tempfile.TemporaryDirectory(prefix="askline-hosts-"))
        network = stack.enter_context(Network().running())
        aws = stack.enter_context(moto(folder / "aws"))
        search = stack.enter_context(opensearch(folder / "opensearch"))
        redis = stack.enter_context(RedisServer(folder / "redis"))
        stack.callback(postgres.stop, folder / "postgres")
        where = conninfo_to_dict(postgres.start(folder / "postgres"))
        versioned_bucket(aws.url, BUCKET)
        socket = f"{where['host']}/.s.PGSQL.{where.get('port', 5432)}"
        at = network.address
        broker = redis.url.replace(f"localhost:{_port(redis.url)}/0", f"{at}:{network.relay(_port(redis.url))}/1")
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "ASKLINE_"))},
            **KEYS,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": f"http://{at}:{network.relay(_port(aws.url))}",
            "CELERY_BROKER_URL": broker,
            "CELERY_RESULT_BACKEND": broker,
            "ASKLINE_ADAPTERS__OBJECTS": "aws",
            "ASKLINE_ADAPTERS__SEARCH": "aws",
            "ASKLINE_S3__BUCKET": BUCKET,
            "ASKLINE_OPENSEARCH__URL": f"http://{at}:{network.relay(_port(search.url))}",
            "ASKLINE_OPENSEARCH__AUTH": "none",
            "ASKLINE_OPENSEARCH__REPLICAS": "0",
            "ASKLINE_DATABASE__URL": f"postgresql://postgres@{at}:{network.relay(socket=socket)}/{where['dbname']}",
            "ASKLINE_EMBEDDINGS__THREADS": "1",
            "ASKLINE_INGESTION__BATCH_SIZE": "1000",
            "ASKLINE_DAGSTER__NUDGE": "false",
        }
        workspace, port = folder / "workspace.yaml", free_port()
        server = {"host": "127.0.0.1", "port": port, "location_name": _LOCATION}
        workspace.write_text(json.dumps({"load_from": [{"grpc_server": server}]}), encoding="utf-8")
        stack.enter_context(mock.patch.dict(os.environ, {**environment, "ASKLINE_DATA_DIR": str(folder / "services")}))
        stores = Stores(Settings())
        stack.callback(stores.close)
        made = Deployment(folder, network, environment, stores, workspace, Path(temporary))
        stack.callback(made.stop)
        code = made._child("code", [sys.executable, "-m", "dagster", "api", "grpc", "-h", "127.0.0.1", "-p", str(port),
                                    "-m", "pipelines.definitions", "--location-name", _LOCATION])  # fmt: skip
        _ready(code, lambda: code.listens_on(port))
        yield made


def _port(url: str) -> int:
    port = httpx.URL(url.replace("redis://", "http://")).port
    assert port is not None
    return port
