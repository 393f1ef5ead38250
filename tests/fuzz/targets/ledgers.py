"""What lies in ledgers and beside them: journals that were torn or garbled, packed segments, policies, sketches."""

import random
from pathlib import Path

import numpy as np

from models.estimation.edges import Edges
from models.estimation.sketch import Sketch
from models.estimation.window import BadWindow
from services.ledger.decided import Decided, Key, frame, unframe
from services.ledger.gap_log import Lost
from services.ledger.journal import HEAD_BYTES, Identity, Journal
from services.ledger.segments import Runs, pack, unpack, unpack_histogram
from services.policy.changes import from_json, to_json
from services.policy.decision import Decision
from tests.fuzz import raw, trees
from tests.fuzz.target import Decoder, Target
from tests.fuzz.targets.labels import a_policy

_WHO = Identity(7, bytes(range(32)), b"ledger" * 2 + b"1234")
_KEY = Key("power", "vessel-dnn-1:0123", "power-1", "decide")


def decided(number: int) -> Decided:
    """A portion of some units."""
    count = 1 + number % 5
    return Decided(
        _KEY,
        first=100 * number,
        uncertainty=np.arange(count, dtype=np.float32),
        decisions=np.array([Decision.ANSWER, Decision.CALLER_DEFERRED][: 1 + number % 2] * 3, np.uint8)[:count],
        propensity=0.01 if number % 3 else np.full(count, 0.5, np.float32),
        time=1.7e9 + number,
    )


def portion(number: int) -> Decided:
    """A portion whose arrays have one length."""
    part = decided(number)
    count = min(len(part.uncertainty), len(part.decisions))
    part.uncertainty, part.decisions = part.uncertainty[:count], part.decisions[:count]
    if not isinstance(part.propensity, float):
        part.propensity = part.propensity[:count]
    return part


def journals(folder: Path) -> Decoder:
    """Files of killed processes: what is read are frames that were written, and what is in front of the damage."""
    contents = [frame(portion(number)) for number in range(12)]
    journal = Journal.create(folder, "toy", _WHO, 1 << 20)
    journal.append(contents)
    journal.note_lost(Lost(1.0, 2.0, 3))
    path, sample = journal.path, journal.path.read_bytes()
    journal.close()
    whole = unframe(contents)[0][_KEY]

    def read(case: bytes) -> None:
        path.write_bytes(case)
        reopened = Journal.take_over(path)
        if reopened is None:
            return
        try:
            frames, place = [], reopened.base
            while True:
                more, after = reopened.read(place, 200)
                if after == place:
                    break
                frames, place = frames + more, after
        finally:
            reopened.close()
        assert all(content in contents for content in frames), "a frame that nobody wrote"
        intact = _intact(case, sample)
        ends = np.cumsum([8 + len(content) for content in contents]) + HEAD_BYTES
        assert frames[: int((ends <= intact).sum())] == contents[: int((ends <= intact).sum())], (
            "what was whole is lost"
        )
        for key, runs in unframe(frames)[0].items():
            assert key == _KEY
            assert set(runs.first.tolist()) <= set(whole.first.tolist())

    def make(rng: random.Random, case: bytes) -> bytes:
        if rng.random() < 0.3:
            return raw.mutated(rng, case[: HEAD_BYTES // 16]) + case[HEAD_BYTES // 16 :]
        return case[:HEAD_BYTES] + raw.mutated(rng, case[HEAD_BYTES:])

    return Decoder([sample], read, (), make)


def _intact(case: bytes, sample: bytes) -> int:
    """Bytes from the start that are as they were."""
    if case[:HEAD_BYTES] != sample[:HEAD_BYTES]:
        return 0
    size = min(len(case), len(sample))
    differ = np.frombuffer(case[:size], np.uint8) != np.frombuffer(sample[:size], np.uint8)
    return int(differ.argmax()) if differ.any() else size


def segments(folder: Path) -> Decoder:
    """Bodies of segments, and what monitors make of them."""
    samples = []
    for number in range(4):
        part = portion(number + 1)
        runs = part.runs
        samples.append(pack(runs))
    both = [portion(3).runs, portion(4).runs]
    samples.append(
        pack(
            Runs(
                np.concatenate([run.first for run in both]),
                np.concatenate([run.count for run in both]),
                np.concatenate([run.time for run in both]),
                np.concatenate([run.uncertainty for run in both]),
                np.concatenate([run.decisions for run in both]),
                0.25,
            )
        )
    )

    def read(case: bytes) -> None:
        runs = unpack(case)
        n = len(runs)
        assert len(runs.sequence) == len(runs.times) == n, "runs of other units than there are scores"
        assert np.broadcast_to(runs.propensities, n).shape == (n,)
        unpack_histogram(case[: len(case) // 4 * 4])

    return Decoder(samples, read, (ValueError,))


def policies(folder: Path) -> Decoder:
    """Policies as ledgers keep them."""

    def read(case: bytes) -> None:
        policy = from_json(case.decode())
        assert policy.version
        hash(policy)

    return Decoder([to_json(a_policy()).encode()], read, (ValueError,), trees.mutated)


def sketches(folder: Path) -> Decoder:
    """Windows in bins, as one monitor hands them to another."""
    sketch = Sketch(Edges(np.linspace(0, 5, 6, dtype=np.float32)), 1.0)
    rng = np.random.default_rng(0)
    u = rng.random(50).astype(np.float32) * 6
    sketch.add_units(u, u < 3)
    sketch.add_labels(u, u < 3, rng.random(50), np.full(50, 0.5))

    def read(case: bytes) -> None:
        Sketch.from_bytes(case).merge(Sketch.from_bytes(case))

    def make(generator: random.Random, case: bytes) -> bytes:
        magic, _, rest = case.partition(b"{")
        head, _, body = rest.partition(b"\n")
        if generator.random() < 0.6:
            return magic + trees.mutated(generator, b"{" + head) + b"\n" + body
        return (
            raw.mutated(generator, case[:200]) + case[200:]
            if generator.random() < 0.7
            else raw.mutated(generator, case)
        )

    return Decoder([sketch.to_bytes()], read, (BadWindow,), make)


TARGETS: dict[str, Target] = {
    "journals": Target(2_500, journals),
    "segments": Target(6_000, segments),
    "policies": Target(2_000, policies),
    "sketches": Target(2_500, sketches),
}
