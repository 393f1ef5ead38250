"""What the live monitor said of the real sets: a table and a picture of what ``benchmarks.weather_real.live`` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from models.tasks.weather.spec import HEADS

Moments = Sequence[Mapping[str, Any]]
PICTURE = "weather-real-live.png"
FIGURES = (
    ("r_auc", "R-AUC"),
    ("f1_auc", "F1-AUC"),
    ("f1_at_95", "F1@95"),
    ("answered_error", "error of what is answered"),
)
_UNITS = {head.name: head.error_unit for head in HEADS}


def read(folder: Path, names: Sequence[str]) -> dict[str, Moments]:
    """Moments by set, from ``live-SET.json``; sets without a file are left out."""
    paths = {name: folder / f"live-{name}.json" for name in names}
    return {name: json.loads(path.read_text()) for name, path in paths.items() if path.exists()}


def section(found: Mapping[str, Moments], titles: Mapping[str, str]) -> list[str]:
    """Lines of the page."""
    if not found:
        return []
    lines = [
        "## Watched live",
        "",
        "The ten trees of each set as an artefact of their own schema, served with a census of the heads; the test "
        "rows asked in the order of time, the observation of each sent after its answer, and the monitor looked at "
        "ten times on the way (`python -m benchmarks.weather_real.artefact`, `… .live`). The trees are trained anew "
        "under the page's settings. At the end: what the monitor said, and how far it was at most, at any look, from "
        "the same figure of all labels.",
        "",
        f"| set, head | units (shifted) | {' | '.join(title for _, title in FIGURES)} | largest difference |",
        "|---" * (len(FIGURES) + 3) + "|",
    ]
    for name, moments in found.items():
        for head in dict.fromkeys(moment["head"] for moment in moments):
            own = [moment for moment in moments if moment["head"] == head]
            last = own[-1]
            cells = [_cell(last["figures"].get(figure), figure, head) for figure, _ in FIGURES]
            apart = max(abs(one["live"] - one["offline"]) for moment in own for one in moment["figures"].values())
            lines.append(
                f"| {titles[name]}, {head} | {last['units']} ({last['shifted']}) | {' | '.join(cells)} | {apart:.1e} |"
            )
    return [*lines, "", f"![Live figures of three sets as observations come in]({PICTURE})", ""]


def draw(found: Mapping[str, Moments], titles: Mapping[str, str], path: Path) -> None:
    """R-AUC and the error of what is answered as observations come in; a column a set and head."""
    streams = [
        (f"{titles[name]}\n{head}", head, [moment for moment in moments if moment["head"] == head])
        for name, moments in found.items()
        for head in dict.fromkeys(moment["head"] for moment in moments)
    ]
    figure = Figure(figsize=(3.6 * len(streams), 4.2), layout="constrained")
    for axis, (title, head, moments) in zip(figure.subplots(1, len(streams), squeeze=False)[0], streams, strict=True):
        times = [datetime.fromtimestamp(moment["until"], UTC) for moment in moments]
        for name, label, colour in (
            ("mean_error", "all rows answered", "#999999"),
            ("answered_error", "what is answered", "#d55e00"),
            ("r_auc", "R-AUC", "#0072b2"),
        ):
            live = [moment["figures"][name]["live"] for moment in moments]
            offline = [moment["figures"][name]["offline"] for moment in moments]
            axis.plot(times, live, color=colour, label=f"{label}, live")
            axis.plot(times, offline, "o", color=colour, markersize=5, fillstyle="none", label="same, all labels")
        share = axis.twinx()
        shifted = [moment["shifted"] / moment["units"] for moment in moments]
        share.fill_between(times, shifted, color="#f0e442", alpha=0.25)
        share.set(ylim=(0, 1), yticks=[0, 0.5, 1])
        share.tick_params(labelsize=7, colors="#888888")
        axis.set(title=title, ylabel=_UNITS[head] if _UNITS[head] != "1" else "error rate", ylim=(0, None))
        axis.tick_params(axis="x", rotation=30, labelsize=8)
        axis.grid(alpha=0.3)
        axis.set_zorder(share.get_zorder() + 1)
        axis.patch.set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle("Since the beginning; yellow: share of shifted rows (right axis)", fontsize=10)
    figure.savefig(path, dpi=90, metadata={"Software": None})


def _cell(one: Mapping[str, float] | None, figure: str, head: str) -> str:
    if one is None:
        return "–"
    unit = "" if figure.startswith("f1") or _UNITS[head] == "1" else f" {_UNITS[head]}"
    return f"{one['live']:.4g}{unit}"
