"""A table of 1,000,000 rows × 12 columns: CSV → typed Parquet, catalog and Postgres copy, with the counts checked.

python -m bench.tables_at_size [ROWS]

Bars: at most twice the CPU seconds of its bare parts, and 600 MB of memory over idle. The file takes the way of the
pipeline's stages structured_tables and postgres_copies, the parser in its limited worker process (started before), over
a Postgres of the bench's own; Dagster and the documents' stages are left out. CPU counts this process, the worker and
Postgres. Memory is the largest proportional set size (PSS) of all of these, above what it was before.

`bare`, measured right after in the same run: Arrow reads the CSV file and writes it as Parquet, and COPY loads the
file as it is into a table of the same types. ratio = value / bare.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import psutil
import psycopg
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from pydantic import SecretStr

from bench.common import Results, cpu_seconds, figure, postgres_of_ones_own, pss_bytes, tree
from foundation.registry.database import transaction
from foundation.registry.datasets import datasets_of
from foundation.settings import DatabaseSettings, Settings
from foundation.stores import Stores
from foundation.types import ParsedWorkbook
from pipelines.datasets import copy_tables, save_tables
from pipelines.parsing.dispatch import parse_tables
from pipelines.parsing.workers import ParserPool

COMMAND = "python -m bench.tables_at_size"
ROWS = 1_000_000
_HEADER = "id,patient,visit_date,started_at,ward,code,amount,score,active,zip,note,units"
_COLUMNS = (
    "id bigint, patient text, visit_date date, started_at timestamp, ward text, code text, amount numeric, "
    "score double precision, active boolean, zip text, note text, units bigint"
)


def run(rows: int = ROWS) -> Results:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="askline-bench-")))
        url, server = stack.enter_context(postgres_of_ones_own())
        stores = stack.enter_context(
            closing(Stores(Settings(data_dir=folder / "data", database=DatabaseSettings(url=SecretStr(url)))))
        )
        stores.relational.prepare()
        pool = stack.enter_context(_pool(stores))
        path = _write_csv(folder / "visits.csv", rows)
        _parse(pool, _write_csv(folder / "small.csv", 10), folder / "small")  # starts worker and libraries
        with measured(server) as ours:
            _ingest(stores, pool, path, rows)
        with measured(server) as bare:
            _bare_parquet(path, folder / "bare.parquet")
            _bare_copy(url, path, rows)
    ratio = ours.cpu / bare.cpu
    print(f"{rows:,} rows: {ours.cpu:.1f} CPU s ({ours.seconds:.1f} s), bare {bare.cpu:.1f} CPU s: {ratio:.2f}x")
    print(f"peak memory over idle: {ours.peak / 1e6:.0f} MB")
    return {
        "tables_at_size_cpu": figure(ours.cpu, "CPU s", COMMAND, bare=bare.cpu, ratio=ratio),
        "tables_at_size_memory": figure(ours.peak / 1e6, "MB over idle", COMMAND, digits=0),
        "tables_at_size_rows": figure(rows / ours.seconds, "rows/s", COMMAND, digits=0),
    }


def _ingest(stores: Stores, pool: ParserPool, path: Path, rows: int) -> None:
    """What the stages structured_tables, postgres_copies and table_links do; RuntimeError when a row is missing."""
    version = "0" * 64
    with tempfile.TemporaryDirectory(prefix="askline-bench-") as out:
        parsed = save_tables(stores, version, _parse(pool, path, Path(out)))["rows"]
    copied = copy_tables(stores, version, path.name)["copied_rows"]
    with transaction(stores.engine) as connection:
        [row] = datasets_of(connection, version)
    with stores.derived.local_path(row["parquet_key"]) as parquet:
        in_parquet = pq.read_metadata(parquet).num_rows
    in_postgres = stores.relational.row_count(row["postgres_table"])
    counts = {"parsed": parsed, "catalog": row["row_count"], "Parquet": in_parquet, "Postgres": in_postgres}
    if {*counts.values(), copied} != {rows}:
        raise RuntimeError(f"of {rows} rows: {counts}")


def _pool(stores: Stores) -> ParserPool:
    limits = stores.settings.parsing
    return ParserPool(
        workers=1,
        memory_mb=limits.memory_mb,
        timeout_s=limits.timeout_s,
        max_text_mb=limits.max_text_mb,
        max_output_mb=limits.max_output_mb,
    )


def _parse(pool: ParserPool, path: Path, out: Path) -> ParsedWorkbook:
    [(_, parsed)] = pool.map_files(parse_tables, [(path, path.name, "csv", out)])
    if not isinstance(parsed, ParsedWorkbook):
        raise RuntimeError(f"{path.name} was not parsed: {parsed}")
    return parsed


def _bare_parquet(path: Path, target: Path) -> None:
    with pacsv.open_csv(path) as reader, pq.ParquetWriter(target, reader.schema, compression="zstd") as writer:
        for batch in reader:
            writer.write_batch(batch)


def _bare_copy(url: str, path: Path, rows: int) -> None:
    with psycopg.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(f"create table public.bare ({_COLUMNS})")
        with path.open("rb") as file, cursor.copy("copy public.bare from stdin (format csv, header)") as copy:
            while block := file.read(1 << 20):
                copy.write(block)
        assert cursor.rowcount == rows


def _write_csv(path: Path, rows: int) -> Path:
    """Keys, codes with leading zeros, dates, moments, money, fractions, booleans, quoted texts, and gaps."""
    dice, first = random.Random(1), date(2015, 1, 1)
    with path.open("w") as file:
        file.write(f"{_HEADER}\n")
        for i in range(rows):
            day = first + timedelta(days=i % 3000)
            file.write(
                f"{i},P{i % 50_000:06d},{day},{day}T{i % 24:02d}:{i % 60:02d}:00,ward {i % 40},{i % 9_000:05d},"
                f"{i * 37 % 100_000 / 100:.2f},{dice.random():.6f},{'true' if i % 3 else 'false'},{i % 99_999:05d},"
                f'"note {i}, with a comma",{"" if i % 7 else i * 11}\n'
            )
    return path


@dataclass
class Measured:
    seconds: float = 0.0
    cpu: float = 0.0
    peak: int = 0


@contextmanager
def measured(server: psutil.Process) -> Iterator[Measured]:
    """What this process, those that it starts and the server take while the block runs."""
    found, done, watching = Measured(), threading.Event(), [0.0]

    def memory() -> int:
        return sum(pss_bytes(process) for top in (psutil.Process(), server) for process in tree(top))

    idle = memory()

    def watch() -> None:
        while not done.wait(0.25):
            found.peak = max(found.peak, memory() - idle)
        watching[0] = time.thread_time()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    started, before = time.monotonic(), _cpu(server)
    try:
        yield found
    finally:
        done.set()
        watcher.join()
        found.seconds, found.cpu = time.monotonic() - started, _cpu(server) - before - watching[0]


def _cpu(server: psutil.Process) -> float:
    """Of this process and the server, with all that they have started; what has ended counts in who waited for it."""
    return sum(cpu_seconds(process) for top in (psutil.Process(), server) for process in tree(top))


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
