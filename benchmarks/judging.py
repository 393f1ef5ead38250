"""Time and memory of ``demur evaluate`` on many rows of errors and uncertainties.

    python -m benchmarks.judging [--rows 10000000]

The benchmark writes Parquet and CSV files of simulated errors to a temporary folder (0.6 GB), evaluates each in a
process of its own, and prints a table. It takes a minute.
"""

import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import harness, markdown

COLUMNS = {"errors.parquet": 2, "errors.csv": 2, "domains.parquet": 3}
IDLE = "import services.cli.evaluate, models.evaluation.generic, pyarrow.parquet, pyarrow.csv"


def main() -> None:
    parser = harness.parser("judging", __doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    harness.announce()
    with tempfile.TemporaryDirectory() as folder:
        files = {Path(folder) / name: columns for name, columns in COLUMNS.items()}
        # a child starts with its parent's peak of memory, so that this process stays small
        writer = multiprocessing.get_context("spawn").Process(target=_write, args=(Path(folder), options.rows))
        writer.start()
        writer.join()
        _, idle = _run([sys.executable, "-c", IDLE])
        print(f"\n{options.rows} rows; a process that only imports what is needed has {idle / 1e6:.0f} MB\n")
        print(markdown.head(("file", "columns", "time, s", "memory above idle, MB", "times the columns")))
        for path, columns in files.items():
            command = [sys.executable, "-m", "services.cli", "evaluate", "--task", "generic", "--acceptable", "1"]
            runs = [_run([*command, "--json", "--predictions", str(path)]) for _ in range(options.repeats)]
            seconds = [run[0] for run in runs]
            above = max(run[1] for run in runs) - idle
            size = 8 * options.rows * columns
            spread = f"{statistics.median(seconds):.1f} ({min(seconds):.1f} to {max(seconds):.1f})"
            print(markdown.row((path.name, columns, spread, f"{above / 1e6:.0f}", f"{above / size:.2f}")))


def _write(folder: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    uncertainty = rng.gamma(2, 1, rows)
    table = pa.table({"error": rng.exponential(uncertainty), "uncertainty": uncertainty})
    parquet.write_table(table, folder / "errors.parquet")
    csv.write_csv(table, folder / "errors.csv")
    shifted = pa.array((rng.random(rows) < uncertainty / 10).astype(np.int8))
    parquet.write_table(table.append_column("shifted", shifted), folder / "domains.parquet")


def _run(command: list[str]) -> tuple[float, int]:
    """Return seconds and peak resident bytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    if output:
        assert json.loads(output)["n"] > 0
    return time.perf_counter() - start, usage.ru_maxrss * 1024


if __name__ == "__main__":
    main()
