"""`make smoke`: the whole line in a temporary folder, checked instead of printed."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import psutil

from cli.checks import PHRASE, Checks, report
from cli.client import Client
from cli.stack import Stack


def run_checks(stack: Stack) -> list[str]:
    """Run every check; returns what is wrong, in sentences."""
    smoke = _Smoke(stack)
    return report(
        [
            smoke.every_sample_is_indexed,
            smoke.the_marts_are_published,
            smoke.each_question_gives_its_fact,
            smoke.each_quote_is_the_stored_text,
            smoke.lineage_reaches_the_bytes,
            smoke.four_files_in_a_second_are_four_documents,
            smoke.the_same_file_twice_is_one,
            smoke.a_copied_file_arrives_and_a_removed_one_goes,
            smoke.a_deleted_document_leaves_nothing,
            smoke.bad_files_fail_with_a_reason,
            smoke.a_killed_run_ends_indexed_once,
        ]
    )


class _Smoke(Checks):
    """With what can be seen on one machine: files of the stores, processes."""

    def __init__(self, stack: Stack) -> None:
        assert stack.addresses is not None
        self.stack = stack
        client = Client(stack.addresses.service_url)
        super().__init__(client, stack.addresses.dagster_url, stack.folder.parent / "files")

    def put(self, key: str, data: bytes) -> None:
        path = self.stack.settings.landing_folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def remove(self, key: str) -> None:
        (self.stack.settings.landing_folder / key).unlink()

    def holding(self, *needles: bytes) -> list[str]:
        stores = [self.stack.folder / name for name in ("derived", "search")] + [self.stack.settings.landing_folder]
        files = [path for store in stores for path in store.rglob("*") if path.is_file()]
        return [str(path) for path in files if any(needle in path.read_bytes() for needle in needles)]

    def a_killed_run_ends_indexed_once(self) -> list[str]:
        paths = []
        for number in range(12):
            lines = [PHRASE.format(name=f"Keeper{number}-{line}", number=line) for line in range(300)]
            path = self.folder / f"killed-{number}.txt"
            path.write_text("\n\n".join(lines))
            paths.append(path)
        with ThreadPoolExecutor(4) as pool:
            records = list(pool.map(lambda path: self.client.upload(path, {}), paths))
        killed = self._kill_run([r["document_id"] for r in records])
        ends = [self.wait(record["document_id"], timeout_s=240) for record in records]
        problems = [] if killed else ["no run could be caught at work"]
        problems += [f"{e['file_name']}: {e['status']} {e['error']}" for e in ends if e["status"] != "indexed"]
        for end in ends:
            chunks = self.client.get(f"/documents/{end['document_id']}/chunks")["items"]
            if len({c["start"] for c in chunks}) != len(chunks) or len(chunks) != end["counts"]["indexed_chunks"]:
                problems.append(f"{end['file_name']}: {len(chunks)} chunks, {end['counts']}")
        return problems

    def _kill_run(self, document_ids: list[str]) -> bool:
        """kill -9 of the process that works on these documents, once one of them is past its first stages."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            items = self.client.get("/documents", q="killed-", limit=100)["items"]
            at_work = [i for i in items if i["document_id"] in document_ids and i["status"] == "processing"]
            if any(item["stage"] in ("chunks", "embeddings", "search_index") for item in at_work):
                processes = self._run_processes()
                for process in processes:
                    process.kill()
                return bool(processes)
            time.sleep(0.05)
        return False

    def _run_processes(self) -> list[psutil.Process]:
        """Where runs execute: the workers' children, or without workers what the code server spawns."""
        by_name = {child.name: child.process for child in self.stack.children}
        workers, server = by_name.get("run workers"), by_name["code server askline"]
        if workers is not None:
            return psutil.Process(workers.pid).children()
        assert server is not None
        return [p for p in psutil.Process(server.pid).children() if "spawn_main" in " ".join(p.cmdline())]
