"""Triton with a Python backend around the graph: ``triton_server.py HTTP_PORT GRPC_PORT METRICS_PORT``.

PyTriton brings Triton's core for the interpreter of the distribution only, hence its environment is made with that one.
"""

import sys

import graph
import numpy as np
from pytriton.decorators import batch
from pytriton.model_config import DynamicBatcher, ModelConfig, Tensor
from pytriton.triton import Triton, TritonConfig

FEATURES = 10
LARGEST_BATCH = 4096


def main(http_port, grpc_port, metrics_port):
    run = graph.opened()

    @batch
    def infer(rows):
        return {name: values[:, None] for name, values in zip(graph.OUTPUTS, run(rows), strict=True)}

    ports = TritonConfig(http_port=http_port, grpc_port=grpc_port, metrics_port=metrics_port, log_verbose=0)
    with Triton(config=ports) as triton:
        triton.bind(
            model_name=graph.NAME,
            infer_func=infer,
            inputs=[Tensor(name=graph.INPUT, dtype=np.float32, shape=(FEATURES,))],
            outputs=[Tensor(name=name, dtype=np.float32, shape=(1,)) for name in graph.OUTPUTS],
            config=ModelConfig(
                max_batch_size=LARGEST_BATCH,
                batcher=DynamicBatcher(max_queue_delay_microseconds=0),
            ),
        )
        triton.serve()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
