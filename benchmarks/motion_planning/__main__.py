"""One graph of all members against a Python loop over the sessions of single members; one request, one thread.

    python -m benchmarks.motion_planning [--seconds 20] [--only planning decoders]

*planning*: feature map to plans and scores, K = 5 members of Q = 10 plans with random weights. The loop has two
sessions a member. The first encodes the map and samples the member's plans; the second scores all K Q plans, from the
encoding that the first has given. Both are written as torch's exporter writes them: 25 unrolled cells of two products
each, matrices of two dimensions, which ONNX Runtime packs when it loads them; norms are folded as in the fused graph.
Variants of the loop: scores by the operator GRU over the whole sequence; scores of a member's own plans taken from
sampling. The encoders' share is that of the fused graph.
*decoders*: ways to walk through the steps in one graph, from first states to plans and scores, over the one that is
exported.

Times are the thread's processor time, medians of interleaved rounds; that all cases say the same is checked first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import torch

from benchmarks import machine
from benchmarks.figures import table
from benchmarks.motion_planning import decoders, planning

PARTS = {"planning": planning.measure, "decoders": decoders.measure}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20, help="of each comparison")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    sys.stdout.write(f"{machine.line()}\n")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        figures = [figure for part in given.only for figure in PARTS[part](Path(folder), given.seconds)]
    sys.stdout.write(f"{table(figures)}\nload {os.getloadavg()[0]:.1f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
