"""Page of real weather above the discussion, which is written by hand and kept."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

from benchmarks import machine
from studies import pages
from studies.weather_real import judge
from studies.weather_real.data import EAST, SLEET_BELOW, SNOW_BELOW, WET_MM, RealSet
from studies.weather_real.forecasts import PATIENCE, REGRESSION, SEEDS, TREES
from studies.weather_real.judge import ByDomain

Difference = Mapping[str, Mapping[str, tuple[float, float, float]]]


@dataclass(frozen=True)
class Head:
    """Figures of one head of one set."""

    rows: Mapping[str, tuple[ByDomain, ByDomain]]
    """Figures of each model, and their standard deviation over seeds (zero for one model)."""
    differences: Mapping[str, Difference] = field(default_factory=dict)
    """Differences of pairs of models, by displayed name."""


@dataclass(frozen=True)
class Section:
    """Figures of a set."""

    data: RealSet
    temperature: Head
    precipitation: Head | None
    mixture: Mapping[str, Mapping[str, float]]
    """CRPS of the members' mixtures, by model and domain."""
    trees: int
    """Number of trees of CatBoost, ten."""
    within: Mapping[str, tuple[float, float, float]]
    """Share outside the training range of CatBoost, ten, by domain; share answered and RMSE if such rows are deferred
    as well.
    """
    crossed: Mapping[tuple[str, str], Mapping[str, float]]
    """R-AUC by domain of the first model's errors in the order of the second's uncertainty."""


Form = Callable[[float], str]


def document(sections: Sequence[Section]) -> str:
    """Return the page above the discussion."""
    blocks = []
    for section in sections:
        blocks += _temperature(section)
        if section.precipitation is not None:
            blocks += _precipitation(section.data.title, section.precipitation)
    return pages.document(
        "# Weather with real observations",
        f"{pages.written_by('weather_real')} Forecasts of real weather models and "
        "what stations then measured, from three places: do trees that say how sure they are help over the "
        "ensemble itself, and over EMOS, the regression that forecasters use? None of this is the Shifts weather "
        "data, so figures here and there cannot be compared.",
        "## Data and splits",
        pages.table(
            ("set", "forecasts", "rows: train / stop / calibrate / test in / test shifted", "shifted"),
            ((entry.data.title, _WORDS[entry.data.name], _counts(entry.data), entry.data.shift) for entry in sections),
        ),
        pages.bullets(
            "Split by time: train, then development, then test, with two days between them left out (an observation "
            "is known only when the forecast has come due). Of the development dates or weeks every other one stops "
            "the trees early, the others calibrate thresholds and intervals. What is shifted is never trained, stopped "
            "or calibrated on.",
            f"Pacific Northwest: the Cascades lie west of {-EAST:g}° W; models see the wet and mild side only. "
            "Elevation is missing (-9999) for a tenth of the rows: trees take NaN, EMOS the mean. No row was left out, "
            "not even the 46.7 °C that a station reports in January.",
            "Innsbruck: labels are the night's 12 h minimum and the class of its precipitation, cut by ourselves: "
            f"below {WET_MM} mm none (5), else up to {SNOW_BELOW:g} °C snow (8), up to {SLEET_BELOW:g} °C sleet (7), "
            "above rain (6). Clouds were not observed; the cloudy half of the nine official classes stands for both.",
            "The data are no part of this repository. Pacific Northwest: `srft` of the R package ensembleBMA (GPL ≥ "
            "2), the University of Washington's mesoscale ensemble. Hannover: the station data of the R package "
            "gamvinereg (GPL 3, Zenodo 8127734). Innsbruck: `temp` and `rain` of the R package ensemblepp (GPL 2 or "
            "3), NOAA's second reforecast and SYNOP reports.",
        ),
        "## Models",
        pages.table(("name", "what it is"), _MODELS.items()),
        "One setting for all sets, chosen by CRPS on the development rows. Trees see all members as well as their mean "
        "and spread, "
        "latitude, longitude and elevation or the season; not the date, which names 31 training days one by one.",
        "Everything by the official conventions: squared error, acceptable up to 1 °C², R-AUC in °C² as the mean of "
        "the curve's points; areas and F1 by total variance, or by negated confidence (entropy of single models).",
        f"Trained and judged on {machine.line()}, catboost {version('catboost')}.",
        *blocks,
        "## Pictures",
        "All test rows, in-domain and shifted. From left to right ever less certain rows are answered by the model; "
        "the rest is left to somebody who knows (and makes no error). Lower is better above, higher below.",
        pages.picture("Error and F1 against the share answered", "weather-real-retention.png"),
        "Intervals of the predicted normal distribution: on the diagonal they hold what they promise. Dots about 90 %: "
        "after split-conformal calibration (hollow: shifted).",
        pages.picture("Held against promised coverage", "weather-real-calibration.png"),
        "Half a year in Hannover; no model had seen a summer. Triangles: days on which Demur would defer. Squares: "
        "days with an input outside the range of training, which it marks as shifted.",
        pages.picture("Forecasts, intervals, observations and deferred days", "weather-real-series.png"),
        "Precipitation in Innsbruck, all test nights.",
        pages.picture("Retention and reliability of precipitation classes", "weather-real-classes.png"),
    )


_MODELS = {
    "raw ensemble": "mean and variance (ddof 0) of the weather model's members; *centred*: less its mean error in "
    "training",
    "raw shares": "share of members in each class; *centred*: temperatures as above",
    "EMOS": "normal; mean a + b (ensemble mean), variance c + d (ensemble variance), minimum CRPS (Gneiting et "
    "al. 2005); *with elevation*, *with season* (sine and cosine of the day): linear terms more in the mean",
    "log-linear": "multinomial logistic regression on means, spreads, share of wet members, season",
    "CatBoost, single": f"RMSEWithUncertainty or MultiClass; at most {TREES} trees of depth "
    f"{REGRESSION['depth']}, rate {REGRESSION['learning_rate']}, patience {PATIENCE}; mean ± σ of {len(SEEDS)} "
    "seeds",
    "CatBoost, ten": f"those {len(SEEDS)} as one ensemble: what Demur serves",
    "EMOS + ten": "ten more, fitted to what EMOS with its further term leaves; their sum (not served: an artefact "
    "of trees has no linear part)",
}
_WORDS = {
    "pnw": "8 weather models of the University of Washington, 48 h, 969 stations, Jan-Feb 2004, 52 dates",
    "hannover": "ECMWF ensemble, 24 h: mean and spread of 10 quantities, one station, 2015-2020",
    "innsbruck": "11 members of the GEFS reforecast, 18-30 h, minimum temperature and rain, one station, 2000-2015",
}


def _counts(data: RealSet) -> str:
    """Return the numbers of rows of the parts of a split."""
    domains = judge.domains(data)
    parts = (data.split.train, data.split.stop, data.split.calibrate, domains["in"], domains["shifted"])
    return " / ".join(str(int(part.sum())) for part in parts)


def _temperature(section: Section) -> list[str]:
    head = section.temperature
    inside, shifted = section.within["in"], section.within["shifted"]
    mixtures = (
        f"{name} {' / '.join(_three(crps[domain]) for domain in judge.DOMAINS)}"
        for name, crps in section.mixture.items()
    )
    blocks = [
        f"## {section.data.title}: temperature",
        "Errors and retention: in / shifted / all.",
        _table(
            head,
            [
                ("RMSE, °C", "rmse", _two),
                ("CRPS, °C", "crps", _three),
                ("R-AUC, °C²", "r_auc", _two),
                ("F1-AUC", "f1_auc", _three),
                ("F1@95", "f1_at_95", _three),
            ],
        ),
        "Intervals of 90 %, deferral at a target retention of 95 %, and telling shifted from in-domain rows (ROC-AUC): "
        "in / shifted.",
        _table(
            head,
            [
                ("normal: held", "covered", _share),
                ("conformal: held", "covered_conformal", _share),
                ("conformal: width, °C", "width_conformal", _one),
                ("answered", "answered", _share),
                ("RMSE answered", "answered_rmse", _two),
                ("RMSE deferred", "deferred_rmse", _two),
            ],
            domains=("in", "shifted"),
            whole=_DETECTION,
            spread=False,
        ),
        f"{_share(inside[0])} / {_share(shifted[0])} of the rows have an input outside the range of training. A policy "
        f"with `defer_on_shift` leaves them, too: CatBoost, ten then answers {_share(inside[1])} / "
        f"{_share(shifted[1])}, with an RMSE of {_two(inside[2])} / {_two(shifted[2])} °C. ({section.trees} trees in "
        f"all. CRPS of the members' mixture, not of the normal of its mean and variance: {'; '.join(mixtures)}.)",
    ]
    names = list(dict.fromkeys(model for model, _ in section.crossed))
    if names:
        blocks += [
            "Whose errors, in the order of whose uncertainty: R-AUC, °C², in / shifted.",
            pages.table(
                ("errors of", *(f"order of {name}" for name in names)),
                ((model, *(_in_and_shifted(section.crossed[model, other]) for other in names)) for model in names),
            ),
        ]
    return blocks + _differences(head)


def _in_and_shifted(area: Mapping[str, float]) -> str:
    return f"{_two(area['in'])} / {_two(area['shifted'])}"


def _precipitation(title: str, head: Head) -> list[str]:
    impossible = {name: figures["all"]["impossible"] for name, (figures, _) in head.rows.items()}
    worst = "; ".join(f"{name} {_share(share)}" for name, share in impossible.items() if share > 0)
    return [
        f"## {title}: precipitation class",
        "In / shifted / all.",
        _table(
            head,
            [
                ("accuracy", "accuracy", _share),
                ("macro F1", "macro_f1", _three),
                ("log score, nats", "log_score", _two),
                ("Brier", "brier", _three),
            ],
        ),
        _table(
            head,
            [("R-AUC", "r_auc", _three), ("F1-AUC", "f1_auc", _three), ("F1@95", "f1_at_95", _three)],
            whole=_DETECTION,
        ),
        "Deferral at a target retention of 95 %: in / shifted.",
        _table(
            head,
            [
                ("answered", "answered", _share),
                ("accuracy answered", "answered_accuracy", _share),
                ("accuracy deferred", "deferred_accuracy", _share),
            ],
            domains=("in", "shifted"),
            spread=False,
        ),
        worst and f"An infinite log score: what came had been called impossible (share of the rows: {worst}).",
        *_differences(head),
    ]


def _differences(head: Head) -> list[str]:
    blocks = []
    for pair, by_domain in head.differences.items():
        rows = (
            (domain, *(f"{value:+.3f} ({low:+.3f} to {high:+.3f})" for value, low, high in by_name.values()))
            for domain, by_name in by_domain.items()
        )
        blocks += [
            f"{pair}, with 95 % of {judge.RESAMPLES} bootstraps over blocks of time:",
            pages.table(("rows", *next(iter(by_domain.values()))), rows),
        ]
    return blocks


def _table(
    head: Head,
    columns: Sequence[tuple[str, str, Form]],
    *,
    domains: Sequence[str] = judge.DOMAINS,
    whole: Sequence[tuple[str, str, Form]] = (),
    spread: bool = True,
) -> str:
    """Return a table with one row per model; a cell has a figure of each domain, in ``whole`` columns of all rows."""
    rows = []
    for name, (by_domain, deviation) in head.rows.items():
        cells = []
        for (_, key, form), parts in [
            *((column, domains) for column in columns),
            *((column, ("all",)) for column in whole),
        ]:
            cell = " / ".join(form(by_domain[domain][key]) for domain in parts)
            last = deviation["all"][key]
            cells.append(f"{cell} ± {form(last).lstrip()}" if spread and last > 0 and "all" in parts else cell)
        rows.append((name, *cells))
    return pages.table(("model", *(title for title, *_ in (*columns, *whole))), rows)


def _number(value: float, digits: int) -> str:
    return "∞" if math.isinf(value) else pages.number(value, f".{digits}f")


def _one(value: float) -> str:
    return _number(value, 1)


def _two(value: float) -> str:
    return _number(value, 2)


def _three(value: float) -> str:
    return _number(value, 3)


def _share(value: float) -> str:
    return pages.NONE if math.isnan(value) else f"{100 * value:.0f} %"


_DETECTION = [("ROC by total", "roc_total", _two), ("by knowledge", "roc_knowledge", _two)]
