"""Archives that mean harm, or are merely broken, are refused in words, and write nothing outside the folder."""

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from services.runtime.archives import MOST_FILES, ArchiveError, unpack

Entry = tuple[str, bytes, bytes, str]
"""Name, content, type, and where a link leads."""

LIMIT = 1 << 22
LARGE = bytes(3 << 20)


def packed(*entries: Entry) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content, kind, link in entries:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, link
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def plain(name: str, content: bytes = b"x") -> Entry:
    return name, content, tarfile.REGTYPE, ""


def pax_of(size: int, written: int) -> bytes:
    """An extended header that claims ``size`` bytes, with some of them there."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, size
    return info.tobuf(tarfile.USTAR_FORMAT) + b"9" * written


HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "leads upwards": (lambda: packed(plain("../evil")), "leads out of the folder"),
    "leads upwards later": (lambda: packed(plain("a/../../evil")), "leads out of the folder"),
    "absolute": (lambda: packed(plain("/tmp/evil")), "leads out of the folder"),
    "with backslashes": (lambda: packed(plain("a\\..\\..\\evil")), "leads out of the folder"),
    "symbolic link": (lambda: packed(("a/link", b"", tarfile.SYMTYPE, "/etc/passwd")), "is no plain file"),
    "hard link": (lambda: packed(("a/link", b"", tarfile.LNKTYPE, "/etc/passwd")), "is no plain file"),
    "link, then through it": (lambda: packed(("a", b"", tarfile.SYMTYPE, "/tmp"), plain("a/evil")), "is no plain file"),
    "device": (lambda: packed(("a/null", b"", tarfile.CHRTYPE, "")), "is no plain file"),
    "pipe": (lambda: packed(("a/pipe", b"", tarfile.FIFOTYPE, "")), "is no plain file"),
    "deep": (lambda: packed(plain("a/b/c")), "lies deeper"),
    "folder in folder": (lambda: packed(("a/b", b"", tarfile.DIRTYPE, "")), "is no plain file"),
    "several folders": (lambda: packed(plain("a/x"), plain("b/y")), "files of several folders"),
    "twice": (lambda: packed(plain("a/x"), plain("a/x", b"other")), "is in it twice"),
    "many": (lambda: packed(*(plain(f"a/{number}") for number in range(MOST_FILES + 1))), "more than 1000 entries"),
    "large": (lambda: packed(plain("a/x", bytes(LIMIT + 1))), "unpacks to more than"),
    "small, packed large": (lambda: gzip.compress(packed(plain("a/x", bytes(40 << 20)))), "unpacks to more than"),
    "header of gigabytes": (lambda: pax_of(6 << 30, 1 << 16), "a header of"),
    "packed header of gigabytes": (lambda: gzip.compress(pax_of(6 << 30, 30 << 20)), "a header of"),
    "no archive": (lambda: b"#!/bin/sh\n" * 200, "no archive that can be read"),
    "no gzip": (lambda: b"\x1f\x8bnonsense", "no archive that can be read"),
    "cut off": (lambda: packed(plain("a/x", bytes(100_000)))[:50_000], "can be read|ends within"),
    "cut off, packed": (lambda: gzip.compress(packed(plain("a/x", bytes(range(256)) * 400)))[:300], "can be read"),
    "empty": (lambda: packed(), "holds no files"),
    "only a folder": (lambda: packed(("a", b"", tarfile.DIRTYPE, "")), "holds no files"),
}
"""What is packed, made when it is asked for: some are large; and the reason of the refusal."""


@pytest.mark.parametrize(("make", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives(tmp_path: Path, make: Callable[[], bytes], reason: str) -> None:
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    (tmp_path / "archive").write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match=reason):
            unpack(tmp_path / "archive", inside, most_bytes=LIMIT)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20, "refusing must not cost what the archive asks for"
    outside = {path for path in tmp_path.rglob("*") if not path.is_dir()} - {tmp_path / "archive"}
    assert all(path.is_relative_to(inside) and not path.is_symlink() for path in outside)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["tar", "tar.gz"])
@pytest.mark.parametrize(
    "entries",
    [
        (("m", b"", tarfile.DIRTYPE, ""), plain("m/x", b"one"), plain("m/y", LARGE)),
        ((".", b"", tarfile.DIRTYPE, ""), plain("./x", b"one"), plain("./y", LARGE)),
        (plain("x", b"one"), plain("y", LARGE)),
    ],
    ids=["folder", "dots", "files"],
)
def test_folders_and_files(tmp_path: Path, entries: tuple[Entry, ...], pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / "archive").write_bytes(pack(packed(*entries)))
    (tmp_path / "inside").mkdir()
    unpack(tmp_path / "archive", tmp_path / "inside", most_bytes=LIMIT)
    assert {path.name: path.stat().st_size for path in (tmp_path / "inside").iterdir()} == {"x": 3, "y": 3 << 20}


def test_long_names_pass(tmp_path: Path) -> None:
    """They come in headers of their own."""
    name = "n" * 200
    (tmp_path / "archive").write_bytes(packed(plain(f"{'m' * 150}/{name}")))
    (tmp_path / "inside").mkdir()
    unpack(tmp_path / "archive", tmp_path / "inside", most_bytes=LIMIT)
    assert (tmp_path / "inside" / name).read_bytes() == b"x"
