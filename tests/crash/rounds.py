"""Rounds over one stack: send a set of files, kill processes meanwhile, wait until it is quiet, compare, delete all.

What a round does follows from the seed and its number; when a process is killed is said in work that is done (stages
and uploads), not in seconds, so that a loaded machine changes little. One parser a round: two that are killed over one
file are taken for the file's fault, as a file that needs too much memory does it.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from client import NotAnswered, PatientClient
from crash_corpus import Lane, make_lanes
from dump import Dump, differences, dump
from sqlalchemy import text
from victims import KINDS, House, kill, present

from bench.common import RunningStack, running_stack
from foundation.errors import Unavailable
from foundation.registry.database import transaction
from foundation.stores import Stores
from pipelines.marts import marts_are_stale

_SETTINGS = {
    "ASKLINE_INGESTION__LEASE_S": "6",
    "ASKLINE_INGESTION__MAX_ATTEMPTS": "12",  # a version that is hit by every kill of its round must still end well
    "ASKLINE_DAGSTER__SENSOR_GRACE_S": "1",
    "ASKLINE_DAGSTER__START_TIMEOUT_S": "15",
    # more than half of a round's work was the larger model's
    "ASKLINE_EMBEDDINGS__MODEL": "all-MiniLM-L6-v2",
    "ASKLINE_EMBEDDINGS__THREADS": "1",
}
_NO_PROGRESS_LOOKS = 700
"""Nothing has changed in so many looks, some four minutes: something is stuck, however loaded the machine is. Looks and
not seconds, since whoever needs the machine may pause all processes of the rounds."""
_QUIET_LOOKS = 4
_LOOK_S = 0.25
_CLIENTS = 3
_PAUSE_S = 0.4
_ERASING_S = 3.0


class Stuck(Exception):
    """No progress in _NO_PROGRESS_LOOKS, or `askline up` has ended; says what was seen last."""


@dataclass(frozen=True, slots=True)
class Kill:
    """`after` so many uploads and stages, `delay_s` later."""

    after: int
    kind: str
    delay_s: float


@dataclass
class Round:
    """What a round did, to be repeated by its seed and number."""

    seed: int
    number: int
    kills: list[str] = field(default_factory=list)
    """In words; also those for which no process was there."""
    killed: int = 0
    found: list[str] = field(default_factory=list)
    """Differences to the undisturbed run."""
    seconds: float = 0.0

    def __str__(self) -> str:
        kills = ", ".join(self.kills) or "nothing"
        said = f"round {self.number} (SEED={self.seed}), {self.seconds:.0f} s, killed: {kills}"
        return "\n  ".join([said, *self.found])


class Rounds:
    """A stack with the undisturbed dumps to compare with. Clients are threads; this one kills and looks."""

    def __init__(self, stack: RunningStack, seed: int) -> None:
        self._stack, self._seed = stack, seed
        self._house = House(stack.addresses.pid, stack.settings)
        self._stores = Stores(stack.settings)
        self._lanes = {marts: make_lanes(random.Random(f"{seed} corpus"), marts=marts) for marts in (False, True)}
        self._wanted: dict[bool, Dump] = {}
        self._work: dict[bool, int] = {}
        self._empty = dump(self._stores, "")
        self.differed: int | None = None
        """The number of the last round with differences."""

    def undisturbed(self, *, marts: bool) -> list[str]:
        """Make the dump to compare with, twice: what differs between these is no fault of a crash."""
        for number, name in enumerate("ab"):
            prefix = f"u{int(marts)}{name}-"
            rng, nothing = random.Random(name), Round(self._seed, -1)
            self._send(prefix, self._lanes[marts], [], nothing, rng)
            got = dump(self._stores, prefix)
            self._work[marts] = self._progress(prefix)
            if number and (noise := differences(self._wanted[marts], got)):
                return noise
            self._wanted[marts] = got
            if left := self._delete_all(nothing, None, rng):
                return left
        return []

    def run(self, number: int) -> Round:
        """One disturbed round. Every fifth has a mart. The first of its kind is preceded by the undisturbed ones."""
        done, started = Round(self._seed, number), time.monotonic()
        try:
            done.found = self._disturbed(done)
        except (Stuck, NotAnswered, psutil.NoSuchProcess) as error:
            done.found = [f"stuck: {error}"]
        done.seconds = time.monotonic() - started
        self.differed = number if done.found else self.differed
        return done

    def _disturbed(self, done: Round) -> list[str]:
        rng = random.Random(f"{self._seed} {done.number}")
        marts, prefix = done.number % 5 == 4, f"r{done.number % 10_000:04}-"
        if marts not in self._wanted and (noise := self.undisturbed(marts=marts)):
            return [f"undisturbed: {line}" for line in noise]
        points = sorted(rng.randrange(self._work[marts] + 1) for _ in range(rng.randint(1, 3)))
        plan: list[Kill] = []
        for point in points:
            kinds = [k for k in KINDS if k != "parser" or all(kill.kind != "parser" for kill in plan)]
            plan.append(Kill(point, rng.choice(kinds), rng.uniform(0, 0.5)))
        self._send(prefix, self._lanes[marts], plan, done, rng)
        if found := differences(self._wanted[marts], dump(self._stores, prefix)):
            return found
        late = rng.choice([None, *KINDS])
        return [f"after deletion: {line}" for line in self._delete_all(done, late, rng)]

    def close(self) -> None:
        self._stores.close()

    # One round

    def _send(self, prefix: str, lanes: list[Lane], plan: list[Kill], done: Round, rng: random.Random) -> None:
        order = list(lanes)
        rng.shuffle(order)
        seeds = [rng.random() for _ in order]
        with ThreadPoolExecutor(_CLIENTS) as pool:
            clients = [pool.submit(self._lane, prefix, lane, seed) for lane, seed in zip(order, seeds, strict=True)]
            for planned in plan:
                self._kill_at(prefix, planned, clients, done, rng)
            for client in clients:
                client.result()
        self._wait_until_quiet(prefix)

    def _lane(self, prefix: str, lane: Lane, seed: float) -> None:
        rng, ids = random.Random(seed), {}
        client = PatientClient(self._stack.addresses.service_url, lambda: rng.uniform(0, _PAUSE_S), self._look_at_up)
        for step in lane:
            if step.data is None:
                time.sleep(rng.uniform(0, 6 * _PAUSE_S))  # long enough to be parsed, embedded or indexed by now
                client.delete(ids[step.name])
            else:
                ids[step.name] = client.upload(prefix + step.name, step.data)

    def _kill_at(
        self, prefix: str, planned: Kill, clients: list[Future[None]], done: Round, rng: random.Random
    ) -> None:
        """Once so much work is done, or nothing is to be done any more; a process that comes and goes is waited for."""

        def over() -> bool:
            return all(client.done() for client in clients) and not self._in_work()

        while (at := self._progress(prefix)) < planned.after and not over():
            time.sleep(0.05)
        time.sleep(planned.delay_s)
        while (victim := kill(self._house, planned.kind, rng)) is None and not over():
            time.sleep(0.03)
        done.killed += victim is not None
        done.kills.append(f"{victim or f'{planned.kind}: none was there'} after {at} steps")

    def _delete_all(self, done: Round, kind: str | None, rng: random.Random) -> list[str]:
        """Delete every document and wait; what is there then and was not at the beginning. `kind`: whom to kill."""
        client = PatientClient(self._stack.addresses.service_url, lambda: 0, self._look_at_up)
        for document_id in self._asked("select document_id from askline.documents where deleted_at is null") or []:
            client.delete(document_id)
        if kind is not None:
            time.sleep(rng.uniform(0, _ERASING_S))
            if victim := kill(self._house, kind, rng):
                done.killed += 1
                done.kills.append(f"{victim} while it erased")
        self._wait_until_quiet("")
        return differences(self._empty, dump(self._stores, ""))

    # Looking

    def _progress(self, prefix: str) -> int:
        """Uploads and stages of this round that are done so far; 0 while Postgres is down."""
        found = self._asked(
            "select count(*) + (select count(*) from askline.stages s join askline.documents d using (document_id)"
            " where d.file_name like :prefix) from askline.documents where file_name like :prefix",
            prefix=f"{prefix}%",
        )
        return int(found[0]) if found else 0

    def _in_work(self) -> list[str]:
        """What is not at its end, as text; something while Postgres is down."""
        found = self._asked(
            "select d.file_name || ' ' || v.status || ' ' || coalesce(v.stage, '') || ' ' || v.attempts from"
            " askline.document_versions v join askline.documents d using (document_id)"
            " where d.deleted_at is null and v.status in ('uploaded', 'processing')"
            " union all select 'erasure ' || erasure_id || ' ' || status || ' ' || attempts || ' ' ||"
            " coalesce(error_message, '') from askline.erasures where status <> 'verified'"
        )
        return ["Postgres is down"] if found is None else found

    def _asked(self, statement: str, **values: str) -> list[str] | None:
        try:
            with transaction(self._stores.engine) as connection:
                return list(connection.execute(text(statement), values).scalars())
        except Unavailable:
            self._look_at_up()
            return None

    def _look_at_up(self) -> None:
        """Stuck when the program that restarts all others has ended."""
        up = self._house.up
        if not psutil.pid_exists(up) or psutil.Process(up).status() == psutil.STATUS_ZOMBIE:
            raise Stuck(f"`askline up` has ended.\n{(self._house.settings.folder / 'up.log').read_text()[-2000:]}")

    def _wait_until_quiet(self, prefix: str) -> None:
        quiet, seen, same = 0, None, 0
        while quiet < _QUIET_LOOKS:
            open_ = self._open()
            quiet = 0 if open_ else quiet + 1
            now = (open_, self._progress(prefix), self._asked("select count(*) from askline.erasures"))
            same = same + 1 if now == seen else 0
            seen = now
            if same > _NO_PROGRESS_LOOKS and quiet < _QUIET_LOOKS:
                raise Stuck("; ".join(open_))
            time.sleep(_LOOK_S)

    def _open(self) -> list[str]:
        """All that is not at rest: documents, erasures, marts, Dagster's runs, programs that are starting again."""
        if open_ := self._in_work():
            return open_
        try:
            self._stack.http.get(f"{self._stack.addresses.service_url}/health/ready").raise_for_status()
            runs = [" ".join(run.values()) for run in self._stack.active_runs()]
            with transaction(self._stores.engine) as connection:
                stale = marts_are_stale(connection)
        except (httpx.HTTPError, Unavailable, KeyError, TypeError, ValueError) as error:
            return [type(error).__name__]
        if runs or stale:
            return [*runs, *(["marts are stale"] if stale else [])]
        return [] if present(self._house, "daemon", "code server", "run workers") else ["a program that starts again"]


@contextmanager
def rounds(seed: int, keep: Path | None = None) -> Iterator[Rounds]:
    """A stack of its own, with short leases, in a temporary folder; that of a round that differs is moved to `keep`."""
    base = Path(tempfile.mkdtemp(prefix="askline-crash-"))
    (base / "tmp").mkdir()
    before = dict(os.environ)
    os.environ.update(_SETTINGS | {"TMPDIR": str(base / "tmp")})
    try:
        with running_stack(base / "data") as stack:
            made = Rounds(stack, seed)
            try:
                yield made
            finally:
                made.close()
        if keep is not None and made.differed is not None:
            shutil.move(base, keep / f"round-{made.differed}")
    finally:
        os.environ.clear()
        os.environ.update(before)
        shutil.rmtree(base, ignore_errors=True)
