"""Trees with uncertainty on real weather, against the raw ensembles and EMOS: figures, pictures and a page.

    python -m studies.weather_real [--only pnw hannover innsbruck] [--out docs/quality]

Reads ../shared/data/weather (or DEMUR_TEST_DATA/weather) and writes docs/quality/weather-real.md with its pictures.
Takes a minute and a half on one core.
"""

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from studies import pages
from studies.weather_real import figures, forecasts, judge, live
from studies.weather_real.data import SETS, folder
from studies.weather_real.figures import FittedSet
from studies.weather_real.forecasts import BOTH, REGRESSED, TEN
from studies.weather_real.page import Head, Section, document


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page; return 1 if the data are missing, else 0."""
    parser = pages.parser("weather_real", __doc__, out=pages.QUALITY)
    parser.add_argument("--only", nargs="+", choices=SETS, default=list(SETS), metavar="SET", help=", ".join(SETS))
    parser.add_argument("--live", type=Path, metavar="DIR", help="folder of live-SET.json, written by … .live --json")
    options = parser.parse_args(arguments)
    try:
        source = folder()
    except LookupError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sections, sets = [], []
    for name in options.only:
        start = time.perf_counter()
        fitted = _fitted(name, source)
        sets.append(fitted)
        sections.append(section(fitted))
        sys.stderr.write(f"{fitted.data.title}: {time.perf_counter() - start:.0f} s\n")
    draw(sets, options.out)
    titles = {fitted.data.name: fitted.data.title for fitted in sets}
    seen = {} if options.live is None else live.read(options.live, options.only)
    if seen:
        live.draw(seen, titles, options.out / live.PICTURE)
    page = options.out / "weather-real.md"
    pages.write(page, document(sections), *live.section(seen, titles))
    sys.stdout.write(page.read_text())
    return 0


def section(fitted: FittedSet) -> Section:
    """Return all figures of a set."""
    data, by_model = fitted.data, fitted.temperature.by_model
    emos = by_model[fitted.extended][0]
    better = {
        f"{model} less {fitted.extended}": judge.differences(
            data, judge.temperature_scores(data, by_model[model][0]), judge.temperature_scores(data, emos)
        )
        for model in (TEN, BOTH)
    }
    rows = {
        name: judge.over_models([judge.temperature(data, each) for each in models]) for name, models in by_model.items()
    }
    classes = None
    if fitted.precipitation is not None:
        known = fitted.precipitation.by_model
        less = judge.differences(
            data,
            judge.precipitation_scores(data, known[TEN][0]),
            judge.precipitation_scores(data, known[REGRESSED][0]),
        )
        classes = Head(
            {
                name: judge.over_models([judge.precipitation(data, each) for each in models])
                for name, models in known.items()
            },
            {f"{TEN} less {REGRESSED}": less},
        )
    mixture = {
        name: judge.mixture_crps(data, members.mean, members.variance)
        for name, members in fitted.temperature.members.items()
    }
    within = judge.answered_within(data, by_model[TEN][0])
    pair = (fitted.extended, TEN)
    crossed = {(a, b): judge.crossed(data, by_model[a][0], by_model[b][0]) for a in pair for b in pair}
    return Section(data, Head(rows, better), classes, mixture, fitted.temperature.trees, within, crossed)


def draw(sets: Sequence[FittedSet], out: Path) -> None:
    """Draw the pictures of the fitted sets."""
    figures.draw_retention(sets, out / "weather-real-retention.png")
    figures.draw_calibration(sets, out / "weather-real-calibration.png")
    for fitted in sets:
        if fitted.data.name == "hannover":
            span = datetime(2020, 2, 15, tzinfo=UTC), datetime(2020, 8, 16, tzinfo=UTC)
            figures.draw_series(fitted, (TEN, BOTH), *span, out / "weather-real-series.png")
        if fitted.precipitation is not None:
            figures.draw_classes(fitted, out / "weather-real-classes.png")


def _fitted(name: str, source: Path) -> FittedSet:
    data = SETS[name](source)
    classes = None if data.precipitation is None else forecasts.precipitation(data)
    return FittedSet(data, forecasts.temperature(data), classes)


if __name__ == "__main__":
    sys.exit(main())
