"""The processes of a running stack that a round may kill, found afresh each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from foundation.adapters.embedded import postgres
from foundation.registry.address import postgres_folder
from foundation.settings import Settings


@dataclass(frozen=True, slots=True)
class House:
    """A stack: the process of `askline up`, and its settings."""

    up: int
    settings: Settings


def kill(house: House, kind: str, rng: random.Random) -> str | None:
    """kill -9 of one process of this kind; says which. None when there is none at this moment."""
    found = KINDS[kind](house)
    if not found:
        return None
    victim = rng.choice(sorted(found, key=lambda process: process.pid))
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return None
    return f"{kind} {victim.pid}"


def _child(*words: str) -> Callable[[House], list[psutil.Process]]:
    def find(house: House) -> list[psutil.Process]:
        return [child for child in psutil.Process(house.up).children() if set(words) <= set(_command(child))]

    return find


def _runs(house: House) -> list[psutil.Process]:
    """The forked children of the warm worker; each executes a run or waits for one."""
    return [
        child
        for worker in _run_workers(house)
        for child in _children(worker)
        if "celery" in _command(child)  # a fork has its parent's command line
    ]


def _parsers(house: House) -> list[psutil.Process]:
    """Forks of a fork server; that one has just one child else, which is no parser."""
    return [
        parser
        for run in _runs(house)
        for server in _children(run)
        if any("forkserver" in word for word in _command(server))
        for parser in _children(server)
    ]


def _postmaster(house: House) -> list[psutil.Process]:
    pid = postgres.running_pid(postgres_folder(house.settings))
    return [] if pid is None else [psutil.Process(pid)]


def _backends(house: House) -> list[psutil.Process]:
    """Servers of one connection each: when one is killed, Postgres drops all connections and recovers."""
    return [
        child
        for server in _postmaster(house)
        for child in _children(server)
        if " askline " in f"{' '.join(_command(child))} "
    ]


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children()
    except psutil.NoSuchProcess:
        return []


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


_run_workers = _child("celery")
KINDS: dict[str, Callable[[House], list[psutil.Process]]] = {
    "run": _runs,
    "run workers": _run_workers,
    "parser": _parsers,
    "daemon": _child("dagster._daemon"),
    "code server": _child("grpc", "askline"),
    "Postgres": _postmaster,
    "Postgres backend": _backends,
    "query service": _child("query_service.app"),
}
