"""What services say of themselves, and what they count."""

from collections.abc import Iterator
from typing import Any

from asking import BOTH, FOLDER, ROWS, WHERE, client, given, grpc, http, plain, refused
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from tritonclient.grpc import model_config_pb2, service_pb2


def told(kind: Any, task: str) -> list[Any]:
    """Name, datatype, shape and unit of each tensor, where clients without parameters of metadata find units."""
    with client(kind, task) as connection:
        assert connection.is_server_live()
        assert connection.is_server_ready()
        assert connection.is_model_ready(task)
        server = connection.get_server_metadata(**plain(kind))
        assert server["name"] == "demur"
        assert "binary_tensor_data" in server["extensions"]
        index = connection.get_model_repository_index(**plain(kind))
        (model,) = index["models"] if kind is grpc else index
        assert (model["name"], model["state"]) == (task, "READY")
        metadata = connection.get_model_metadata(task, model["version"], **plain(kind))
        assert metadata["versions"] == [model["version"]]
        config = connection.get_model_config(task, **plain(kind))
    config = config["config"] if kind is grpc else config
    assert len(config["input"]) == len(metadata["inputs"])
    notes = {name: value["string_value"] for name, value in config["parameters"].items()}
    return [
        (
            tensor["name"],
            tensor["datatype"],
            [int(size) for size in tensor["shape"]],
            notes.get(f"{tensor['name']}.unit"),
        )
        for tensor in (*metadata["inputs"], *metadata["outputs"])
    ]


def case_every_service_says_what_it_is_alike_on_both_protocols() -> None:
    for task in WHERE:
        assert told(grpc, task) == told(http, task)


def case_messages_have_the_numbers_that_clients_know() -> None:
    """Every field of ours that the client knows is of the same number and kind; it knows all but two."""
    ours = FileDescriptorProto.FromString((FOLDER / "oip.binpb").read_bytes())
    theirs = {**service_pb2.DESCRIPTOR.message_types_by_name, **model_config_pb2.DESCRIPTOR.message_types_by_name}
    strange = [name for message in ours.message_type for name in unlike(message, theirs[message.name])]
    assert sorted(strange) == ["ModelMetadataResponse.parameters", "TensorMetadata.parameters"]
    known = {value.name: value.number for value in model_config_pb2.DESCRIPTOR.enum_types_by_name["DataType"].values}
    assert {value.name: value.number for value in ours.enum_type[0].value} == known
    methods = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods_by_name
    for method in ours.service[0].method:
        assert method.input_type.rpartition(".")[2] == methods[method.name].input_type.name
        assert method.output_type.rpartition(".")[2] == methods[method.name].output_type.name


def unlike(ours: Any, theirs: Any) -> Iterator[str]:
    for field in ours.field:
        known = theirs.fields_by_name.get(field.name)
        own = field.number, field.type, field.label == FieldDescriptorProto.LABEL_REPEATED
        if known is None or (known.number, known.type, known.is_repeated) != own:
            yield f"{ours.name}.{field.name}"
    for nested in ours.nested_type:
        if nested.name in theirs.nested_types_by_name:
            yield from unlike(nested, theirs.nested_types_by_name[nested.name])


def case_units_are_told() -> None:
    with client(http, "vessel") as connection:
        metadata = connection.get_model_metadata("vessel")
    units = {tensor["name"]: tensor["parameters"].get("unit") for tensor in (*metadata["inputs"], *metadata["outputs"])}
    assert (units["stw"], units["prediction"], units["total"]) == ("kn", "kW", "kW²")
    in_config = {name: unit for kind in BOTH for name, _, _, unit in told(kind, "vessel") if unit}
    assert in_config["stw"] == "kn"


def case_statistics_count(kind: Any) -> None:
    with client(kind, "vessel") as connection:
        before = counted(kind, connection)
        connection.infer("vessel", given(kind, rows=ROWS))
        refused(connection.infer, "vessel", given(kind, rows=ROWS[:, :2]))
        after = counted(kind, connection)
    assert {name: after[name] - before[name] for name in ("items", "success", "fail")} == {
        "items": 2,
        "success": 1,
        "fail": 1,
    }
    assert after["compute"] > before["compute"]


def counted(kind: Any, connection: Any) -> dict[str, int]:
    (record,) = connection.get_inference_statistics("vessel", **plain(kind))["model_stats"]
    stats = record["inference_stats"]
    return {
        "items": int(record.get("inference_count", 0)),
        "success": int(stats["success"].get("count", 0)),
        "fail": int(stats["fail"].get("count", 0)),
        "compute": int(stats["compute_infer"].get("ns", 0)),
    }
