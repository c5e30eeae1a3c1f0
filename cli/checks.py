"""What `make smoke` checks of a running stack through its API, on every profile."""

from __future__ import annotations

import hashlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from cli.client import Client
from cli.demo import wait_for_marts
from cli.ingest import sample_files, upload
from cli.output import errors
from cli.questions import SAMPLES, faults, sample_questions
from foundation.errors import AsklineError

_RUN = "query Run($id: ID!) { runOrError(runId: $id) { ... on Run { runId status } } }"
PHRASE = "The lighthouse rota of Kestrel Bay names {name} for the {number}th watch."


def report(checks: Sequence[Callable[[], list[str]]]) -> list[str]:
    """Run them in this order, and tell how each went; returns what is wrong, in sentences."""
    problems = []
    for check in checks:
        name = check.__name__.replace("_", " ")
        started = time.monotonic()
        with errors.status(name):
            try:
                found = check()
            except (AsklineError, httpx.HTTPError, KeyError, AssertionError) as error:
                found = [f"{type(error).__name__}: {error}"]
        mark = "[red]✗[/]" if found else "[green]✓[/]"
        errors.print(f"{mark} {name} [dim]({time.monotonic() - started:.1f} s)[/]", highlight=False)
        problems += [f"{name}: {problem}" for problem in found]
    return problems


class Checks(ABC):
    """Through HTTP alone, whatever the stores are. `folder` is for files that are made and uploaded."""

    def __init__(self, client: Client, dagster_url: str, folder: Path) -> None:
        self.client, self.dagster_url, self.folder = client, dagster_url, folder
        self.folder.mkdir(exist_ok=True)
        self.answers: list[dict[str, Any]] = []

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """Bring an object into the landing store as somebody would who does not know of Askline."""

    @abstractmethod
    def remove(self, key: str) -> None:
        """Take it out again."""

    @abstractmethod
    def holding(self, *needles: bytes) -> list[str]:
        """Names of what holds one of these words of erased documents, looked at byte by byte."""

    def every_sample_is_indexed(self) -> list[str]:
        records = upload(self.client, sample_files(SAMPLES), {}, timeout_s=600, quiet=True)
        return [f"{r['file_name']}: {r['status']} {r.get('error')}" for r in records if r["status"] != "indexed"]

    def the_marts_are_published(self) -> list[str]:
        marts = wait_for_marts(self.client)
        return [] if len(marts) >= 2 else [f"only {marts} after three minutes"]

    def each_question_gives_its_fact(self) -> list[str]:
        problems = []
        for question in sample_questions():
            answer = self.client.post("/ask", {"question": question.question})
            self.answers.append(answer)
            problems += [f"{question.id} ({question.question!r}): {fault}" for fault in faults(question, answer)]
        return problems

    def each_quote_is_the_stored_text(self) -> list[str]:
        problems = []
        citations = [c for answer in self.answers for c in answer["citations"]]
        for c in citations:
            text = self.client.get(
                f"/documents/{c['document_id']}/text", version=c["version_id"], start=c["start"], end=c["end"]
            )
            if text["text"] != c["quote"]:
                problems.append(f"{c['file_name']} {c['start']}-{c['end']}: {c['quote'][:80]!r} is not in the text")
        return problems if citations else ["no answer cites anything"]

    def lineage_reaches_the_bytes(self) -> list[str]:
        problems, on_disk = [], {_sha256(path) for path in sample_files(SAMPLES)}
        runs: set[str] = set()
        for answer in self.answers:
            if not answer["citations"]:
                continue
            nodes = self.client.get(f"/lineage/answers/{answer['answer_id']}")["nodes"]
            kinds = {node["kind"] for node in nodes}
            if not {"answer", "claim", "citation", "chunk", "version", "object", "run"} <= kinds:
                problems.append(f"{answer['answer_id']}: its lineage has only {sorted(kinds)}")
            if not {n["sha256"] for n in nodes if n["kind"] == "object"} <= on_disk:
                problems.append(f"{answer['answer_id']}: an object's sha256 is not that of a file on disk")
            for node in nodes:
                if node["kind"] == "run":
                    runs.add(node["id"])
                elif node["url"] and not _resolves(node["url"]):
                    problems.append(f"{node['kind']} {node['id']}: {node['url']} does not resolve")
        marts = {t["name"] for t in self.client.get("/tables")["items"] if t["kind"] == "mart"}
        for name in marts:
            found = self.client.get(f"/lineage/tables/{name}")
            published = [edge["target"] for edge in found["edges"] if edge["kind"] == "published by"]
            runs.update(published)
            if len(published) != 1:
                problems.append(f"mart {name}: its lineage names {len(published)} runs that published it")
        return problems + [f"Dagster knows no run {run}" for run in sorted(runs) if not self._is_run(run)]

    def _is_run(self, run_id: str) -> bool:
        asked = {"query": _RUN, "variables": {"id": run_id}}
        response = httpx.post(f"{self.dagster_url}/graphql", json=asked, timeout=30)
        return bool(response.json()["data"]["runOrError"].get("runId") == run_id)

    def four_files_in_a_second_are_four_documents(self) -> list[str]:
        paths = [self.note(f"watch-{n}.txt", name, n) for n, name in enumerate(["Ansel", "Brida", "Corin", "Dagny"])]
        with ThreadPoolExecutor(4) as pool:
            records = list(pool.map(lambda path: self.client.upload(path, {}), paths))
        ids = {record["document_id"] for record in records}
        ends = [self.wait(document_id) for document_id in ids]
        wrong = [f"{end['file_name']}: {end['status']}" for end in ends if end["status"] != "indexed"]
        return wrong + ([] if len(ids) == 4 else [f"{len(ids)} documents"])

    def the_same_file_twice_is_one(self) -> list[str]:
        path = self.folder / "watch-0.txt"
        with ThreadPoolExecutor(2) as pool:
            records = list(pool.map(lambda _: self.client.upload(path, {}), range(2)))
        ids = {record["document_id"] for record in records}
        listed = self.client.get("/documents", q="watch-0.txt")["items"]
        return [] if len(ids) == 1 and len(listed) == 1 else [f"{len(ids)} ids, {len(listed)} documents listed"]

    def a_copied_file_arrives_and_a_removed_one_goes(self) -> list[str]:
        self.put("dropped/ferry.txt", b"The ferry to Skarholm leaves at 06:40 from the north pier.")
        record = self.until(lambda: self.listed("ferry.txt"), lambda r: bool(r) and r["status"] == "indexed")
        if not record:
            return ["a file that was copied into the landing store was not ingested within a minute"]
        self.remove("dropped/ferry.txt")
        gone = self.until(lambda: self.listed("ferry.txt"), lambda r: r is None, missing={})
        return [] if gone is None else ["a file that was removed from the landing store is still there after a minute"]

    def a_deleted_document_leaves_nothing(self) -> list[str]:
        table = self.folder / "berths.csv"
        table.write_text("berth,boat,depth_m\nB1,Kestrel,3.5\nB2,Osprey,4.25\n")
        uploads = [self.client.upload(path, {}) for path in (self.note("secret-watch.txt", "Eskil", 9), table)]
        note, berths = [self.wait(record["document_id"]) for record in uploads]
        problems = [f"{r['file_name']}: {r['status']} {r['error']}" for r in (note, berths) if r["status"] != "indexed"]
        question = "Who does the rota of Kestrel Bay name for the 9th watch?"
        if note["document_id"] not in self.cited(question):
            problems.append("the document is not cited before its deletion")
        erasures = [self.client.delete(f"/documents/{record['document_id']}") for record in (note, berths)]
        if note["document_id"] in self.cited(question):
            problems.append("the document is cited after its deletion")
        problems += self.erased(erasures, timeout_s=90)
        problems += [f"{name} still holds it" for name in self.holding(b"Eskil", b"Osprey")]
        if any(t["name"] == "berths" for t in self.client.get("/tables")["items"]):
            problems.append("the table is still listed")
        return problems

    def erased(self, erasures: Sequence[dict[str, Any]], timeout_s: float) -> list[str]:
        """What is wrong with these erasures, each given so long to end."""
        problems = []
        for erasure in erasures:
            look = partial(self.client.get, f"/erasures/{erasure['erasure_id']}")
            report = self.until(look, lambda r: r["status"] != "running", timeout_s=timeout_s)
            left = [store for store in report["stores"] if store["left"]]
            if report["status"] != "verified" or left:
                problems.append(f"erasure {erasure['erasure_id']} {report['status']}, left: {left}")
        return problems

    def bad_files_fail_with_a_reason(self) -> list[str]:
        bad = {
            "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog",
            "empty.csv": b"",
            "program.pdf": b"MZ\x90\x00" + bytes(500),
            "cut.xlsx": (SAMPLES / "clinic_price_list.xlsx").read_bytes()[:5000],
        }
        problems = []
        for name, data in bad.items():
            path = self.folder / name
            path.write_bytes(data)
            try:
                record = self.wait(self.client.upload(path, {})["document_id"])
                error = record["error"] if record["status"] == "failed" else None
            except AsklineError as refusal:
                error = {"code": refusal.code, "message": refusal.message, "fix": refusal.fix}
            if not error or not all(error.get(part) for part in ("code", "message", "fix")):
                problems.append(f"{name} was accepted, or failed without code, message and fix: {error}")
        return problems

    def note(self, file_name: str, name: str, number: int) -> Path:
        path = self.folder / file_name
        path.write_text(PHRASE.format(name=name, number=number))
        return path

    def listed(self, file_name: str) -> dict[str, Any] | None:
        items: list[dict[str, Any]] = self.client.get("/documents", q=file_name)["items"]
        return items[0] if items else None

    def cited(self, question: str) -> set[str]:
        answer = self.client.post("/ask", {"question": question})
        return {citation["document_id"] for citation in answer["citations"]}

    def wait(self, document_id: str, timeout_s: float = 120) -> dict[str, Any]:
        record: dict[str, Any] = self.until(
            lambda: self.client.get(f"/documents/{document_id}"),
            lambda r: r["status"] in ("indexed", "failed"),
            timeout_s=timeout_s,
        )
        return record

    def until(
        self, look: Callable[[], Any], good: Callable[[Any], bool], timeout_s: float = 60, missing: Any = None
    ) -> Any:
        """What `look` saw once `good` held; at the time-out the last look, or `missing` if that is given."""
        deadline = time.monotonic() + timeout_s
        while True:
            seen = look()
            if good(seen):
                return seen
            if time.monotonic() > deadline:
                return seen if missing is None else missing
            time.sleep(0.3)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _resolves(url: str) -> bool:
    return httpx.get(url, timeout=30).status_code == 200
