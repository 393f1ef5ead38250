"""Resolve a deferred row with a label, with a running vessel service (`make up`).

    python examples/label.py --target 127.0.0.1:4005

One client sends rows. A second client labels the deferred ones, as a substitute for a person who reads the ship's
torque meter. The first client waits for the resolved answer.
"""

import argparse
import threading

import demur

ROWS = {
    "draft_aft_telegram": 13.2,  # m
    "draft_fore_telegram": 12.9,  # m
    "stw": [16.8, 24.5],  # kn
    "diff_speed_overground": 0.0,  # kn per 3 min
    "awind_vcomp_provider": [14.0, 62.0],  # kn
    "awind_ucomp_provider": 3.0,  # kn
    "rcurrent_vcomp": -0.2,  # kn
    "rcurrent_ucomp": 0.1,  # kn
    "comb_wind_swell_wave_height": [1.4, 9.5],  # m
    "timeSinceDryDock": 525_600.0,  # min
}
"""Rows of a calm hour and of a storm."""


def main(target: str) -> None:
    with demur.connect(target) as client:
        answer = client.vessel.predict(ROWS)
        print(answer)
        deferred = [unit for unit, is_so in zip(answer.prediction_ids, answer.deferred, strict=True) if is_so]
        worker = threading.Thread(target=label, args=(target,))
        worker.start()
        for resolution in client.resolutions.watch(deferred, timeout=60):
            print(f"{resolution.unit}: {resolution.value:,.0f} kW, {resolution.source}")
        worker.join()


def label(target: str) -> None:
    """Label open requests. A person gets the same information: the input, and no prediction."""
    with demur.connect(target, actor="chief engineer") as client:
        for request in client.requests.claim(10):
            shown = ", ".join(f"{column.name} {column.value} {column.unit}" for column in request.columns[2:5:2])
            print(f"asked for: {request.label}; {shown}")
            client.requests.submit(request, 31_250.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="127.0.0.1:4005", help="gRPC address of the vessel service")
    main(parser.parse_args().target)
