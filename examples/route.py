"""Route a container ship from Bishop Rock to New York with a running vessel-power service as the cost function.

    python examples/route.py --target 127.0.0.1:4005 --out route.png

Every leg that the ship could sail at every hour and speed is sent to the service, column by column of the sea grid, as
one stream of batches with the purpose `explore`: up to 170,000 rows per batch. Two routes are computed from the same
responses. The first minimises mean energy, as an optimiser without uncertainties does: it prefers water where the model
underestimates power. The second minimises mean + K standard deviations and avoids water that the service defers. Both
are then evaluated hour by hour, and drawn if matplotlib is installed. Weather and currents are simulated: see
`routing/fields.py`.
"""

import argparse
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import demur
from routing.coast import LandMask
from routing.engine import Engine
from routing.fields import Ocean
from routing.oracle import PowerOracle
from routing.sea import AMBROSE, BISHOP_ROCK, Corridor
from routing.search import Lattice, LeastMean, NoRoute, Progress, RiskAverse, shortest_paths
from routing.ship import Ship
from routing.voyage import Track, Voyage

LEAST, AVERSE = "Least mean energy", "Risk-averse"


@dataclass(frozen=True)
class Comparison:
    """Both routes, and the cost of the search."""

    voyages: dict[str, Voyage]
    lattice: Lattice
    rows: int
    """Number of rows that the search sent to the service."""
    deferred: int
    wall_seconds: float
    """Duration of the search: weather, service and dynamic programme."""

    def as_json(self) -> str:
        return json.dumps(
            {
                "rows_asked": self.rows,
                "rows_deferred": self.deferred,
                "wall_seconds": self.wall_seconds,
                "rows_per_second": self.rows / self.wall_seconds,
                "routes": {name: voyage.summary() for name, voyage in self.voyages.items()},
            },
            indent=2,
        )

    def as_text(self) -> str:
        summaries = [voyage.summary() for voyage in self.voyages.values()]
        head = f"{'':22}" + "".join(f"{name:>20}" for name in self.voyages)
        body = (f"{key:22}" + "".join(f"{summary[key]:>20,.1f}" for summary in summaries) for key in summaries[0])
        return "\n".join((head, *body))


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    earliest, latest = options.window
    if earliest > latest:
        parser.error(f"--window {earliest:g} {latest:g}: the first hour is after the last")
    lattice = Lattice(
        Corridor(BISHOP_ROCK, AMBROSE),
        Ocean.simulate(options.seed),
        Ship(),
        LandMask.draw(),
        earliest,
        latest,
    )
    try:
        with demur.connect(options.target) as client:
            comparison = compare(client.vessel, lattice, Engine(), options.risk)
            print(comparison.as_json() if options.json else comparison.as_text())
            _picture(client.vessel, comparison, options)
        return 0
    except demur.Unavailable as error:
        _say(f"No vessel service answers at {options.target}: {error}")
        _say("Start one (demur up, or demur serve vessel), or name another with --target host:port.")
    except demur.DemurError as error:
        _say(f"The vessel service at {options.target} failed: {error}")
    except NoRoute as error:
        _say(str(error))
    return 1


def compare(oracle: PowerOracle, lattice: Lattice, engine: Engine, risk: float) -> Comparison:
    """Find and evaluate the route of least mean energy and the risk-averse one."""
    corridor = lattice.corridor
    _say(
        f"{corridor.departure.name} to {corridor.destination.name}: {corridor.length_nm:,.0f} nm by great circle, "
        f"{corridor.columns} columns of up to {corridor.rows} waypoints, arrival after {lattice.earliest_h:g} to "
        f"{lattice.latest_h:g} h"
    )
    rows = deferred = 0
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        nonlocal rows, deferred
        rows += progress.rows
        deferred += progress.deferred
        rate = rows / (time.perf_counter() - began)
        stages = corridor.columns - 1
        _say(
            f"  column {progress.stage + 1:>2}/{stages}  {progress.rows:>7,} rows, "
            f"{progress.deferred / max(progress.rows, 1):>6.1%} deferred   {rows:>9,} in all, {rate:>9,.0f} rows/s",
            over=progress.stage + 1 < stages,
        )

    plans = shortest_paths(
        lattice.stages(),
        lattice.start,
        oracle,
        {LEAST: LeastMean(engine), AVERSE: RiskAverse(engine, deviations=risk)},
        report,
    )
    wall = time.perf_counter() - began
    _say(f"Asked {rows:,} rows in {wall:.1f} s: {rows / wall:,.0f} rows/s, weather and search included.")
    voyages = {
        name: Voyage.evaluate(Track.of(plan, lattice), lattice.ocean, lattice.ship, engine, oracle)
        for name, plan in plans.items()
    }
    return Comparison(voyages, lattice, rows, deferred, wall)


def _picture(oracle: PowerOracle, comparison: Comparison, options: argparse.Namespace) -> None:
    try:
        from routing import chart
    except ImportError:
        _say("No picture: matplotlib is not installed.")
        return
    lattice, voyages = comparison.lattice, comparison.voyages
    averse = voyages[AVERSE]
    backdrop = chart.Backdrop.ask(lattice, oracle, averse.duration_h, averse.distance_nm / averse.duration_h)
    corridor = lattice.corridor
    chart.draw(
        options.out,
        voyages,
        lattice,
        backdrop,
        title=f"{corridor.departure.name} to {corridor.destination.name}: {_finding(voyages)}",
        subtitle=(
            f"Risk-averse: mean + {options.risk:g} standard deviations, no deferred water if it can be helped. "
            f"Simulated weather, seed {options.seed}. {comparison.rows:,} rows asked in "
            f"{comparison.wall_seconds:.0f} s, {comparison.deferred / comparison.rows:.0%} deferred."
        ),
        footer=(
            "Power and uncertainty: Demur vessel service. Hatched: deferred on the great-circle course at mean speed; "
            "slower, or at another hour, the same place may be answered. Fuel: Fourth IMO GHG Study curve, HFO, main "
            "engine only.\nBunker for 95 %: errors of knowledge taken as fully correlated along the route, data noise "
            "as independent from hour to hour; forecast error not included. Barred: shaft speed 60–64 rpm. Coasts "
            "drawn by hand: not for navigation."
        ),
    )
    _say(f"Wrote {options.out}")


def _finding(voyages: dict[str, Voyage]) -> str:
    """Return the main result for the title of the picture."""
    least, averse = voyages[LEAST].deferred_h, voyages[AVERSE].deferred_h
    if least > averse:
        return f"{least:.0f} h of the least-energy route lie where the model defers"
    if least == 0:
        return "both routes stay where the model answers"
    return "no route around the water that the model defers"


def _say(text: str, over: bool = False) -> None:
    """Write progress and errors to stderr; on a terminal the next line overwrites a line with `over`."""
    if sys.stderr.isatty():
        print(f"\r{text}", end="" if over else "\n", file=sys.stderr, flush=True)
    else:
        print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:4005", help="gRPC address of the service (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("route.png"), help="picture to write (%(default)s)")
    parser.add_argument(
        "--risk", type=_amount, default=2.0, metavar="K", help="standard deviations added (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=7, help="of the simulated weather (%(default)s)")
    parser.add_argument(
        "--window",
        type=_amount,
        nargs=2,
        default=(166.0, 174.0),
        metavar=("FROM", "TO"),
        help="arrival, hours after departure (166 174)",
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def _amount(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 up")
    return value


if __name__ == "__main__":
    sys.exit(main())
