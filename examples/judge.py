"""Send labelled rows to a running vessel service, and store the outputs of all members for ``demur evaluate``.

demur data vessel simulate --scale 0.05 --out data/vessel python examples/judge.py served.npz --in
data/vessel/eval_in.csv --shifted data/vessel/eval_out.csv demur evaluate --task vessel --predictions served.npz
--report report
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import demur

LABEL = "power"  # kW


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="NPZ file to write")
    parser.add_argument(
        "--in", dest="inside", type=Path, required=True, help="CSV of labelled rows like those trained on"
    )
    parser.add_argument("--shifted", type=Path, required=True, help="CSV of labelled rows from elsewhere")
    parser.add_argument("--target", default="127.0.0.1:4005", help="host:port of the gRPC service")
    options = parser.parse_args()
    tables = [np.genfromtxt(path, delimiter=",", names=True) for path in (options.inside, options.shifted)]
    rows = np.concatenate(tables)
    try:
        with demur.connect(options.target) as client:
            names = [feature.name for feature in client.vessel.describe().features]
            batch = np.stack([rows[name] for name in names], axis=1).astype(np.float32)
            # purpose "replay": answers are not acted on, so that no label is requested
            (answer,) = client.vessel.stream([batch], purpose="replay", members=True)
    except demur.DemurError as error:
        sys.exit(f"{options.target}: {error}")
    if answer.member_means is None or answer.member_variances is None:
        sys.exit(f"{answer.model} does not tell what its members say")
    np.savez(
        options.output,
        members=np.stack([answer.member_means, answer.member_variances], axis=2),  # kW, kW²
        target=rows[LABEL],
        shifted=np.repeat([0, 1], [len(table) for table in tables]),
        deferred=answer.deferred.astype(int),
    )
    print(f"{len(rows)} rows, {answer.deferred.mean():.1%} deferred by {answer.model} → {options.output}")


if __name__ == "__main__":
    main()
