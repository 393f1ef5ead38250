"""Runtime of MLServer around the graph."""

import graph
import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceResponse


class GraphRuntime(MLModel):
    """Model that answers a tensor of rows with the graph's outputs."""

    async def load(self):
        self._run = graph.opened()
        return True

    async def predict(self, payload):
        rows = NumpyCodec.decode_input(payload.inputs[0]).astype(np.float32, copy=False)
        tensors = zip(graph.OUTPUTS, self._run(rows), strict=True)
        outputs = [NumpyCodec.encode_output(name, values) for name, values in tensors]
        return InferenceResponse(model_name=self.name, outputs=outputs)
