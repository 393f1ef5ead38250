"""Looking into ONNX graphs."""

import onnx

from tests.conftest import PROJECT


def traces_of_the_machine(graph: bytes) -> list[bytes]:
    """What a graph says of the machine and the libraries that made it.

    Without its weights, among whose bytes a short word stands by chance.
    """
    model = onnx.load_from_string(graph)
    constants = (field.t for node in model.graph.node for field in node.attribute if field.HasField("t"))
    for tensor in (*model.graph.initializer, *constants):
        tensor.ClearField("raw_data")
    content = model.SerializeToString()
    return [trace for trace in (b"site-packages", str(PROJECT).encode(), b"torch", b".py") if trace in content]
