"""The graph that every server of the race runs, on one thread.

The file is imported by servers in environments that lack this project's packages; it needs ONNX Runtime and NumPy only.
"""

import os

import onnxruntime

OUTPUTS = tuple(os.environ.get("RACE_OUTPUTS", "mean,mvar,varm").split(","))
"""Outputs of the graph, by default mean, expected data variance and variance of the members' means."""
NAME = os.environ.get("RACE_NAME", "vessel")
"""Name that the model is served under."""
INPUT = "rows"


def opened():
    """Return a function from float32 rows [N, F] to the outputs, each float32 [N]; the file is that of RACE_GRAPH."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.environ["RACE_GRAPH"], options, providers=["CPUExecutionProvider"])
    return lambda rows: session.run(OUTPUTS, {INPUT: rows})
