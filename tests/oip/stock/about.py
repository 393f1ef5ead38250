"""What services say of themselves, and what they count."""

from collections.abc import Iterator
from typing import Any

from asking import BOTH, FOLDER, ROWS, WHERE, client, given, grpc, http, plain, refused
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from tritonclient.grpc import model_config_pb2, service_pb2


def told(kind: Any, task: str) -> list[Any]:
    """Name, datatype, shape and unit of each tensor, where clients without parameters of metadata find units."""
    with client(kind, task) as asked:
        assert asked.is_server_live()
        assert asked.is_server_ready()
        assert asked.is_model_ready(task)
        server = asked.get_server_metadata(**plain(kind))
        assert server["name"] == "demur"
        assert "binary_tensor_data" in server["extensions"]
        index = asked.get_model_repository_index(**plain(kind))
        (model,) = index["models"] if kind is grpc else index
        assert (model["name"], model["state"]) == (task, "READY")
        metadata = asked.get_model_metadata(task, model["version"], **plain(kind))
        assert metadata["versions"] == [model["version"]]
        config = asked.get_model_config(task, **plain(kind))
    config = config["config"] if kind is grpc else config
    assert len(config["input"]) == len(metadata["inputs"])
    notes = {name: value["string_value"] for name, value in config["parameters"].items()}
    return [
        (one["name"], one["datatype"], [int(size) for size in one["shape"]], notes.get(f"{one['name']}.unit"))
        for one in (*metadata["inputs"], *metadata["outputs"])
    ]


def case_every_service_says_what_it_is_alike_on_both_protocols() -> None:
    for task in WHERE:
        assert told(grpc, task) == told(http, task)


def case_messages_have_the_numbers_that_clients_know() -> None:
    """Every field of ours that the client knows is of the same number and kind; it knows all but two."""
    ours = FileDescriptorProto.FromString((FOLDER / "oip.binpb").read_bytes())
    theirs = {**service_pb2.DESCRIPTOR.message_types_by_name, **model_config_pb2.DESCRIPTOR.message_types_by_name}
    strange = [name for one in ours.message_type for name in unlike(one, theirs[one.name])]
    assert sorted(strange) == ["ModelMetadataResponse.parameters", "TensorMetadata.parameters"]
    known = {value.name: value.number for value in model_config_pb2.DESCRIPTOR.enum_types_by_name["DataType"].values}
    assert {value.name: value.number for value in ours.enum_type[0].value} == known
    methods = service_pb2.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods_by_name
    for one in ours.service[0].method:
        assert one.input_type.rpartition(".")[2] == methods[one.name].input_type.name
        assert one.output_type.rpartition(".")[2] == methods[one.name].output_type.name


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
    with client(http, "vessel") as asked:
        metadata = asked.get_model_metadata("vessel")
    units = {one["name"]: one["parameters"].get("unit") for one in (*metadata["inputs"], *metadata["outputs"])}
    assert (units["stw"], units["prediction"], units["total"]) == ("kn", "kW", "kW²")
    in_config = {name: unit for kind in BOTH for name, _, _, unit in told(kind, "vessel") if unit}
    assert in_config["stw"] == "kn"


def case_statistics_count(kind: Any) -> None:
    with client(kind, "vessel") as asked:
        before = counted(kind, asked)
        asked.infer("vessel", given(kind, rows=ROWS))
        refused(asked.infer, "vessel", given(kind, rows=ROWS[:, :2]))
        after = counted(kind, asked)
    assert {name: after[name] - before[name] for name in ("items", "success", "fail")} == {
        "items": 2,
        "success": 1,
        "fail": 1,
    }
    assert after["compute"] > before["compute"]


def counted(kind: Any, asked: Any) -> dict[str, int]:
    (one,) = asked.get_inference_statistics("vessel", **plain(kind))["model_stats"]
    stats = one["inference_stats"]
    return {
        "items": int(one.get("inference_count", 0)),
        "success": int(stats["success"].get("count", 0)),
        "fail": int(stats["fail"].get("count", 0)),
        "compute": int(stats["compute_infer"].get("ns", 0)),
    }
