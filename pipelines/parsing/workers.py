"""Parser processes with limits: a hostile file costs one process, never the run.

Workers come out of a fork server, so a pool may be used beside threads (a Dagster step has some) and a replacement
for a killed worker starts in milliseconds, with the parsers already imported.
"""

from __future__ import annotations

import copyreg
import errno
import logging
import multiprocessing
import os
import pickle
import resource
import select
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, fields
from multiprocessing import forkserver
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pebble import CONSTS, ProcessExpired, ProcessFuture, ProcessPool

from foundation.errors import AsklineError, DamagedFile, ProcessingFailed, ResourceLimit, Unavailable
from foundation.types import Element, ParsedDocument, WordBox
from pipelines.parsing.process_limits import set_limit

Item = TypeVar("Item", bound=tuple[Any, ...])

_PRELOAD = [
    "__main__",
    *(f"pipelines.parsing.{name}" for name in ("dispatch", "pdf", "docx", "text", "csv_file", "xlsx_file")),
]
_TASKS_PER_WORKER = 500
"""A worker is replaced after that many files, so that what a C library leaks stays bounded."""
_OPEN_FILES = 256
_LOOK_S = 0.5
CONSTS.sleep_unit = 0.01  # seconds between two looks at a pool; with pebble's 0.1 closing one takes as long
_MB = 1 << 20
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Limits:
    memory_mb: int
    timeout_s: float
    max_text_mb: int
    max_output_mb: int
    waiting_s: float
    temporary: Path | None


def _pickle_by_fields(kind: type[Element | WordBox]) -> None:
    """`dataclasses` would look the fields up anew for each of the thousands of pieces of a document."""
    values = attrgetter(*(field.name for field in fields(kind)))
    copyreg.pickle(kind, lambda piece: (kind, values(piece)))


_pickle_by_fields(Element)
_pickle_by_fields(WordBox)


def start_server() -> None:
    """Have the fork server ready, with the common parsers imported, before the first file comes."""
    multiprocessing.get_context("forkserver").set_forkserver_preload(_PRELOAD)
    forkserver.ensure_running()


class ParserPool:
    """`workers` processes, started at the first use and reused while idle; close it, or use it as a context manager.

    memory_mb limits a worker's private memory, timeout_s the wall time (and, a little later, the CPU time) of one
    file, max_text_mb the text of one parsed document, max_output_mb each file that a worker writes. waiting_s is added
    to the wall time: OCR has its own limits, and its program's CPU time is not the worker's. temporary is where
    workers, and what they start, put their temporary files: one that is killed does not remove its own.
    """

    def __init__(
        self,
        workers: int,
        memory_mb: int,
        timeout_s: float,
        max_text_mb: int = 50,
        max_output_mb: int = 4096,
        waiting_s: float = 0,
        temporary: Path | None = None,
    ) -> None:
        self._workers = workers
        self._limits = _Limits(memory_mb, timeout_s, max_text_mb, max_output_mb, waiting_s, temporary)
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(_PRELOAD)
        self._lock = threading.Lock()
        self._pool: ProcessPool | None = None

    def __enter__(self) -> ParserPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def parse(self, function: Callable[..., Any], *args: Any) -> Any:
        """function(*args) in a worker; `function` is importable, and `args` hold the file's name as their first str.

        Raises what the function raises of AsklineError; ResourceLimit past a limit; DamagedFile when the function
        fails otherwise or its process dies, by SIGKILL twice; Unavailable when no process can be had. The pool stays
        usable.
        """
        return self._finish(function, args, self._submit(function, args))

    def map_files(self, function: Callable[..., Any], items: Iterable[Item]) -> Iterator[tuple[Item, Any]]:
        """(item, result or ProcessingFailed or other AsklineError) of function(*item) for each item, as they end.

        At most twice as many items as workers are under way, so a long batch never piles up results.
        """
        under_way: dict[ProcessFuture[bytes], Item] = {}
        for item in items:
            while len(under_way) >= 2 * self._workers:
                yield from self._ended(function, under_way)
            under_way[self._submit(function, item)] = item
        while under_way:
            yield from self._ended(function, under_way)

    def close(self) -> None:
        """Stop the workers, busy ones too, and wait until they are gone."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            _stop(pool)

    def _ended(
        self, function: Callable[..., Any], under_way: dict[ProcessFuture[bytes], Item]
    ) -> Iterator[tuple[Item, Any]]:
        """The items that are no longer under way."""
        wait(under_way, _LOOK_S, FIRST_COMPLETED)  # nobody is told of what a broken pool drops
        for future in [future for future in under_way if future.done()]:
            item = under_way.pop(future)
            try:
                yield item, self._finish(function, item, future)
            except AsklineError as error:
                yield item, error

    def _submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> ProcessFuture[bytes]:
        task = (function, args, self._limits)
        with self._lock:
            # A worker that dies while idle breaks the whole of a pebble pool: its fault, not the next file's.
            if self._pool is not None and self._pool.active:
                try:
                    return self._pool.schedule(_run, args=task, timeout=self._limits.timeout_s + self._limits.waiting_s)
                except RuntimeError:
                    _LOG.warning("The parser pool broke; starting its workers anew.")
            if self._pool is not None:
                _stop(self._pool)
            self._pool = ProcessPool(
                self._workers,
                max_tasks=_TASKS_PER_WORKER,
                initializer=_limit_process,
                initargs=(self._limits, os.getpid()),
                context=self._context,
            )
            return self._pool.schedule(_run, args=task, timeout=self._limits.timeout_s + self._limits.waiting_s)

    def _finish(self, function: Callable[..., Any], args: tuple[Any, ...], future: ProcessFuture[bytes]) -> Any:
        name = _file_name(args)
        try:
            return _unpack(future, name, self._limits)
        except (BrokenProcessPool, CancelledError):
            # Another file's worker took the pool down at a bad moment; this file gets one more try of its own.
            pass
        except ProcessExpired as error:
            # Somebody else killed it: an operator, or the kernel, which then chose one of the largest processes.
            if error.exitcode != -signal.SIGKILL:
                raise _died(error, name, self._limits) from error
        try:
            return _unpack(self._submit(function, args), name, self._limits)
        except ProcessExpired as error:
            raise _died(error, name, self._limits) from error
        except (BrokenProcessPool, CancelledError) as error:
            # The file is not at fault: when it is, its own process has expired.
            raise Unavailable("The parser processes end before they read a file; the run's log says why.") from error


def _unpack(future: ProcessFuture[bytes], name: str, limits: _Limits) -> Any:
    try:
        ok, value = pickle.loads(future.result())
    except TimeoutError as error:
        raise _too_slow(name, limits) from error
    if ok:
        return value
    raise value


def _died(error: ProcessExpired, name: str, limits: _Limits) -> ProcessingFailed:
    # multiprocessing gives minus the signal as exit code.
    number = -(error.exitcode or 0)
    if number == signal.SIGXCPU:
        return _too_slow(name, limits)
    cause = signal.Signals(number).name if number in set(signal.Signals) else f"exit code {-number}"
    return DamagedFile(
        f"{name}: the parser process died while reading it ({cause}): the file is damaged, or needs more memory "
        f"than {limits.memory_mb} MB.",
        fix="Open and save the file again with its own program, split it, or raise ASKLINE_PARSING__MEMORY_MB.",
    )


def _too_slow(name: str, limits: _Limits) -> ResourceLimit:
    return ResourceLimit(
        f"{name} takes longer than {limits.timeout_s:g} s to read.", fix=_split_or_raise("ASKLINE_PARSING__TIMEOUT_S")
    )


def _split_or_raise(setting: str) -> str:
    return f"Split the file, or raise {setting}, and upload it again."


def _file_name(args: tuple[Any, ...]) -> str:
    name = next((a for a in args if isinstance(a, str)), None)
    return name or next((a.name for a in args if isinstance(a, Path)), "The file")


def _stop(pool: ProcessPool) -> None:
    pool.stop()
    pool.join()


def _limit_process(limits: _Limits, program: int) -> None:
    # pebble's handler runs only between byte codes; a worker that is stuck in C would live on for three seconds.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if limits.temporary is not None:
        tempfile.tempdir = os.environ["TMPDIR"] = str(limits.temporary)
    if sys.platform == "linux":
        threading.Thread(target=_end_with, args=(os.pidfd_open(program),), daemon=True).start()
        # Not RLIMIT_AS: address space is reserved in gigabytes by allocators and BLAS that never use it.
        set_limit(resource.RLIMIT_DATA, limits.memory_mb * _MB)
    set_limit(resource.RLIMIT_FSIZE, limits.max_output_mb * _MB)
    set_limit(resource.RLIMIT_NOFILE, _OPEN_FILES)
    set_limit(resource.RLIMIT_CORE, 0)


def _end_with(program: int) -> None:
    """An idle worker notices that our program is gone by its pipe; a busy one would parse on for nobody."""
    select.select([program], [], [])
    os._exit(1)


def _run(function: Callable[..., Any], args: tuple[Any, ...], limits: _Limits) -> bytes:
    """In the worker: pickled (True, result) or (False, AsklineError). No other exception may reach the pipe.

    An exception that does not unpickle would break the pool, and a message of another library may quote the file.
    """
    usage = resource.getrusage(resource.RUSAGE_SELF)
    set_limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime + limits.timeout_s) + 5)
    name = _file_name(args)
    try:
        result = function(*args)
        if isinstance(result, ParsedDocument) and len(result.text) > limits.max_text_mb * _MB:
            raise ResourceLimit(
                f"{name} gives more than {limits.max_text_mb} MB of text.",
                fix=_split_or_raise("ASKLINE_PARSING__MAX_TEXT_MB"),
            )
        return pickle.dumps((True, result), protocol=5)
    except AsklineError as error:
        return pickle.dumps((False, error))
    except Exception as error:  # noqa: BLE001  (whatever a library throws at a hostile file becomes its failure)
        return pickle.dumps((False, _failure(error, name, limits)))


def _failure(error: Exception, name: str, limits: _Limits) -> ProcessingFailed:
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return ResourceLimit(
            f"{name} needs more than {limits.memory_mb} MB of memory.",
            fix=_split_or_raise("ASKLINE_PARSING__MEMORY_MB"),
        )
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return ResourceLimit(
            f"{name} gives an output file of more than {limits.max_output_mb} MB.",
            fix=_split_or_raise("ASKLINE_PARSING__MAX_OUTPUT_MB"),
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return DamagedFile(f"{name} cannot be read: {type(error).__name__} in {where}.")
