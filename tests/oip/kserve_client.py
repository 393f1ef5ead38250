"""KServe's own messages asking a service: ``python kserve_client.py ADDRESS REQUEST PARAMETERS``.

REQUEST is a serialised ``ModelInferRequest`` in hexadecimal digits, PARAMETERS a JSON object of texts that are added to
it. Prints JSON of the answer: ``parameters``, the kind and value of each, null for one that KServe cannot read; and
``outputs``, the contents of each in hexadecimal digits. It is run in an environment that has ``requirements.txt`` and
nothing of this project; ``test_kserve.py`` starts it. Of the package only the module of messages is loaded, since the
package itself needs all that a server of KServe needs.
"""

import importlib.util
import json
import sys
from pathlib import Path

import grpc

address, content, texts = sys.argv[1:]
package = importlib.util.find_spec("kserve")
if package is None or not package.submodule_search_locations:
    sys.exit("kserve is not installed")
path = Path(package.submodule_search_locations[0]) / "protocol" / "grpc" / "grpc_predict_v2_pb2.py"
spec = importlib.util.spec_from_file_location("grpc_predict_v2_pb2", path)
assert spec is not None
assert spec.loader is not None
messages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(messages)

request = messages.ModelInferRequest.FromString(bytes.fromhex(content))
for name, text in json.loads(texts).items():
    request.parameters[name].string_param = text
with grpc.insecure_channel(address) as channel:
    call = channel.unary_unary(
        "/inference.GRPCInferenceService/ModelInfer",
        request_serializer=messages.ModelInferRequest.SerializeToString,
        response_deserializer=messages.ModelInferResponse.FromString,
    )
    answer = call(request, timeout=60)
parameters = {}
for name, value in answer.parameters.items():
    kind = value.WhichOneof("parameter_choice")
    parameters[name] = None if kind is None else [kind, getattr(value, kind)]
outputs = {tensor.name: raw.hex() for tensor, raw in zip(answer.outputs, answer.raw_output_contents, strict=True)}
sys.stdout.write(json.dumps({"parameters": parameters, "outputs": outputs}))
