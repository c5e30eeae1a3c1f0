"""`askline demo`: the samples go through everything, then one question a route is asked."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from cli.client import Client
from cli.ingest import sample_files, upload
from cli.output import console, errors, show_answer, show_documents
from cli.questions import SAMPLES, one_a_route, sample_questions
from cli.stack import Stack


def show(stack: Stack, quiet: bool = False) -> dict[str, Any]:
    """Upload the samples (known ones cost nothing), wait for them, ask one question a route; print all that, unless
    `quiet`, and return it with the addresses."""
    assert stack.addresses is not None
    client = Client(stack.addresses.service_url)
    records = upload(client, sample_files(SAMPLES), {"licence": "see samples/LICENCES.md"}, timeout_s=900)
    if not quiet:
        show_documents(records)
    wait_for_marts(client)
    answers = []
    for question in one_a_route(sample_questions()):
        with errors.status(f"asking: {question.question}"):
            answer: dict[str, Any] = client.post("/ask", {"question": question.question})
            lineage = client.get(f"/lineage/answers/{answer['answer_id']}")
        answers.append({"question": question.question, "answer": answer})
        if not quiet:
            show_answer(question.question, answer, lineage)
    if not quiet:
        say_addresses(stack)
    return {"documents": records, "answers": answers, **asdict(stack.addresses)}


def say_addresses(stack: Stack) -> None:
    assert stack.addresses is not None
    url = stack.addresses.service_url
    console.print()
    console.print(f"[bold]Ask page[/]    {url}/")
    console.print(f"[bold]API docs[/]    {url}/docs")
    console.print(f"[bold]Dagster UI[/]  {stack.addresses.dagster_url}/")
    console.print(f"[bold]Landing[/]     {stack.settings.landing_folder}  (drop your own files here)")
    console.print("[dim]Ctrl-C stops everything.[/]")


def wait_for_marts(client: Client, timeout_s: float = 180) -> list[str]:
    """The names of the marts once dbt has published them; what is there at the time-out otherwise."""

    deadline = time.monotonic() + timeout_s
    with errors.status("dbt builds the marts"):
        while True:
            marts = [t["name"] for t in client.get("/tables")["items"] if t["kind"] == "mart"]
            if len(marts) >= 2 or time.monotonic() > deadline:
                return marts
            time.sleep(0.5)
