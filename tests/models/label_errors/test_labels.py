"""What a label is: one canonical form, or a refusal that says what is needed; never an exception of a library."""

import contextlib
import gzip
import io
import struct
from typing import Any

import nibabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.label_errors import BadLabel, label_rule
from models.tasks.lesion.spec import LESIONS
from models.tasks.motion.spec import TRAJECTORIES
from models.tasks.translation.spec import HYPOTHESES
from models.tasks.vessel.spec import POWER
from models.tasks.weather.spec import PRECIPITATION

HEADS = (POWER, PRECIPITATION, HYPOTHESES, TRAJECTORIES, LESIONS)
BOX = np.zeros((4, 3, 2), np.uint8)
BOX[1:3, 1, :] = 1


def npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values, allow_pickle=True)
    return file.getvalue()


GOOD: dict[str, list[Any]] = {
    "power": [1, 2.5, -0.0, 1e99],
    "precipitation": [0, 8, 3.0],
    "hypotheses": ["ein Satz", "один"],
    "trajectories": [[[1.0, 2.0]] * 25, [[0, 1], None, [2, 3]]],
    "lesions": [npy(BOX), npy(BOX.astype(bool)), npy(np.asfortranarray(BOX)), npy(BOX[..., None].astype(">f8"))],
}
BAD: dict[str, list[Any]] = {
    "power": [None, True, "1", float("nan"), float("inf"), 10**400, 10**5000, [1.0], b"1", 1e200],
    "precipitation": [None, True, -1, 10**5000, 9, 80, 1.5, float("nan"), 10**400, "rain"],
    "hypotheses": [None, "", "  \n", 1, b"text", "\ud800", "x" * 2_000_000],
    "trajectories": [None, [], [[1.0, 2.0]] * 26, [1.0], [[1.0]], [None], [["a", "b"]], [[1e8, 0]], [[10**400, 0]], 5],
    "lesions": [
        None,
        "mask",
        b"",
        b"\x93NUMPY",
        npy(BOX)[:-1],
        npy(BOX * 2),
        npy(BOX[0]),
        npy(np.array([object()])),
        gzip.compress(npy(BOX))[:-9],
        b"\x1f\x8bnothing",
        nibabel.Nifti1Image(BOX, np.eye(4)).to_bytes()[:-1],
        struct.pack("<i", 348) + b"\xff" * 344,
    ],
}


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_good_labels_come_back_and_bad_ones_are_refused_in_words(head: Any) -> None:
    judge = label_rule(head)
    for value in GOOD[head.name]:
        label = judge.label(value)
        assert judge.label(judge.value(label)) == label
    for value in BAD[head.name]:
        with pytest.raises(BadLabel, match=r"need|broken|cut off|cannot be read|at most|send UTF-8"):
            judge.label(value)


def test_equal_labels_have_equal_bytes() -> None:
    assert label_rule(POWER).label(0) == label_rule(POWER).label(-0.0) == label_rule(POWER).label(0.0)
    assert len({label_rule(LESIONS).label(value) for value in GOOD["lesions"]}) == 1
    pairs, flat = [[1.0, 2.0], [3.0, -0.0]], [1, 2, 3, 0]
    assert label_rule(TRAJECTORIES).label(pairs) == label_rule(TRAJECTORIES).label(flat)


def test_a_header_that_claims_much_is_refused_before_anything_is_made() -> None:
    header = npy(BOX)[: -BOX.size].replace(b"(4, 3, 2)", b"(9999,9999,9)".ljust(13))
    for claimed in (header, gzip.compress(header)):
        with pytest.raises(BadLabel, match="the shape|cannot be read|cut off"):
            label_rule(LESIONS).label(claimed)
    image = bytearray(nibabel.Nifti1Image(BOX, np.eye(4)).to_bytes())
    image[42:48] = struct.pack("<3h", 30000, 30000, 3)
    with pytest.raises(BadLabel, match="voxels"):
        label_rule(LESIONS).label(bytes(image))


@given(st.binary(max_size=400), st.sampled_from([b"", npy(BOX)[:70], nibabel.Nifti1Image(BOX, np.eye(4)).to_bytes()]))
def test_any_bytes_are_a_mask_or_a_refusal(noise: bytes, start: bytes) -> None:
    with contextlib.suppress(BadLabel):
        label_rule(LESIONS).label(start[: max(0, len(start) - len(noise))] + noise)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=8,
)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
@given(value=JSON)
def test_any_json_is_a_label_or_a_refusal(head: Any, value: Any) -> None:
    try:
        label = label_rule(head).label(value)
    except BadLabel:
        return
    assert label_rule(head).label(label_rule(head).value(label)) == label


def canonical(head: Any, *values: Any) -> list[bytes]:
    return [label_rule(head).label(value) for value in values]


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_a_label_does_not_differ_from_itself(head: Any) -> None:
    for one in canonical(head, *GOOD[head.name]):
        assert label_rule(head).difference(one, one) == 0


def test_two_labels_differ_by_the_measure_of_their_head() -> None:
    assert label_rule(POWER).difference(*canonical(POWER, 5.0, 2.0)) == 9.0
    assert label_rule(PRECIPITATION).difference(*canonical(PRECIPITATION, 5, 2)) == 1.0
    texts = canonical(HYPOTHESES, "a b c d", "a b c e")
    difference = label_rule(HYPOTHESES).difference(*texts)
    assert difference == label_rule(HYPOTHESES).difference(*reversed(texts)) == pytest.approx(40.0)
    tracks = canonical(TRAJECTORIES, [[0, 0], None, [3, 4]], [[0, 3], [9, 9], [0, 0]])
    assert label_rule(TRAJECTORIES).difference(*tracks) == 4.0
    apart = canonical(TRAJECTORIES, [[0, 0]], [None, [9, 9]])
    assert np.isnan(label_rule(TRAJECTORIES).difference(*apart))
    other = np.zeros_like(BOX)
    other[1, 1, :] = 1
    assert label_rule(LESIONS).difference(*canonical(LESIONS, npy(BOX), npy(other))) == pytest.approx(1 / 3)
    empty = canonical(LESIONS, npy(np.zeros_like(BOX)), npy(np.zeros_like(BOX)))
    assert label_rule(LESIONS).difference(*empty) == 0
    assert np.isnan(label_rule(LESIONS).difference(*canonical(LESIONS, npy(BOX), npy(BOX[:2]))))
