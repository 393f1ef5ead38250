"""Reader of files of rows for ``demur score``: CSV, JSON, JSON lines, each also gzipped; Parquet, Feather, Arrow."""

import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from models.evaluation.files import need
from services.cli.rows import arrow_file, chunking, csv_file, json_file
from services.cli.rows.chunking import Chunk, Selection

FORMATS = "CSV, JSON (a list of rows) or JSON lines, each also gzipped (.gz), Parquet, Feather or Arrow IPC"
"""Formats that can be read, for help and errors."""

Kind = Literal["csv", "json", "lines", "parquet", "arrow"]

_BY_NAME: dict[str, Kind] = {
    ".csv": "csv",
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".parquet": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
}
"""Format of a file by the suffix of its name; others follow from the first bytes."""
_BEGINNING = 4096
_GZIP = b"\x1f\x8b"


@contextmanager
def opened(path: Path, selection: Selection) -> Iterator[tuple[Iterator[Chunk], Callable[[], float]]]:
    """Open a file; return its chunks, and a function for the share of it that was read, 0 to 1.

    Raises:
        ValueError: the file has another format; the message lists these.
        OSError: it cannot be read.
    """
    with ExitStack() as stack:
        file = stack.enter_context(path.open("rb"))
        size = path.stat().st_size or 1
        text: BinaryIO = file
        name = path.name.lower()
        if _peek(file).startswith(_GZIP):
            name = name.removesuffix(".gz")
            text = cast(BinaryIO, stack.enter_context(io.BufferedReader(_Unzipped(file))))
        kind = _kind(path, name, _peek(text))
        if kind in ("parquet", "arrow") and text is not file:
            raise ValueError(
                f"{path.name} is gzipped {kind}, which is compressed already; unpack it, or give {FORMATS}"
            )
        if kind == "parquet":
            yield stack.enter_context(_parquet(path, selection))
        elif kind == "arrow":
            yield stack.enter_context(_arrow(path, selection))
        else:
            read = (
                csv_file.chunks(text, selection)
                if kind == "csv"
                else json_file.chunks(text, selection, lines=kind == "lines")
            )
            yield read, lambda: file.tell() / size if file.seekable() else 0.0


class _Unzipped(gzip.GzipFile):
    """Content of a gzipped file; truncation raises ``ValueError``, as other errors of files do."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")

    def readinto(self, buffer: Any) -> int:
        try:
            return super().readinto(buffer)
        except EOFError as error:
            raise ValueError(f"the gzipped file is truncated: {error}") from error


def _peek(file: BinaryIO) -> bytes:
    return cast(io.BufferedReader, file).peek(_BEGINNING)[:_BEGINNING]


def _kind(path: Path, name: str, beginning: bytes) -> Kind:
    """Return the format of a file, by its name, else by its first bytes.

    Raises:
        ValueError: it has another format.
    """
    if (kind := _BY_NAME.get(Path(name).suffix)) is not None:
        return kind
    if beginning.startswith(b"PAR1"):
        return "parquet"
    if beginning.startswith(b"ARROW1"):
        return "arrow"
    if b"\0" in beginning or beginning.startswith((b"BZh", b"\xfd7zXZ", b"PK")):
        raise ValueError(f"{path.name} is not a file of rows in a supported format; give {FORMATS}")
    first = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if first in (b"[", b"{") or Path(name).suffix == ".json":
        return "lines" if first == b"{" else "json"
    return "csv"


@contextmanager
def _parquet(path: Path, selection: Selection) -> Iterator[tuple[Iterator[Chunk], Callable[[], float]]]:
    with need("pyarrow.parquet", "reading Parquet").ParquetFile(path, pre_buffer=False) as file:
        header = list(file.schema_arrow.names)
        columns = _columns(header, selection)
        batches = file.iter_batches(chunking.CHUNK_ROWS, columns=columns)
        yield _counted(arrow_file.chunks(header, batches, selection), file.metadata.num_rows)


@contextmanager
def _arrow(path: Path, selection: Selection) -> Iterator[tuple[Iterator[Chunk], Callable[[], float]]]:
    """Open an Arrow IPC file, such as Feather, or an Arrow IPC stream."""
    arrow, ipc = need("pyarrow", "reading Feather and Arrow"), need("pyarrow.ipc", "reading Feather and Arrow")
    with arrow.memory_map(str(path)) as source:
        try:
            reader = ipc.open_file(source)
        except arrow.ArrowInvalid:
            source.seek(0)
            try:
                stream = ipc.open_stream(source)
            except arrow.ArrowInvalid as error:
                raise ValueError(f"{path.name} is neither Arrow IPC nor Feather of version 2: {error}") from error
            yield arrow_file.chunks(list(stream.schema.names), stream, selection), lambda: source.tell() / source.size()
            return
        count = max(reader.num_record_batches, 1)
        done = 0.0

        def batches() -> Iterator[Any]:
            nonlocal done
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for first in range(0, batch.num_rows, chunking.CHUNK_ROWS):
                    yield batch.slice(first, chunking.CHUNK_ROWS)
                    done = (number + min(first + chunking.CHUNK_ROWS, batch.num_rows) / batch.num_rows) / count

        yield arrow_file.chunks(list(reader.schema.names), batches(), selection), lambda: done


def _columns(header: list[str], selection: Selection) -> list[str]:
    names = {*selection.names, *chunking.beside(header, selection.kept)}
    return [name for name in dict.fromkeys(header) if name in names]


def _counted(chunks: Iterator[Chunk], rows: int) -> tuple[Iterator[Chunk], Callable[[], float]]:
    done = 0

    def counted() -> Iterator[Chunk]:
        nonlocal done
        for chunk in chunks:
            done = chunk.start + len(chunk.table)
            yield chunk

    return counted(), lambda: done / max(rows, 1)
