"""``demur new stubs``: Python stubs of a task's protobuf file, beside it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from click import argument
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from demur.v1 import common_pb2
from services.cli.options import Options, command
from services.cli.output import BadInput, CommandError


class GeneratorMissing(CommandError):
    """grpcio-tools is not installed."""


@command("stubs", example="demur new stubs signals/signals.proto")
@argument("proto", type=Path)
def stubs(options: Options) -> int:
    """Write the Python stubs of PROTO, which lies in the folder of its package, beside it."""
    proto: Path = options.proto
    if not proto.is_file() or proto.suffix != ".proto":
        raise BadInput(f"PROTO = {proto}: must be a file NAME.proto that exists")
    generate(proto)
    print(f"wrote {proto.stem}_pb2.py, {proto.stem}_pb2.pyi and {proto.stem}_pb2_grpc.py beside {proto}")
    return 0


def generate(proto: Path) -> None:
    """Write the stubs of a protobuf file beside it, as modules of the package that it lies in.

    It may import ``demur/v1/common.proto``, which the compiler gets from the installed client.

    Raises:
        GeneratorMissing: grpcio-tools is not installed.
        CommandError: the compiler refuses the file; it has printed why.
    """
    try:
        from grpc_tools import protoc  # late: only this command needs it
    except ImportError as error:
        raise GeneratorMissing(
            "the stubs need grpcio-tools; install it with: pip install 'grpcio-tools>=1.76,<1.77'"
        ) from error
    place = proto.resolve()
    root = place.parent.parent
    with tempfile.TemporaryDirectory() as scratch:
        known = Path(scratch) / "demur.binpb"
        known.write_bytes(FileDescriptorSet(file=_with_imports(common_pb2.DESCRIPTOR)).SerializeToString())
        outputs = [f"--{kind}_out={root}" for kind in ("python", "pyi", "grpc_python")]
        code = protoc.main(["protoc", f"-I{root}", f"--descriptor_set_in={known}", *outputs, str(place)])
    if code:
        raise CommandError(f"{proto}: the protobuf compiler refuses it (exit code {code}); its message is above")


def _with_imports(file: FileDescriptor) -> Iterator[FileDescriptorProto]:
    """Yield the descriptions of the files that a file imports, and its own."""
    for imported in file.dependencies:
        yield from _with_imports(imported)
    description = FileDescriptorProto()
    file.CopyToProto(description)
    yield description
