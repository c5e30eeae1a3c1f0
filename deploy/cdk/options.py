"""What is chosen for a deployment: `-c name=value` of the CDK, and how large each size is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Of servers and tasks; docs/aws.md has the arithmetic. CPU in 1/1024 of a vCPU, memory in MiB, disks in GiB."""

    search_instance: str
    search_nodes: int
    search_masters: int
    search_disk: int
    database_instance: str
    database_disk: int
    cache_node: str
    query_tasks: int
    query_cpu: int
    query_memory: int
    run_cpu: int
    run_memory: int


SIZES = {
    "small": Size("t3.medium.search", 2, 0, 20, "t4g.medium", 20, "cache.t4g.small", 1, 1024, 2048, 2048, 8192),
    "medium": Size("r7g.xlarge.search", 2, 3, 100, "m7g.large", 100, "cache.t4g.medium", 2, 2048, 4096, 4096, 16384),
    "large": Size("r7g.4xlarge.search", 2, 3, 600, "r7g.xlarge", 500, "cache.m7g.large", 4, 4096, 8192, 4096, 16384),
}
"""For about 1,000, 100,000 and 1,000,000 documents."""
MASTER_INSTANCE = "m7g.medium.search"


@dataclass(frozen=True)
class Options:
    account: str
    region: str
    repository: str
    """Name of the ECR repository of the image."""
    tag: str
    certificate: str
    """ARN of the certificate (ACM) of the query service's name."""
    public_url: str
    """https://… of the query service, as people write it."""
    clients: tuple[str, ...]
    """Address ranges that may reach it."""
    email: str
    """Who is told of alarms and of the budget."""
    budget: int
    """In US dollars a month."""
    size: Size
    started: bool
    """False until the database is set up and the first key is made: then no program of the stack runs."""


def read(context: Callable[[str], object]) -> Options:
    """From the CDK's context. ValueError names the first that is missing or wrong, and how to give it."""

    def text(name: str, example: str) -> str:
        value = context(name)
        if not value:
            raise ValueError(f"Give `-c {name}={example}`.")
        return str(value)

    size = str(context("size") or "small")
    if size not in SIZES:
        raise ValueError(f"`-c size={size}` is none of {', '.join(SIZES)}.")
    budget = text("budget", "500")
    if not budget.isdigit():
        raise ValueError(f"`-c budget={budget}` is no whole number of US dollars.")
    clients = tuple(part.strip() for part in text("clients", "203.0.113.0/24").split(","))
    if "0.0.0.0/0" in clients:
        raise ValueError("`-c clients=0.0.0.0/0` is everybody. Name the ranges of those who may ask.")
    return Options(
        account=text("account", "111122223333"),
        region=text("region", "eu-central-1"),
        repository=str(context("repository") or "askline"),
        tag=text("tag", "0.1.0"),
        certificate=text("certificate", "arn:aws:acm:…"),
        public_url=text("public_url", "https://askline.example.org"),
        clients=clients,
        email=text("email", "operations@example.org"),
        budget=int(budget),
        size=SIZES[size],
        started=str(context("started") or "true").lower() != "false",
    )
