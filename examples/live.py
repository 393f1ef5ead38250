"""Compare live retention of a running vessel service with the truth.

Sends labelled rows, supplies only the labels that the service requests, and compares the figures of the monitor with
those of all labels, which only this example has.

    demur policy set vessel --audit-rate 0.1
    python examples/live.py --in data/vessel/eval_in.csv
"""

import argparse
import json
import os
import ssl
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

import demur

LABEL = "power"  # kW
PATIENCE_SECONDS = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--in", dest="rows", type=Path, required=True, help="CSV of labelled rows")
    parser.add_argument("--target", default="127.0.0.1:4005", help="host:port of the gRPC service")
    parser.add_argument("--monitor", default="http://127.0.0.1:3000", help="URL of the monitor")
    options = parser.parse_args()
    table = np.genfromtxt(options.rows, delimiter=",", names=True)
    try:
        with demur.connect(options.target, actor="torque meter") as client:
            names = [feature.name for feature in client.vessel.describe().features]
            rows = np.stack([table[name] for name in names], axis=1).astype(np.float32)
            answer = client.vessel.predict(rows)
            labels = label(client, rows, table[LABEL])
    except demur.DemurError as error:
        sys.exit(f"{options.target}: {error}")
    print(f"{len(rows)} rows, {answer.deferred.sum()} deferred; {labels} labels asked for and given")
    window = live(options.monitor, answer.model, len(rows), labels)
    if not window["valid"]:
        sys.exit("; ".join(reason["text"] for reason in window["reasons"]))
    print("valid")
    print(f"{'':16}{'live':>12}{'95 % interval':>28}{'all labels':>12}")
    for name, true in truth(table[LABEL], answer).items():
        figure = window[name]
        interval = f"{figure['low']:.5g} to {figure['high']:.5g}"
        print(f"{name:16}{figure['estimate']:12.5g}{interval:>28}{true:12.5g}")


def label(client: demur.Client, rows: np.ndarray, power: np.ndarray) -> int:
    """Label every open request from the table; a request has its input, but neither prediction nor decision."""
    known = {row.tobytes(): float(value) for row, value in zip(rows, power, strict=True)}
    submitted = 0
    while requests := client.requests.claim(100):
        for request in requests:
            row = np.array([column.value for column in request.columns], np.float32).tobytes()
            if row not in known:
                client.requests.skip(request, "not a row of this table", unlabelable=True)
                continue
            client.requests.submit(request, known[row])
            submitted += 1
    return submitted


def live(monitor: str, model: str, units: int, labels: int) -> dict[str, Any]:
    """Return the monitor's longest window, once it holds these units and labels."""
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        windows = fetched(f"{monitor}/v1/live")["windows"]
        matches = [window for window in windows if window["model"] == model and window["source"] == "requested"]
        if matches and matches[-1]["units"] >= units and matches[-1]["labels"] >= labels:
            return dict(matches[-1])
        if time.monotonic() > end:
            sys.exit(f"{monitor} has not seen the {units} units and {labels} labels after {PATIENCE_SECONDS:.0f} s")
        time.sleep(0.5)


def fetched(url: str) -> Any:
    """Return JSON of the monitor; token and certificates come from the environment, as for the client."""
    path = os.environ.get("DEMUR_TOKEN_FILE")
    token = os.environ.get("DEMUR_TOKEN") or (Path(path).read_text().strip() if path else "")
    private = url.startswith(("https://", "http://127.", "http://localhost"))  # no token in clear text to other hosts
    headers = {"Authorization": f"Bearer {token}"} if token and private else {}
    context = ssl.create_default_context(cafile=os.environ.get("DEMUR_ROOTS") or None)
    if chain := os.environ.get("DEMUR_CLIENT_CERTIFICATE"):
        context.load_cert_chain(chain, os.environ.get("DEMUR_CLIENT_KEY"))
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - the URL that was given
    with urllib.request.urlopen(request, timeout=10, context=context) as answer:  # noqa: S310
        return json.load(answer)


def truth(power: np.ndarray, answer: demur.Answer) -> dict[str, float]:
    """Return the figures with all labels: area under the error-retention curve, mean error of the answered units."""
    errors = (answer.mean.astype(float) - power) ** 2  # kW²
    rank = np.argsort(np.argsort(answer.uncertainty, kind="stable")) + 1
    area = float(np.mean(errors * (1 - rank / (len(errors) + 1))))
    return {"r_auc": area, "answered_error": float(errors[~answer.deferred].mean())}


if __name__ == "__main__":
    main()
