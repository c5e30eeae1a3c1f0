"""`make crash N=1000 SEED=7`: rounds until N are done; each that differs is printed with what repeats it."""

from __future__ import annotations

import argparse
import random
import signal

from rich.console import Console
from rounds import rounds


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("rounds", type=int)
    given.add_argument("--seed", type=int, default=None, help="of files and kill points; absent: another each time")
    given.add_argument("--first", type=int, default=0, help="number of the first round: with the seed it repeats one")
    asked = given.parse_args()
    seed = random.randrange(1_000_000) if asked.seed is None else asked.seed
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the stack is stopped in every case
    console, wrong = Console(highlight=False, soft_wrap=True, markup=False), 0
    with rounds(seed) as made:
        if noise := made.undisturbed(marts=False):
            console.print("two undisturbed rounds differ:", *noise, sep="\n  ")
            return 2
        for number in range(asked.first, asked.first + asked.rounds):
            done = made.run(number)
            wrong += bool(done.found)
            console.print(str(done))
    console.print(f"{asked.rounds} rounds, {wrong} with differences (SEED={seed})")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
