"""`make crash N=1000 SEED=7`: rounds until N are done; each that differs is printed with what repeats it."""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from pathlib import Path

from rich.console import Console
from side_by_side import disturbed


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("rounds", type=int)
    given.add_argument("--seed", type=int, default=None, help="of files and kill points; absent: another each time")
    given.add_argument("--first", type=int, default=0, help="number of the first round: with the seed it repeats one")
    given.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="stacks side by side; 1.5 GB each")
    given.add_argument("--keep", type=Path, default=None, help="folder for the data of stacks that differed")
    asked = given.parse_args()
    seed = random.randrange(1_000_000) if asked.seed is None else asked.seed
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the stacks are stopped in every case
    console = Console(highlight=False, soft_wrap=True, markup=False)
    wrong, kills, started = 0, 0, time.monotonic()
    for done in disturbed(seed, range(asked.first, asked.first + asked.rounds), asked.jobs, asked.keep):
        wrong += bool(done.found)
        kills += done.killed
        console.print(str(done))
    console.print(
        f"{asked.rounds} rounds with {kills} kills in {time.monotonic() - started:.0f} s,"
        f" {wrong} with differences (SEED={seed})"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
