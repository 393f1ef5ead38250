"""Send stations of a file to a running weather service.

Prints temperature with an interval, the likeliest class, and which of the two are deferred to a forecaster.

demur data weather simulate --scale 0.001 --out data/weather python examples/forecast.py data/weather/eval_out.csv
[--target host:port] [--rows 8]
"""

import argparse
import sys
from pathlib import Path

import pandas as pd

import demur


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="official CSV; its metadata columns may stay")
    parser.add_argument("--target", default="127.0.0.1:4001", help="gRPC address of the weather service")
    parser.add_argument("--rows", type=int, default=8, help="how many rows, from the top")
    options = parser.parse_args()
    frame = pd.read_csv(options.file, nrows=options.rows)
    try:
        with demur.connect(options.target) as client:
            answer = client.weather.predict(frame)
    except demur.DemurError as error:
        sys.exit(f"{options.target}: {error}")
    temperature, precipitation = answer.temperature, answer.precipitation
    low, high = temperature.interval(0.9)
    print(f"{answer.model}: {temperature.policy}, {precipitation.policy}\n")
    for row in range(len(frame)):
        chance = precipitation.probabilities[row].max()
        name = precipitation.class_names[precipitation.classes[row]]
        print(
            f"{frame.climate[row]:<14} {temperature.mean[row]:6.1f} °C, 90 %: {low[row]:6.1f} to {high[row]:6.1f} °C"
            f"{' (defer)' if temperature.deferred[row] else '':<9} {name}, {chance:.0%}"
            f"{' (defer)' if precipitation.deferred[row] else ''}"
        )


if __name__ == "__main__":
    main()
