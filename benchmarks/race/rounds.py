"""Rounds of a race: each contender is started and measured once in each, in an order drawn anew."""

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from benchmarks import harness
from benchmarks.race.environments import LeftOut

SETTLE_SECONDS = 3.0
"""Pause after a start, so that what a server does in the background at first is not measured."""


class Named(Protocol):
    """Contender with a name, which is its key in all results."""

    @property
    def name(self) -> str:
        """Name as in the tables."""


Contender = TypeVar("Contender", bound=Named)


def in_rounds(
    contenders: Sequence[Contender],
    rounds: int,
    measure: Callable[[Contender, random.Random], None],
    say: Callable[[str], None],
    before: Callable[[], None] = lambda: None,
) -> dict[str, str]:
    """Measure all contenders in each round; return the names of those left out, with the reasons.

    Args:
        measure: measures a contender, with random numbers of the round; a contender for which it raises ``LeftOut`` or
            ``RuntimeError`` (it cannot be started, or does not answer) is left out of later rounds.
        say: writes a line of progress.
        before: called at the start of each round.
    """
    left_out: dict[str, str] = {}
    for number in range(rounds):
        draw = random.Random(number)
        before()
        for contender in draw.sample(contenders, len(contenders)):
            if contender.name in left_out:
                continue
            say(f"round {number + 1} of {rounds}: {contender.name}")
            try:
                measure(contender, draw)
            except (LeftOut, RuntimeError) as error:
                left_out[contender.name] = str(error)
                say(f"  left out: {error}")
    return left_out


def parser(name: str, description: str | None, names: list[str], default_page: Path) -> argparse.ArgumentParser:
    """Return the parser of a race's arguments.

    Args:
        names: of all contenders, from which ``--only`` chooses.
        default_page: page that ``--page`` without a path writes into.
    """
    options = harness.parser(name, description, seconds=2.0, parts=names)
    options.add_argument("--rounds", type=whole, default=3, help="each contender is started and measured once a round")
    options.add_argument("--json", type=Path, metavar="PATH", help="write all measures to this file")
    options.add_argument("--from", dest="earlier", type=Path, metavar="PATH", help="read a run instead of racing")
    help_of_page = f"write the tables into a page, {default_page.name}"
    options.add_argument("--page", type=Path, nargs="?", const=default_page, help=help_of_page)
    return options


def whole(text: str) -> int:
    """Return the number of rounds that an argument states.

    Raises:
        argparse.ArgumentTypeError: no whole number of at least 1.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"rounds = {text}: must be a whole number of at least 1")
    return int(text)


def say(line: str) -> None:
    """Write a line of progress, with the time, to standard error."""
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()
