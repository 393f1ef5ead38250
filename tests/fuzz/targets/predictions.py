"""Files that ``demur evaluate`` and ``demur monitor replay`` read, and texts that corpora come in."""

import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from models.evaluation import classification, generic, regression, stream
from models.evaluation.unit_errors import BadFile, ErrorOptions
from models.tasks.motion.data import messages, truth
from models.tasks.motion.data import predictions as motion
from models.tasks.translation.data import corpus, generated, official
from models.tasks.translation.data import predictions as translation
from models.tasks.weather.data import predictions as weather
from tests.fuzz import raw, trees, wire
from tests.fuzz.target import Decoder, Make, Target
from tests.models.motion import wire as motion_wire

_RNG = np.random.default_rng(0)
_CSV = b"error,uncertainty,shifted,place\n" + b"".join(b"%d.5,0.%d,%d,a\n" % (n, n, n % 2) for n in range(9))
_EVENTS = b"event_id,time,uncertainty,decision,propensity,requested\n" + b"".join(
    b"e%d,%d,0.%d,%s,0.1,1\n" % (n, n, n, (b"answer", b"defer")[n % 2]) for n in range(9)
)
_LABELS = b"event_id,time,error,version,human_error,source\n" + b"".join(
    b"e%d,%d,0.%d,1,0.1,census\n" % (n, n + 5, n) for n in range(9)
)
_PRINTED = (
    b"S-0\tA dog .\nT-0\t\xd0\x94\xd0\xbe\xd0\xbc .\nH-0\t-0.5\t\xd0\x94\xd0\xbe\xd0\xbc .\n"
    b"D-0\t-0.5\t\xd0\x94\xd0\xbe\xd0\xbc .\nP-0\t-0.1 -0.2 -0.3\nH-0\t-0.7\t\xd0\x9a\xd0\xbe\xd1\x82 .\n"
)
_SGML = (
    b'<srcset setid="a" srclang="any">\n<doc docid="d.1" genre="news">\n<p>\n<seg id="1">A dog &amp; a cat.</seg>\n'
    b'<seg id="2">Two.</seg>\n</p>\n</doc>\n</srcset>\n'
)
_PAIRS = "domain\tsource\ten\tru\nnews\ta:1\tA dog.\tСобака.\nnews\ta:2\tA cat.\tКот.\n".encode()


def npz(arrays: Mapping[str, Any]) -> bytes:
    """Not compressed, so that numbers can be reached."""
    contents = {}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.lib.format.write_array(file, np.asarray(array), allow_pickle=False)
        contents[f"{name}.npy"] = file.getvalue()
    return archived(contents)


def archived(contents: Mapping[str, bytes]) -> bytes:
    """An archive without the time of day."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in contents.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def arrays(rng: random.Random, sample: bytes) -> bytes:
    """The bytes of an archive changed, or those of one of its arrays in an archive that is right."""
    if rng.random() < 0.4:
        return raw.mutated(rng, sample)
    with zipfile.ZipFile(io.BytesIO(sample)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(contents))
    content = contents[name]
    head = raw.mutated(rng, content[:128]) if rng.random() < 0.6 else content[:128]
    contents[name] = head + (raw.mutated(rng, content[128:]) if rng.random() < 0.6 else content[128:])
    if rng.random() < 0.1:
        del contents[name]
    return archived(contents)


def lines(rng: random.Random, sample: bytes) -> bytes:
    """JSON lines of which one is changed."""
    rows = sample.splitlines()
    index = rng.randrange(len(rows))
    rows[index] = trees.mutated(rng, rows[index])
    return b"\n".join(rows)


def of_file(
    name: str, samples: list[bytes], read: Callable[[Path], object], make: Make = raw.mutated
) -> Callable[[Path], Decoder]:
    """A reader of files of that name; what figures refuse in words is a refusal too, as for ``demur evaluate``."""

    def opened(folder: Path) -> Decoder:
        path = folder / name

        def tried(case: bytes) -> None:
            path.write_bytes(case)
            with np.errstate(all="ignore"):
                read(path)

        return Decoder(samples, tried, (BadFile, ValueError), make)

    return opened


def _translated(path: Path) -> None:
    truth_path = path.with_name("truth.txt")
    truth_path.write_text("дом\nкот\n")
    translation.read(path, ErrorOptions(companions={"references": truth_path}))


def _submission(path: Path) -> None:
    messages.is_submission(path)
    for prediction in messages.predictions(path):
        for trajectory in prediction.weighted_trajectories:
            messages.positions([trajectory.trajectory])
    truth.read(path)


def _printed(path: Path) -> None:
    assert generated.is_generated(path) in (True, False)
    generated.read(path)


def _segments(path: Path) -> None:
    for decode in (True, False):
        official.segments(path, decode=decode)


_GAUSS = npz({"members": np.abs(_RNG.normal(size=(2, 7, 2))) + 0.1, "target": _RNG.normal(size=7)})
_CLASSES = npz({"members": _RNG.dirichlet(np.ones(9), (2, 7)), "target": np.arange(7)})
_PLANS = npz(
    {
        "trajectories": _RNG.normal(size=(4, 3, 5, 2)).astype(np.float32),
        "weights": np.full((4, 3), 1 / 3),
        "target": _RNG.normal(size=(4, 5, 2)),
        "uncertainty": np.arange(4.0),
        "shifted": np.array([0, 1, 0, 1]),
    }
)
_LISTS = b"\n".join(
    json.dumps(
        {
            "id": n,
            "uncertainty": 0.5 * n,
            "hypos": [{"text": "дом", "confidence": 0.6}, {"text": "кот", "confidence": 0.4}],
        }
    ).encode()
    for n in range(2)
)
_POINTS = [((1.0, 2.0), (3.0, 4.0))] * 2
_PREDICTED = b"".join(
    motion_wire.prediction("scene", track, [(points, 0.5) for points in _POINTS], 0.3) for track in (1, 2)
)
_FUTURE = motion_wire.scene(
    "scene",
    [motion_wire.vehicle(1, 1, (0.0, 0.0), (1.0, 0.0))],
    [[motion_wire.vehicle(1, 1, (0.2 * n, 0.0), (1.0, 0.0))] for n in range(1, 26)],
    [1],
)


TARGETS: dict[str, Target] = {
    "npz-regression": Target(
        500, of_file("a.npz", [_GAUSS], lambda path: regression.read(path, ErrorOptions()), arrays)
    ),
    "npz-classification": Target(
        300, of_file("a.npz", [_CLASSES], lambda path: classification.read(path, ErrorOptions()), arrays)
    ),
    "npz-weather": Target(
        300, of_file("a.npz", [_GAUSS, _CLASSES], lambda path: weather.read(path, ErrorOptions()), arrays)
    ),
    "npz-motion": Target(300, of_file("a.npz", [_PLANS], lambda path: motion.read(path, ErrorOptions()), arrays)),
    "csv-generic": Target(800, of_file("a.csv", [_CSV], lambda path: generic.read(path, ErrorOptions(by=("place",))))),
    "csv-events": Target(300, of_file("a.csv", [_EVENTS], lambda path: stream.read_events(path, ("requested",)))),
    "csv-labels": Target(300, of_file("a.csv", [_LABELS], stream.read_labels)),
    "submissions": Target(800, of_file("a.pb", [_PREDICTED, _FUTURE], _submission, wire.mutated)),
    "hypotheses": Target(800, of_file("a.jsonl", [_LISTS], _translated, lines)),
    "printed": Target(800, of_file("a.txt", [_PRINTED], _printed)),
    "sgml": Target(1_000, of_file("a.sgm", [_SGML], _segments)),
    "pairs": Target(800, of_file("a.tsv", [_PAIRS], lambda path: corpus.read([path]))),
}
