"""List of all studies, with the files they write, their inputs and their duration: ``python -m studies``."""

import sys
from dataclasses import dataclass

from studies.pages import table


@dataclass(frozen=True)
class Study:
    """One study, started as ``python -m studies.NAME``."""

    name: str
    writes: str
    reads: str
    takes: str
    """Duration on two cores."""


SIMULATED, REAL = "simulated data", "real data (DEMUR_TEST_DATA)"
STUDIES = (
    Study("vessel_tables", "docs/quality/vessel.md", f"artefacts/vessel, {SIMULATED}", "minutes, 2 GB"),
    Study("vessel_decisions", "docs/quality/vessel-decisions.md", f"artefacts/vessel, {SIMULATED}", "minutes"),
    Study("regression_metrics", "docs/quality/regression-metrics.md", f"artefacts/vessel, {SIMULATED}", "a minute"),
    Study("weather_tables", "docs/quality/weather.md, with --cards model cards", f"artefacts/weather, {SIMULATED}",
          "half an hour, in kept pieces"),
    Study("weather_real", "docs/quality/weather-real.md", REAL, "two minutes"),
    Study("weather_real.artefact", "an artefact of a real set", REAL, "minutes"),
    Study("weather_real.live", "live-SET.json for weather_real", f"a running service and monitor, {REAL}", "minutes"),
    Study("lesion_tables", "docs/quality/lesion.md", SIMULATED, "hours, in kept pieces"),
    Study("lesion_tables.printed", "the statements of docs/quality/lesion.md", "the tables of that page", "a second"),
    Study("lesion_real", "docs/quality/lesion-real.md", f"artefacts/lesion, {REAL}", "minutes"),
    Study("motion_tables", "docs/quality/motion.md, studies/motion_tables/recorded.json",
          f"artefacts/motion, {SIMULATED}", "one and a half hours, in kept pieces"),
    Study("motion_real", "docs/quality/motion-real.md", f"artefacts/motion, {REAL}", "a minute"),
    Study("motion_real.live", "standard output", f"a running service and monitor, {REAL}", "minutes"),
    Study("translation_tables", "docs/quality/translation.md, docs/translation-examples.md",
          f"members of a training, {REAL}", "half an hour, in kept pieces"),
    Study("translation_live", "standard output", f"a running service and monitor, {REAL}", "minutes"),
    Study("translation_neighbours", "standard output, for docs/translation.md", "artefacts/translation", "minutes"),
    Study("unlikely_inputs", "docs/quality/unlikely-inputs.md", "folders of simulated data", "minutes"),
    Study("vessel_simulated", "standard output, for the data sheet", SIMULATED, "minutes, 2 GB"),
    Study("weather_simulated", "docs/datasheets/weather-simulator.png", SIMULATED, "minutes with --judge"),
    Study("lesion_simulated", "docs/datasheets/lesion-simulator.png", "folders of scans", "minutes"),
    Study("motion_simulated", "docs/datasheets/motion-simulator.png", "folders of scenes", "minutes"),
    Study("vessel_reference", "artefacts/vessel", SIMULATED, "hours"),
    Study("weather_reference", "artefacts/weather", SIMULATED, "an hour"),
    Study("lesion_reference", "artefacts/lesion", "members of lesion_tables", "an hour"),
    Study("motion_reference", "artefacts/motion", "members of motion_tables", "minutes"),
    Study("translation_reference", "artefacts/translation", "members of a training", "minutes"),
    Study("row_uncertainty", "docs/quality/row-uncertainty.md", SIMULATED, "half an hour"),
    Study("reviewers", "docs/quality/reviewers.md", SIMULATED, "a quarter of an hour"),
    Study("replay_sets", "replay sets of all reference artefacts", "artefacts", "half an hour"),
    Study("cards", "the last paragraph of model cards", "artefacts", "seconds"),
)  # fmt: skip


def main() -> int:
    """Print a Markdown table of all studies."""
    rows = ((f"`python -m studies.{study.name}`", study.writes, study.reads, study.takes) for study in STUDIES)
    sys.stdout.write(f"{table(('command', 'writes', 'reads', 'takes'), rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
