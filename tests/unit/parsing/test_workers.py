"""Workers: limits hold, failures name the file, and the pool goes on."""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from foundation.errors import DamagedFile, EncryptedFile, ProcessingFailed, ResourceLimit, SqlRefused
from pipelines.parsing import pdf, text
from pipelines.parsing.workers import ParserPool


def process_id(name: str) -> int:
    return os.getpid()


def sleep(name: str, seconds: float) -> str:
    time.sleep(seconds)
    return name


def spin(name: str) -> None:
    hashlib.pbkdf2_hmac("sha256", b"one call into C that no Python signal handler can stop", b"", 1 << 30)


def eat_memory(name: str) -> int:
    return len([bytearray(10_000_000) for _ in range(1000)])


def eat_memory_outside_of_python(name: str) -> int:
    return len([mmap.mmap(-1, 50_000_000, flags=mmap.MAP_PRIVATE) for _ in range(1000)])


def die(name: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash(name: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def refuse(name: str) -> None:
    raise EncryptedFile(f"{name} is locked.")


def refuse_with_keyword(name: str) -> None:
    raise SqlRefused("no", rule="roots", fix="ask otherwise")


class Unpicklable(Exception):
    def __init__(self, *, secret: str) -> None:
        super().__init__(secret)


def fail_oddly(name: str) -> None:
    raise Unpicklable(secret="text of the document")


def write_much(name: str, folder: str) -> None:
    with (Path(folder) / "out").open("wb") as file:
        for _ in range(64):
            file.write(b"x" * (1 << 20))


@pytest.fixture(scope="module")
def pool() -> Iterator[ParserPool]:
    with ParserPool(2, memory_mb=512, timeout_s=2, max_output_mb=8) as pool:
        yield pool


def test_an_idle_worker_is_used_again(pool: ParserPool) -> None:
    assert len({pool.parse(process_id, "a.txt") for _ in range(8)}) <= 2


@pytest.mark.parametrize("function", [sleep, spin])
def test_a_slow_file_is_stopped_and_the_fix_names_the_setting(pool: ParserPool, function: object) -> None:
    args = ("slow.pdf", 60) if function is sleep else ("slow.pdf",)
    started = time.monotonic()
    with pytest.raises(ResourceLimit, match=r"slow\.pdf") as caught:
        pool.parse(function, *args)  # type: ignore[arg-type]
    assert "ASKLINE_PARSING__TIMEOUT_S" in caught.value.fix
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("function", [eat_memory, eat_memory_outside_of_python])
def test_a_file_that_eats_memory_meets_the_limit(pool: ParserPool, function: object) -> None:
    with pytest.raises((ResourceLimit, DamagedFile), match=r"bomb\.docx") as caught:
        pool.parse(function, "bomb.docx")  # type: ignore[arg-type]
    assert "ASKLINE_PARSING__MEMORY_MB" in caught.value.fix
    assert pool.parse(sleep, "next.txt", 0) == "next.txt"


@pytest.mark.parametrize("function", [die, crash])
def test_a_dead_worker_fails_its_file_alone(pool: ParserPool, function: object) -> None:
    with pytest.raises(DamagedFile, match=r"killer\.pdf"):
        pool.parse(function, "killer.pdf")  # type: ignore[arg-type]
    assert pool.parse(sleep, "next.txt", 0) == "next.txt"


def die_once(name: str, mark: Path) -> str:
    if not mark.exists():
        mark.touch()
        die(name)
    return name


def test_a_file_whose_worker_somebody_killed_gets_another_try(pool: ParserPool, tmp_path: Path) -> None:
    assert pool.parse(die_once, "unlucky.pdf", tmp_path / "tried") == "unlucky.pdf"


def test_a_worker_that_dies_while_idle_does_not_fail_the_next_file(pool: ParserPool) -> None:
    os.kill(pool.parse(process_id, "a.txt"), signal.SIGKILL)
    time.sleep(0.5)
    assert pool.parse(sleep, "next.txt", 0) == "next.txt"


def test_errors_of_ours_come_out_as_themselves(pool: ParserPool) -> None:
    with pytest.raises(EncryptedFile, match="is locked"):
        pool.parse(refuse, "secret.pdf")
    with pytest.raises(SqlRefused) as caught:
        pool.parse(refuse_with_keyword, "x")
    assert (caught.value.rule, caught.value.fix) == ("roots", "ask otherwise")


def test_a_foreign_exception_names_its_place_and_quotes_nothing(pool: ParserPool) -> None:
    with pytest.raises(DamagedFile, match=r"odd\.pdf cannot be read: Unpicklable in test_workers\.py:\d+") as caught:
        pool.parse(fail_oddly, "odd.pdf")
    assert "text of the document" not in str(caught.value)


def test_an_output_file_past_the_limit_is_a_resource_limit(pool: ParserPool, tmp_path: Path) -> None:
    with pytest.raises(ResourceLimit, match=r"wide\.csv") as caught:
        pool.parse(write_much, "wide.csv", str(tmp_path))
    assert "ASKLINE_PARSING__MAX_OUTPUT_MB" in caught.value.fix


def test_a_batch_runs_on_both_workers_and_a_slow_file_holds_no_other(pool: ParserPool) -> None:
    items = [("slow", 60), ("a", 0.4), ("b", 0.0), ("c", 0.0), ("d", 0.0), ("e", 0.0), ("f", 0.0)]
    outcomes = list(pool.map_files(sleep, items))
    assert [result for _, result in outcomes[:-1]] == [item[0] for item, _ in outcomes[:-1]] == ["a", *"bcdef"]
    last, result = outcomes[-1]
    assert last[0] == "slow" and isinstance(result, ResourceLimit)


def test_files_of_a_batch_survive_the_death_of_a_neighbour(pool: ParserPool) -> None:
    outcomes = list(pool.map_files(_die_or_wait, [(name,) for name in ["good1", "bad", "good2", "bad2", "good3"]]))
    assert {name: result for (name,), result in outcomes if name.startswith("good")} == {
        name: name for name in ("good1", "good2", "good3")
    }
    assert all(isinstance(result, DamagedFile) for (name,), result in outcomes if name.startswith("bad"))


def _die_or_wait(name: str) -> str:
    if name.startswith("bad"):
        die(name)
    return sleep(name, 0.2)


def temporary_folder(name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return folder


def test_what_a_worker_writes_for_a_while_lies_where_its_program_removes_it(tmp_path: Path) -> None:
    with ParserPool(1, memory_mb=512, timeout_s=5, temporary=tmp_path) as pool:
        assert Path(pool.parse(temporary_folder, "old.doc")).parent == tmp_path


def test_closing_leaves_no_worker() -> None:
    pool = ParserPool(2, memory_mb=512, timeout_s=5)
    pids = {pool.parse(process_id, "a.txt") for _ in range(4)}
    pool.close()
    assert not [pid for pid in pids if psutil.pid_exists(pid)]


BUSY_PROGRAM = """
import os, sys, time
from pipelines.parsing.workers import ParserPool

if __name__ == "__main__":
    pool = ParserPool(1, memory_mb=512, timeout_s=60)
    print(pool.parse(os.getpid), flush=True)
    pool.parse(time.sleep, 60)
"""


def test_a_busy_worker_ends_when_its_program_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(BUSY_PROGRAM)
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        worker = psutil.Process(int(program.stdout.readline()))
        time.sleep(0.5)
        program.kill()
    worker.wait(timeout=10)


def test_hostile_files_fail_by_name_or_warn(pool: ParserPool, shared_data: Path) -> None:
    folder = shared_data / "documents/hostile"
    expected = [json.loads(line) for line in (folder.parent / "EXPECTED_dev.jsonl").read_text().splitlines()]
    wanted = {Path(e["file"]).name: e["outcome"] for e in expected if re.match(r"hostile/.*\.(pdf|txt)$", e["file"])}
    items = [(folder / name, name, Path(name).suffix) for name in sorted(wanted)]
    for (_, name, _), result in pool.map_files(_parse, items):
        if isinstance(result, ProcessingFailed):
            outcome = "reject"
            assert name in result.message and result.fix
        else:
            outcome = "warn" if result.warnings else "ok"
        assert (
            wanted[name] == "any" or outcome in wanted[name].split("_or_") or (wanted[name], outcome) == ("ok", "warn")
        )


def _parse(path: Path, name: str, suffix: str) -> object:
    return (pdf if suffix == ".pdf" else text).parse(path, name)
