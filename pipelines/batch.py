"""How an asset works on the versions of its run: a bad file fails alone, the unchanged is skipped, all is recorded."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, TypeVar

import dagster as dg
from sqlalchemy import Connection

from foundation.errors import AsklineError, ProcessingFailed, StageFailed, Unavailable
from foundation.registry import claims, content_locks, erasures, stages
from foundation.registry.database import transaction
from foundation.registry.version_keys import key_of
from foundation.stores import Stores
from foundation.types import ClaimedVersion, Stage
from pipelines.activation import activate
from pipelines.code_versions import code_version
from pipelines.leases import kept_leases

Counts = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one version in one stage: counts, or the error that it fails with."""

    version: ClaimedVersion
    seconds: float
    result: Counts | Exception


Work = Callable[[Sequence[ClaimedVersion]], Iterable[Outcome]]
Also = Callable[[Connection, Sequence[ClaimedVersion]], None]
COMPLETE = tuple(Stage)
"""A version answers once every stage is recorded; a document has no tables, and its table stages say so with zeros."""

_TOGETHER = 200
_AT_LATEST_S = 1.0
_WRITERS = 4
LAST = (Stage.SEARCH_INDEX, Stage.TABLE_LINKS, Stage.GRAPH_EDGES)
"""The stages behind which no other comes: one of them is a version's last."""


@dataclass(slots=True)
class StageReport:
    """What a stage did in this run, for the asset's metadata."""

    done: list[Outcome] = field(default_factory=list)
    unchanged: int = 0
    failed: list[Outcome] = field(default_factory=list)
    activated: int = 0

    def total(self, name: str) -> int:
        return sum(int(o.result.get(name, 0)) for o in self.done if isinstance(o.result, dict))


def one_by_one(function: Callable[[ClaimedVersion], Counts]) -> Work:
    """Work that takes the versions in turn."""

    def work(versions: Sequence[ClaimedVersion]) -> Iterator[Outcome]:
        for version in versions:
            started = time.monotonic()
            try:
                result: Counts | Exception = function(version)
            except Unavailable:
                raise  # nothing is wrong with the file: the run fails and the versions are tried again
            except Exception as error:  # noqa: BLE001  the version ends as failed, with this as its reason
                result = error
            yield Outcome(version, time.monotonic() - started, result)

    return work


def together_or_alone(
    group: Sequence[tuple[ClaimedVersion, T]], work: Callable[[Sequence[tuple[ClaimedVersion, T]]], list[Outcome]]
) -> list[Outcome]:
    """Several small versions in one go; where that fails each is tried alone, so that only the bad one fails."""
    if not group:
        return []
    try:
        return work(group)
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001  it is raised again for the version that it is about
        if len(group) == 1:
            return [Outcome(group[0][0], 0.0, error)]
        return [outcome for member in group for outcome in together_or_alone([member], work)]


def in_groups(
    load: Callable[[ClaimedVersion], T],
    size: Callable[[T], int],
    most: int,
    work: Callable[[Sequence[tuple[ClaimedVersion, T]]], list[Outcome]],
) -> Work:
    """Work that loads the versions in turn, and does as many together as reach `most` in size."""

    def run(versions: Sequence[ClaimedVersion]) -> Iterator[Outcome]:
        group: list[tuple[ClaimedVersion, T]] = []
        held = 0
        for version in versions:
            started = time.monotonic()
            try:
                loaded = load(version)
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001  the version ends as failed, with this as its reason
                yield Outcome(version, time.monotonic() - started, error)
                continue
            group.append((version, loaded))
            held += size(loaded)
            if held >= most:
                yield from together_or_alone(group, work)
                group, held = [], 0
        yield from together_or_alone(group, work)

    return run


def side_by_side(function: Callable[..., object], calls: Iterable[tuple[Any, ...]]) -> None:
    """Make these calls in several threads: what writes a file mostly waits for the disk."""
    with ThreadPoolExecutor(_WRITERS, thread_name_prefix="write") as pool:
        for written in [pool.submit(function, *arguments) for arguments in calls]:
            written.result()


def versions_of_run(stores: Stores, run_id: str, day: date) -> list[ClaimedVersion]:
    """The batch of this run; a run without raw_files (a part chosen in the UI) takes what lives of its day."""
    with transaction(stores.engine) as connection:
        found = claims.batch(connection, run_id)
        if not found:
            keys = claims.living_versions(connection, day)
            claims.add_to_batch(connection, run_id, day, keys, claims.Shard())
            found = claims.batch(connection, run_id)
        return found


def run_stage(
    context: dg.AssetExecutionContext,
    stores: Stores,
    stage: Stage,
    versions: Sequence[ClaimedVersion],
    work: Work,
    also: Also | None = None,
) -> StageReport:
    """Take the versions of the run through one stage; `also` writes more of what is done in the same transaction."""
    run_id, report = context.run.run_id, StageReport()
    force = context.run.tags.get("askline/force") == "true"
    codes = {v.version_id: code_version(stage, v, stores.embedder, stores.domain) for v in versions}
    contents = [v.version_id for v in versions]

    def erase_again(since: datetime) -> None:
        with transaction(stores.engine) as connection:
            erasures.repeat_erasures(connection, contents, since)

    with content_locks.shared(stores.engine, contents, on_loss=erase_again), kept_leases(stores, run_id):
        if stores.outdated():
            raise Unavailable("The search index was replaced while this run worked for the old one: it is done again.")
        with transaction(stores.engine) as connection:
            known = {} if force else stages.stages_done(connection, stage, codes)
            working = stages.start_stage(connection, run_id, versions, stage)
            # Whatever else is in the batch was deleted, or another run has it now.
            mine = working | stages.indexed_among(connection, versions)
            kept = [v for v in versions if key_of(v) in mine]
            todo = [v for v in kept if v.version_id not in known]
            unchanged = [v for v in kept if v.version_id in known]
            again = [v for v in unchanged if key_of(v) in working]
            stages.finish_stage(
                connection,
                run_id,
                stage,
                [stages.Finished(v, codes[v.version_id], 0, known[v.version_id]) for v in again],
            )
        report.unchanged = len(unchanged)
        report.activated += _activate(stores, run_id, unchanged, stage)
        recorder = _Recorder(context, stores, stage, codes, report, also)
        for outcome in work(todo):
            recorder.add(outcome)
        recorder.flush()
    return report


@dataclass
class _Recorder:
    """Writes outcomes to the registry, several small ones in one transaction; what is lost by a crash is done again."""

    context: dg.AssetExecutionContext
    stores: Stores
    stage: Stage
    codes: dict[str, str]
    report: StageReport
    also: Also | None
    _pending: list[Outcome] = field(default_factory=list)
    _since: float = field(default_factory=time.monotonic)

    def add(self, outcome: Outcome) -> None:
        if isinstance(outcome.result, Unavailable):
            raise outcome.result
        self._pending.append(outcome)
        if len(self._pending) >= _TOGETHER or time.monotonic() - self._since > _AT_LATEST_S:
            self.flush()

    def flush(self) -> None:
        pending, self._pending, self._since = self._pending, [], time.monotonic()
        run_id = self.context.run.run_id
        finished = [
            stages.Finished(o.version, self.codes[o.version.version_id], o.seconds, o.result)
            for o in pending
            if not isinstance(o.result, Exception)
        ]
        with transaction(self.stores.engine) as connection:
            stages.finish_stage(connection, run_id, self.stage, finished)
            if self.also is not None:
                self.also(connection, [one.version for one in finished])
            for outcome in sorted(pending, key=lambda o: o.version.document_id):
                if isinstance(outcome.result, Exception):
                    error = _reason(outcome.result, outcome.version, self.stage)
                    claims.fail(connection, run_id, outcome.version, self.stage, error)
        for outcome in pending:
            if isinstance(outcome.result, Exception):
                self._say(outcome, outcome.result)
            else:
                self.report.done.append(outcome)
        self.report.activated += _activate(self.stores, run_id, [one.version for one in finished], self.stage)

    def _say(self, outcome: Outcome, failure: Exception) -> None:
        self.report.failed.append(outcome)
        code = _reason(failure, outcome.version, self.stage).code
        self.context.log.warning(f"{outcome.version.document_id}: {self.stage} failed with {code}")
        if code == StageFailed.code:
            # The trace without the message, which may quote the document.
            frames = "".join(traceback.format_tb(failure.__traceback__))
            self.context.log.error(f"{outcome.version.document_id}: {type(failure).__name__}\n{frames}")


def _activate(stores: Stores, run_id: str, versions: Sequence[ClaimedVersion], stage: Stage) -> int:
    return activate(stores, run_id, versions, COMPLETE) if stage in LAST else 0


def _reason(error: Exception, version: ClaimedVersion, stage: Stage) -> AsklineError:
    """With a code of those that a version can fail with, and a message that names the file."""
    if isinstance(error, ProcessingFailed):
        if version.file_name not in error.message:
            error.message = f"{version.file_name}: {error.message}"
        return error
    said = f": {error.message}" if isinstance(error, AsklineError) else f" with {type(error).__name__}."
    return StageFailed(f"{version.file_name}: {stage} failed{said}")
