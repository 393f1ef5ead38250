"""One graph of all members against a Python loop over the sessions of single members; one request, one thread.

    python -m benchmarks.motion_planning [--seconds 20] [--only planning decoders]

*planning*: feature map to plans and scores, K = 5 members of Q = 10 plans with random weights. The loop has two
sessions a member. The first encodes the map and samples the member's plans; the second scores all K Q plans, from the
encoding of the first. Both are written as torch's exporter writes them: 25 unrolled cells of two products each,
matrices of two dimensions, which ONNX Runtime packs when it loads them; norms are folded as in the fused graph.
Variants of the loop: scores by the operator GRU over the whole sequence; scores of a member's own plans taken from
sampling. The encoders' share is that of the fused graph.
*decoders*: ways to run the steps in one graph, from first states to plans and scores, relative to the exported way.

Times are the thread's processor time, medians of interleaved rounds; the results of all cases are first checked to
agree.
"""

import sys
import tempfile
from pathlib import Path

import torch

from benchmarks import harness
from benchmarks.motion_planning import decoders, planning

PARTS = {"planning": planning.measure, "decoders": decoders.measure}


def main(arguments: list[str] | None = None) -> int:
    options = harness.parser("motion_planning", __doc__, seconds=20, parts=PARTS).parse_args(arguments)
    torch.set_num_threads(1)
    harness.announce()
    with tempfile.TemporaryDirectory() as folder:
        figures = (figure for part in options.only for figure in PARTS[part](Path(folder), options.seconds))
        return harness.report(figures)


if __name__ == "__main__":
    sys.exit(main())
