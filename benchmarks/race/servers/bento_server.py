"""BentoML service around the graph, with one worker."""

import bentoml
import graph
import numpy as np


@bentoml.service(workers=1)
class GraphService:
    """JSON rows in, lists of the graph's outputs back."""

    def __init__(self):
        self._run = graph.opened()

    @bentoml.api
    async def predict(self, rows: list[list[float]]) -> dict:
        outputs = self._run(np.asarray(rows, np.float32))
        return {name: values.tolist() for name, values in zip(graph.OUTPUTS, outputs, strict=True)}
