"""LitServe around the graph: ``litserve_server.py HTTP_PORT``."""

import sys

import graph
import litserve
import numpy as np


class GraphApi(litserve.LitAPI):
    """JSON rows in, lists of the graph's outputs back."""

    def setup(self, device):
        self._run = graph.opened()

    def decode_request(self, request):
        return np.asarray(request["rows"], np.float32)

    def predict(self, rows):
        return self._run(rows)

    def encode_response(self, output):
        return {name: values.tolist() for name, values in zip(graph.OUTPUTS, output, strict=True)}


if __name__ == "__main__":
    server = litserve.LitServer(GraphApi(), accelerator="cpu", workers_per_device=1)
    server.run(port=int(sys.argv[1]), num_api_servers=1, log_level="warning", generate_client_file=False)
