"""Features of the vessel-power task: ten inputs in the order of the official models (Shifts 2.0, Table 17).

The ranges are those of physics and of the sensor, far wider than any training range: they reject wrong units (a speed
in m/h, a dry-dock time in seconds), not unusual voyages.
"""

from models.schema import Feature

MINUTES_PER_YEAR = 525_600

FEATURES: tuple[Feature, ...] = (
    Feature("draft_aft_telegram", "m", 3.0, 20.0, "Draft at the stern as reported by the crew."),
    Feature("draft_fore_telegram", "m", 3.0, 20.0, "Draft at the bow as reported by the crew."),
    Feature("stw", "kn", 0.0, 35.0, "Speed through water."),
    Feature("diff_speed_overground", "kn/3min", -10.0, 10.0, "Change of speed over ground in three minutes."),
    Feature("awind_vcomp_provider", "kn", -100.0, 100.0, "Apparent wind along the ship, head wind positive."),
    Feature("awind_ucomp_provider", "kn", 0.0, 100.0, "Apparent wind across the ship, without its side."),
    Feature("rcurrent_vcomp", "kn", -10.0, 10.0, "Current along the ship, a following current positive."),
    Feature("rcurrent_ucomp", "kn", -10.0, 10.0, "Current across the ship."),
    Feature("comb_wind_swell_wave_height", "m", 0.0, 20.0, "Significant height of wind sea and swell together."),
    Feature("timeSinceDryDock", "min", 0.0, 10.0 * MINUTES_PER_YEAR, "Minutes since the last dry-dock cleaning."),
)

NAMES: tuple[str, ...] = tuple(feature.name for feature in FEATURES)
