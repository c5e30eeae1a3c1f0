"""The processes of a running stack that a round may kill, found afresh each time."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
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
    found = present(house, kind)
    if not found:
        return None
    victim = rng.choice(sorted(found, key=lambda process: process.pid))
    try:
        victim.kill()
    except psutil.NoSuchProcess:
        return None
    return f"{kind} {victim.pid}"


def present(house: House, *kinds: str) -> list[psutil.Process]:
    """All processes of these kinds that run now. [] when one of the kinds has none."""
    family = _Family()
    found = [_KINDS[kind](house, family) for kind in kinds]
    return [process for these in found for process in these] if all(found) else []


class _Family:
    """Who has started whom, by one look at all processes; psutil's `children` takes such a look for each answer."""

    def __init__(self) -> None:
        self._of: dict[int, list[psutil.Process]] = {}
        for process in psutil.process_iter(["ppid"]):
            self._of.setdefault(process.info["ppid"], []).append(process)

    def of(self, parents: Iterable[psutil.Process | int]) -> list[psutil.Process]:
        pids = [parent if isinstance(parent, int) else parent.pid for parent in parents]
        return [child for pid in pids for child in self._of.get(pid, [])]


_Find = Callable[[House, _Family], list[psutil.Process]]


def _program(*words: str) -> _Find:
    """With these words in its command, started by `askline up` or by its nursery."""

    def find(house: House, family: _Family) -> list[psutil.Process]:
        first = family.of([house.up])
        programs = [child for child in first if set(words) <= set(_command(child))]
        return programs or [child for child in family.of(first) if set(words) <= set(_command(child))]

    return find


def _runs(house: House, family: _Family) -> list[psutil.Process]:
    """The forked children of the warm worker; each executes a run or waits for one."""
    children = family.of(_run_workers(house, family))
    return [child for child in children if "celery" in _command(child)]  # a fork has its parent's command line


def _parsers(house: House, family: _Family) -> list[psutil.Process]:
    """Forks of a fork server; that one has just one child else, which is no parser."""
    children = family.of(_runs(house, family))
    servers = [child for child in children if any("forkserver" in word for word in _command(child))]
    return family.of(servers)


def _postmaster(house: House, _: _Family) -> list[psutil.Process]:
    pid = postgres.running_pid(postgres_folder(house.settings))
    return [] if pid is None else [psutil.Process(pid)]


def _backends(house: House, family: _Family) -> list[psutil.Process]:
    """Servers of one connection each: when one is killed, Postgres drops all connections and recovers."""
    children = family.of(_postmaster(house, family))
    return [child for child in children if " askline " in f"{' '.join(_command(child))} "]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return []


_run_workers = _program("celery")
_KINDS: dict[str, _Find] = {
    "run": _runs,
    "run workers": _run_workers,
    "parser": _parsers,
    "daemon": _program("dagster._daemon"),
    "code server": _program("grpc", "askline"),
    "Postgres": _postmaster,
    "Postgres backend": _backends,
    "query service": _program("query_service.app"),
    "nursery": _program("cli.nursery"),  # with it end all programs that it has forked
}
KINDS = sorted(_KINDS)
