"""Shares of rows and requests that are flagged as unlikely; writes docs/quality/unlikely-inputs.md.

    python -m studies.unlikely_inputs --vessel DIR --weather DIR

The folders hold the output of `demur data vessel simulate` and `demur data weather simulate`. In-domain data give the
false-alarm rates; shifted data, and in-domain data with a column in another unit, the detection rates.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import machine
from models import artefact as artefacts
from models import familiarity
from models.artefact import Artefact
from models.tasks.vessel.data.table import read_files as read_vessel
from models.tasks.weather.data.folder import read_files as read_weather
from studies import pages

REQUESTS = (1, 16, 64, 256, 1024)
Rows = NDArray[np.float32]
Change = Callable[[Rows], Rows]

VESSEL: Mapping[str, tuple[tuple[str, ...], Change]] = {
    "speed in m/s": (("stw",), lambda x: x * np.float32(0.514444)),
    "speed in km/h": (("stw",), lambda x: x * np.float32(1.852)),
    "wind in m/s": (("awind_vcomp_provider", "awind_ucomp_provider"), lambda x: x * np.float32(0.514444)),
    "speed and wind in m/s": (
        ("stw", "awind_vcomp_provider", "awind_ucomp_provider"),
        lambda x: x * np.float32(0.514444),
    ),
    "waves in ft": (("comb_wind_swell_wave_height",), lambda x: x * np.float32(3.28084)),
    "tail wind positive": (("awind_vcomp_provider",), lambda x: -x),
}
"""Changed columns and the change, by name."""


def main() -> None:
    parser = pages.parser("unlikely_inputs", __doc__, out=pages.QUALITY)
    parser.add_argument("--vessel", type=Path, required=True)
    parser.add_argument("--weather", type=Path, required=True)
    options = parser.parse_args()
    vessel = artefacts.read(pages.ARTEFACTS / "vessel" / "dnn-10")
    weather = artefacts.read(pages.ARTEFACTS / "weather" / "catboost-10")
    text = pages.document(
        "# Unlikely inputs: false alarms and detection rates",
        "Shares of rows that get `unlikely_inputs` ([what that means](../shifts.md#combinations-of-inputs)). Written "
        "by `python -m studies.unlikely_inputs`, with the density of the reference artefacts. By design "
        f"{_percent(1 - familiarity.ROW_LEVEL)} of in-domain rows are flagged as single rows, and "
        f"{_percent(1 - familiarity.REQUEST_LEVEL)} of requests of consecutive in-domain rows as a whole. Data are "
        "simulated; a request holds consecutive rows of a file, which come from one voyage, or one place and time. "
        "Rows with a value outside the training range are counted in a column of their own, since they are flagged as "
        "`outside_training_range`; the other shares are of the remaining rows. Nothing was tuned on the data below.",
        "A single row in another unit that stays within the ranges mostly passes, since it looks like a rare row. "
        "Requests of many such rows are flagged more often, but not all: apparent wind in m/s is not noticed. Declared "
        "units (`units`) are checked before all else, at no cost.",
        f"Recorded on {machine.line()}.",
        "## Vessel",
        _section(vessel, {name: table.features for name, table in read_vessel(options.vessel).items()}, VESSEL),
        "## Weather",
        _section(weather, {n: table.features for n, table in read_weather(options.weather).items()}, _weather(weather)),
    )
    (options.out / "unlikely-inputs.md").write_text(f"{text}\n")
    print(text)


def _weather(artefact: Artefact) -> dict[str, tuple[tuple[str, ...], Change]]:
    features = artefact.schema.features
    winds = tuple(feature.name for feature in features if feature.unit == "m/s")
    temperatures = tuple(feature.name for feature in features if feature.unit in ("K", "°C"))
    return {
        "wind in kn": (winds, lambda x: x * np.float32(1.943844)),
        "wind from the other side": (winds, lambda x: -x),
        "one temperature + 10 K": (temperatures[:1], lambda x: x + np.float32(10)),
    }


def _section(
    artefact: Artefact, tables: Mapping[str, Rows], changes: Mapping[str, tuple[tuple[str, ...], Change]]
) -> str:
    schema, trained = artefact.schema, artefact.manifest.training_range
    known = familiarity.decode(artefact.path(artefact.manifest.training_inputs).read_bytes(), len(schema))
    assert trained is not None
    lower, upper = np.array(trained.lower, np.float32), np.array(trained.upper, np.float32)
    sets = {f"{name} (in-domain)" if name == "eval_in" else f"{name} (shifted)": tables[name] for name in _JUDGED}
    for name, (columns, change) in changes.items():
        rows = tables["eval_in"].astype(np.float32)
        for column in columns:
            position = schema.position[column]
            rows[:, position] = change(rows[:, position])
        sets[f"eval_in, {name}"] = rows
    rows = []
    for name, values in sets.items():
        features = values.astype(np.float32)
        gone = schema.missing(features)
        outside = (((features < lower) | (features > upper)) & ~gone).any(axis=1)
        scores = known.score(features, gone)
        shares = (_percent(_flagged(known, scores, outside, size)) for size in REQUESTS)
        rows.append((name, _percent(float(outside.mean())), *shares))
    heads = (f"requests of {size}" if size > 1 else "single rows" for size in REQUESTS)
    return pages.table(("rows", "outside the range", *heads), rows)


_JUDGED = ("eval_in", "dev_out", "eval_out")


def _flagged(known: familiarity.Familiarity, scores: Rows, outside: NDArray[np.bool_], size: int) -> float:
    """Return the share of rows within the range that are flagged in requests of ``size`` rows; NaN if none are."""
    flagged = within = 0
    for start in range(0, len(scores) - size + 1, size):
        inside = ~outside[start : start + size]
        flagged += int((known.unlikely(scores[start : start + size]) & inside).sum())
        within += int(inside.sum())
    return flagged / within if within else float("nan")


def _percent(share: float) -> str:
    return pages.number(share, ".1%")


if __name__ == "__main__":
    main()
