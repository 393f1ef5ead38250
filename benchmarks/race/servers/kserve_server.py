"""KServe's model server around the graph: ``kserve_server.py HTTP_PORT GRPC_PORT``."""

import sys

import graph
import numpy as np
from kserve import InferOutput, InferResponse, Model, ModelServer


class GraphModel(Model):
    """Model that answers a tensor of rows with the graph's outputs, as bytes over gRPC and as numbers in JSON."""

    def __init__(self, name):
        super().__init__(name)
        self._run = graph.opened()
        self.ready = True

    async def predict(self, payload, headers=None, response_headers=None):
        rows = payload.inputs[0].as_numpy().astype(np.float32, copy=False)
        outputs = []
        for name, values in zip(graph.OUTPUTS, self._run(rows), strict=True):
            output = InferOutput(name, list(values.shape), "FP32")
            output.set_data_from_numpy(values, binary_data=payload.from_grpc)
            outputs.append(output)
        return InferResponse(payload.id or "race", self.name, outputs, from_grpc=payload.from_grpc)


if __name__ == "__main__":
    http_port, grpc_port = map(int, sys.argv[1:])
    sys.argv[1:] = []  # the server parses them, too
    ModelServer(http_port=http_port, grpc_port=grpc_port, workers=1, access_log_format=None).start(
        [GraphModel(graph.NAME)]
    )
