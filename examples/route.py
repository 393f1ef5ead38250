"""Route a container ship from Bishop Rock to New York with a running vessel-power service as the cost function.

    python examples/route.py --target 127.0.0.1:4005 --out route.png

Every leg that the ship could sail at every hour and speed is put to the service, column by column of the sea
grid, as one stream of batches whose purpose is `explore`: tens of thousands of rows a batch. From the same
answers two routes are found. The first minimises mean energy, as an optimiser without uncertainties does: it
seeks out water where the model happens to be too hopeful. The second minimises mean + k standard deviations and
stays out of what the service defers. Both are then evaluated hour by hour, and drawn. Weather and currents are
simulated (`routing/fields.py`).
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import demur

from routing.chart import Backdrop, draw
from routing.coast import LandMask
from routing.engine import Engine
from routing.fields import Ocean
from routing.oracle import PowerOracle
from routing.sea import AMBROSE, BISHOP_ROCK, Corridor
from routing.search import Lattice, LeastMean, NoRoute, Progress, RiskAverse, shortest_paths
from routing.ship import Ship
from routing.voyage import Track, Voyage

LEAST, AVERSE = "Least mean energy", "Risk-averse"


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        with demur.connect(options.target) as client:
            return compare(client.vessel, options)
    except demur.DemurError as error:
        _say(f"The vessel service at {options.target} did not answer: {error}")
        _say("Start it (demur up, or demur serve vessel), or name another with --target host:port.")
    except NoRoute as error:
        _say(str(error))
    return 1


def compare(oracle: PowerOracle, options: argparse.Namespace) -> int:
    """Find, evaluate, print and draw both routes."""
    earliest, latest = options.window
    engine = Engine()
    corridor = Corridor(BISHOP_ROCK, AMBROSE)
    lattice = Lattice(corridor, Ocean.simulate(options.seed), Ship(), LandMask.draw(), earliest, latest)
    _say(
        f"{BISHOP_ROCK.name} to {AMBROSE.name}: {corridor.length_nm:,.0f} nm by great circle, "
        f"{corridor.columns} columns of up to {corridor.rows} waypoints, arrival {earliest:g} to {latest:g} h"
    )

    asked = deferred = 0
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        nonlocal asked, deferred
        asked += progress.rows
        deferred += progress.deferred
        rate = asked / (time.perf_counter() - began)
        stages = corridor.columns - 1
        _say(
            f"  column {progress.stage + 1:>2}/{stages}  {progress.rows:>7,} rows, "
            f"{progress.deferred / max(progress.rows, 1):>6.1%} deferred   {asked:>9,} in all, {rate:>9,.0f} rows/s",
            over=progress.stage + 1 < stages,
        )

    objectives = {LEAST: LeastMean(engine), AVERSE: RiskAverse(engine, deviations=options.risk)}
    start = corridor.axis_row * lattice.bins
    plans = shortest_paths(lattice.stages(), start, oracle, objectives, report)
    wall = time.perf_counter() - began
    _say(f"Asked {asked:,} rows in {wall:.1f} s: {asked / wall:,.0f} rows/s, weather and search included.")

    voyages = {
        name: Voyage.evaluate(Track.of(plan, lattice), lattice.ocean, lattice.ship, engine, oracle)
        for name, plan in plans.items()
    }
    averse = voyages[AVERSE]
    speed = averse.distance_nm / averse.duration_h
    backdrop = Backdrop.ask(lattice, oracle, averse.duration_h, speed)
    draw(
        options.out,
        voyages,
        lattice,
        backdrop,
        title=f"{BISHOP_ROCK.name} to {AMBROSE.name}: {_finding(voyages)}",
        subtitle=(
            f"Risk aversion k = {options.risk:g}, arrival {earliest:g} to {latest:g} h, 12 to 20 kn, weather of seed "
            f"{options.seed} (simulated). {asked:,} rows asked in {wall:.0f} s; {deferred / asked:.0%} deferred."
        ),
        footer=(
            f"Power from the Demur vessel service. Fuel and CO₂: Fourth IMO GHG Study curve, HFO factor "
            "3.114; main engine only. Barred: shaft speed 60–64 rpm.\n"
            "Bunker for 95 %: errors of knowledge taken as fully correlated along the route, data noise as "
            "independent from hour to hour; forecast error not included. Coasts drawn by hand: not for navigation."
        ),
    )
    _say(f"Wrote {options.out}")
    if options.json:
        print(
            json.dumps(
                {
                    "seed": options.seed,
                    "risk": options.risk,
                    "rows_asked": asked,
                    "rows_deferred": deferred,
                    "wall_seconds": wall,
                    "rows_per_second": asked / wall,
                    "routes": {name: voyage.summary() for name, voyage in voyages.items()},
                },
                indent=2,
            )
        )
    else:
        _print_table(voyages)
    return 0


def _finding(voyages: dict[str, Voyage]) -> str:
    """What the picture shows, for its title."""
    least, averse = voyages[LEAST].deferred_h, voyages[AVERSE].deferred_h
    if least > averse:
        return f"{least:.0f} h of the least-energy route lie where the model defers"
    return "both routes stay where the model answers" if least == 0 else "no route around the water it defers"


def _print_table(voyages: dict[str, Voyage]) -> None:
    summaries = [voyage.summary() for voyage in voyages.values()]
    print(f"\n{'':24}" + "".join(f"{name:>28}" for name in voyages))
    for key in summaries[0]:
        print(f"{key:24}" + "".join(f"{summary[key]:>28,.1f}" for summary in summaries))


def _say(text: str, over: bool = False) -> None:
    """Progress and errors, on stderr; a line to be written over ends without a new line on a terminal."""
    if over and sys.stderr.isatty():
        print(f"\r{text}", end="", file=sys.stderr, flush=True)
    else:
        print(f"\r{text}" if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:4005", help="gRPC address of the service (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("route.png"), help="picture to write (%(default)s)")
    parser.add_argument(
        "--risk", type=_not_negative, default=1.0, metavar="K", help="standard deviations added (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the simulated weather (%(default)s)")
    parser.add_argument(
        "--window",
        type=_not_negative,
        nargs=2,
        default=(166.0, 174.0),
        metavar=("FROM", "TO"),
        help="arrival window, hours after departure (166 174)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _not_negative(text: str) -> float:
    value = float(text)
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 up")
    return value


if __name__ == "__main__":
    sys.exit(main())
