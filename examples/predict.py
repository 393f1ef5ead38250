"""Send four situations to a running vessel service, and print its predictions and deferrals.

python examples/predict.py [host:port]
"""

import sys

import numpy as np

import demur

SITUATIONS = {
    "loaded, moderate sea": {"stw": 18.3, "awind_vcomp_provider": 20.5, "comb_wind_swell_wave_height": 1.6},
    "slow, calm": {"stw": 12.0, "awind_vcomp_provider": 12.0, "comb_wind_swell_wave_height": 0.6},
    "full speed into a storm": {"stw": 19.0, "awind_vcomp_provider": 58.0, "comb_wind_swell_wave_height": 6.5},
    "dry-dock time in days": {"stw": 18.3, "timeSinceDryDock": 914.0},
}
USUAL = {
    "draft_aft_telegram": 12.6,  # m
    "draft_fore_telegram": 12.5,  # m
    "stw": 18.0,  # kn
    "diff_speed_overground": 0.0,  # kn per 3 min
    "awind_vcomp_provider": 16.0,  # kn, head wind positive
    "awind_ucomp_provider": 5.0,  # kn, never negative
    "rcurrent_vcomp": 0.1,  # kn
    "rcurrent_ucomp": 0.1,  # kn
    "comb_wind_swell_wave_height": 1.5,  # m
    "timeSinceDryDock": 1_316_927.0,  # minutes
}


def main(target: str) -> None:
    rows = [USUAL | situation for situation in SITUATIONS.values()]
    columns = {name: np.array([row[name] for row in rows]) for name in USUAL}
    try:
        with demur.connect(target) as client:
            answer = client.vessel.predict(columns)
    except demur.DemurError as error:
        sys.exit(f"{target}: {error}")
    low, high = answer.interval(0.9)
    print(f"{answer.model}, policy {answer.policy}\n")
    for index, name in enumerate(SITUATIONS):
        verdict = "deferred" if answer.deferred[index] else "answered"
        reasons = ", ".join(answer.shift_reasons[index]) or "familiar"
        print(
            f"{name:<24} {answer.mean[index]:7,.0f} kW   90 %: {low[index]:6,.0f} to {high[index]:6,.0f} kW   "
            f"{verdict}   {reasons}"
        )


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:4005")
