"""A day of 2,000 short files over one host and over two, each of one core, with a Redis, S3, OpenSearch and Postgres.

python -m bench.scale_out [FILES]        (as root: the hosts are network namespaces; needs make engines, redis-server)

Chunks a second from the first claim to the last version indexed; the day is in four shards. The services and Dagster's
daemon use the same cores as the hosts, so on two cores the second host has less than a core.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from sqlalchemy import func, select

from bench.common import Results, figure, until
from bench.ingest_files import snippets
from foundation.registry.database import transaction
from foundation.registry.tables import chunks
from tests.scale_out.deployment import deployment

COMMAND = "python -m bench.scale_out"
_FILES, _SHARDS, _MOST_S = 2000, 4, 1800


def run(files: int = _FILES) -> Results:
    one, two = (_rate(hosts, files) for hosts in (1, 2))
    return {"scale-out, two hosts": figure(two, "chunks/s", COMMAND, bare=one, ratio=two / one)}


def _rate(hosts: int, files: int) -> float:
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as made:
        texts = Path(made) / "texts"
        texts.mkdir()
        found = {path.name: path.read_bytes() for path in snippets(texts, files)}
        with deployment(Path(made) / "deployed") as deployed:
            for number in range(hosts):
                deployed.add_worker(deployed.network.host(number))
            deployed.launch(deployed.land(found), _SHARDS)
            deployed.start_daemon()
            until(lambda: deployed.indexed() == len(found), "every file answers", _MOST_S)
            with transaction(deployed.stores.engine) as connection:
                count = connection.execute(select(func.count()).select_from(chunks)).scalar_one()
            seconds = deployed.seconds()
    print(f"{hosts} hosts, {len(found)} files, {count} chunks: {seconds:.1f} s", flush=True)
    return float(count / seconds)


if __name__ == "__main__":
    print(json.dumps(run(*map(int, sys.argv[1:])), indent=1))
