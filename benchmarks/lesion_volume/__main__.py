"""Whole scans against the bare runs of their windows.

    python -m benchmarks.lesion_volume [--full] [--artefact DIR ...] [--only time memory sharing]

*time*: a simulated head in 182 x 218 x 182 voxels of 1 mm in one thread, against windows x members x a bare session
run, which is timed between its windows, so that a busy machine slows both alike; processor time. *memory*: peak
resident memory of a separate process over its memory with the members loaded, against 1.5 x (members + 3) volumes and
the peak of one bare window. *sharing*: two scans at once on all lanes, and one row of a small model every 20 ms beside
them.
``--full``: also the released layout (channels 32 to 512) with random weights, five members; needs torch.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import harness
from benchmarks.harness import Figure
from benchmarks.lesion_volume import duration, memory, sharing
from benchmarks.lesion_volume.ensembles import FULL, opened, scan_file

REFERENCE = str(Path(__file__).resolve().parents[2] / "artefacts" / "lesion" / "unet-5")
PARTS = ("time", "memory", "sharing")


def main(arguments: list[str] | None = None) -> int:
    parser = harness.parser("lesion_volume", __doc__, parts=PARTS)
    parser.add_argument("--full", action="store_true", help="also the released layout with random weights")
    parser.add_argument("--artefact", nargs="*", default=[REFERENCE], help="folders of artefacts")
    options = parser.parse_args(arguments)
    harness.announce()
    names = [*options.artefact, *([FULL] if options.full else [])]
    with tempfile.TemporaryDirectory() as folder:
        scan = Path(folder) / "scan.nii.gz"
        scan.write_bytes(scan_file())
        return harness.report(figure for name in names for figure in measure(name, scan, options.only))


def measure(name: str, scan: Path, parts: tuple[str, ...]) -> Iterator[Figure]:
    """Yield all figures of one ensemble."""
    shown = name if name == FULL else Path(name).name
    members, recipe = opened(name)
    if "time" in parts:
        plain, _ = opened(name, as_served=False)
        yield from duration.measure(shown, members, plain, recipe, scan.read_bytes())
    if "sharing" in parts:
        yield from sharing.measure(shown, members, recipe, scan.read_bytes())
    if "memory" in parts:
        yield from memory.measure(name, scan)


if __name__ == "__main__":
    sys.exit(main())
